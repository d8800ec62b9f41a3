"""Reads declarations for the rules of stubs; and combines later declarations with the code of before."""

# A default takes the arguments of the methods that override it:
# ruff: noqa: ARG002

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.core.value import value
from verdigris.languages.findings import StubFinding
from verdigris.languages.grammar.trees import (
    COMMENTS,
    last_line,
    line_of,
    parts,
    shape,
    short,
    text_of_node,
    tree_of,
    walk,
)
from verdigris.languages.probes import ByteEdit, apply_edits
from verdigris.languages.stub_rules import Rules, StubContext, StubMarks, compare_items

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from tree_sitter import Node


_NAMES = frozenset({"identifier", "type_identifier"})
_COUNTED = frozenset({"enum_variant_list", "enum_body"})


@value
class DeclarationItem:
    """A declaration with its attributes and decorators."""

    node: Node
    before: tuple[Node, ...] = ()
    """Attributes and decorators before the declaration."""
    names: tuple[str, ...] = ()
    """The names that it binds in its scope."""
    head: int = 0
    """The last line before its members; 0 if it has none."""
    form: str = ""
    """A text that is equal for equal declarations, whatever their layout."""

    @property
    def line(self) -> int:
        return line_of(self.before[0] if self.before else self.node)

    @property
    def last(self) -> int:
        return last_line(self.node)

    @property
    def marked_to(self) -> int:
        return self.head or self.last

    @property
    def is_broken(self) -> bool:
        return self.node.has_error

    @property
    def label(self) -> str:
        return f"`{self.names[0] if self.names else short(text_of_node(self.node), 40)}`"


def names_in_use(root: Node, items: Iterable[DeclarationItem], declared: Collection[str]) -> frozenset[str]:
    """The names that the items bind, and the names that are used but not `declared`: the language's own."""
    bound = {name for item in items for name in item.names}
    used = {text_of_node(node) for node in walk(root) if node.type in _NAMES}
    return frozenset(bound | used.difference(declared))


class Forms(Rules[DeclarationItem], Protocol):
    """How one language writes declarations, and which part of a declaration is its work."""

    is_compiled: bool = False
    """True if a compiler may reject the old code together with new declarations."""

    def items(self, scope: Node) -> list[DeclarationItem]: ...

    def known_names(self, root: Node) -> tuple[frozenset[str], frozenset[str]]:
        """The names that are taken, and the names of types."""
        ...

    def raises(self, node: Node) -> bool:
        """Whether a statement only raises."""
        ...

    def members(self, item: DeclarationItem) -> Node | None:
        """The node with the members of a declaration, such as the body of a class; None if there is none."""
        ...

    def head(self, item: DeclarationItem) -> str:
        """A text that is equal for declarations that differ only in their work."""
        ...

    def find_work(self, item: DeclarationItem, path: str) -> Iterator[tuple[Node, str]]:
        """The bodies and values of a declaration, each with the text that replaces it in a stub."""
        ...

    def runs_at_once(self, item: DeclarationItem) -> bool:
        """Whether a statement declares nothing and runs when the file is loaded."""
        return False

    def item_text(self, item: DeclarationItem) -> str:
        """The text of a declaration that is written by itself."""
        return "\n".join(map(text_of_node, (*item.before, item.node)))

    def fix_imports(self, text: bytes, earlier: bytes, later: bytes, path: str) -> bytes:
        """Adds the imports that the text needs, and removes unused ones if the language forbids them."""
        return text


def only_stubs(forms: Forms, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
    """The first place where a change adds more than stubs, else None; `path` must have a grammar."""
    try:
        return _compare_texts(forms, path, before, after)
    except RecursionError:
        return StubFinding(1, "it is nested too deeply to be read")


def _compare_texts(forms: Forms, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
    (new, fault), (old, old_fault) = tree_of(path, after), tree_of(path, before or b"")
    if fault is not None and old_fault is None:
        return StubFinding(fault.line, f"syntax error: {fault.what}")
    items = forms.items(old)
    taken, types = forms.known_names(old)
    marks = marks_of(new, forms.raises, new=not items)
    seen = StubContext(marks, taken, types, existing=bool(items))
    return next(compare_items(forms, items, forms.items(new), seen), None)


def gather_items(
    scope: Node, leading: str, make: Callable[[Node, tuple[Node, ...]], DeclarationItem]
) -> list[DeclarationItem]:
    """The declarations of a scope, each with the nodes of type `leading` right before it."""
    items: list[DeclarationItem] = []
    before: list[Node] = []
    for node in scope.children:
        if node.type == leading:
            before.append(node)
        elif node.is_named and node.type not in COMMENTS and node.type != "empty_statement":
            items.append(make(node, tuple(before)))
            before = []
    return items


def compare_members(
    forms: Forms, item: DeclarationItem, old: Node | None, new: Node | None, seen: StubContext
) -> Iterator[StubFinding]:
    """Compares the members of two bodies, as `compare_items` does at the top level."""
    before, after = (forms.items(body) if body is not None else [] for body in (old, new))
    counted = new is not None and new.type in _COUNTED
    if counted and [i.form for i in before] != [i.form for i in after[: len(before)]]:
        yield StubFinding(
            item.line, f"{item.label}: put what is new at the end: values are counted from the top"
        )
    for finding in compare_items(forms, before, after, seen):
        yield StubFinding(finding.line, f"in {item.label}: {finding.why}")


def head_form(node: Node, *without: str) -> str:
    """The form of a declaration without the parts in these fields."""
    left = [node.child_by_field_name(name) for name in without]
    return " ".join(shape(child) for child in node.children if child not in left)


_MISSING_MACROS = ("todo", "unimplemented")
"""Macros by which Rust marks missing code; they count as a mark."""


def marks_of(root: Node, raises: Callable[[Node], bool], *, new: bool) -> StubMarks:
    marked: set[int] = set()
    comments: set[int] = set()
    code: set[int] = set()
    for node in walk(root):
        lines = range(line_of(node), _end_line(node) + 1)
        if node.type in COMMENTS:
            comments.update(lines)
            marked.update(lines if MARK in text_of_node(node) else ())
        elif not node.children:
            code.update(() if _is_in_comment(node) else lines)
        elif raises(node) and (MARK in text_of_node(node) or _is_missing_macro(node)):
            marked.update(lines)
    top = line_of(parts(root)[0]) if parts(root) else last_line(root) + 1
    return StubMarks(frozenset(marked), frozenset(comments - code), new and any(m < top for m in marked))


def _is_in_comment(node: Node) -> bool:
    """Whether the node is part of a comment; a Rust doc comment is a tree of several levels."""
    above = node.parent
    while above is not None and above.type not in COMMENTS:
        above = above.parent if above.type.endswith("doc_comment_marker") else None
    return above is not None


def _end_line(node: Node) -> int:
    """The last line; a Rust doc comment ends at the beginning of the next line, which does not count."""
    return last_line(node) - (node.end_point[1] == 0 and last_line(node) > line_of(node))


def _is_missing_macro(node: Node) -> bool:
    return (
        node.type == "macro_invocation" and text_of_node(node.child_by_field_name("macro")) in _MISSING_MACROS
    )


def declare_later(forms: Forms, path: str, before: bytes, after: bytes, *, old_work: bool) -> bytes | None:
    """Returns the later text, in which each new declaration is a stub; None if either text does not parse.

    With `old_work`, a declaration that existed keeps its old work, and one that the later text dropped is
    kept; otherwise each changed declaration is a stub.
    """
    (old, fault), (new, lost) = tree_of(path, before), tree_of(path, after)
    if fault is not None or lost is not None:
        return None
    earlier, later = forms.items(old), forms.items(new)
    try:
        edits = list(_replace_work(forms, path, earlier, later, old_work=old_work))
    except RecursionError:
        return None
    made = apply_edits(after, edits)
    if old_work:
        names = {name for item in later for name in item.names}
        gone = [item for item in earlier if item.names and not names.intersection(item.names)]
        kept = "".join(f"\n{text}\n" for text in map(forms.item_text, gone) if text)
        made += kept.encode("utf-8", "surrogateescape")
    return forms.fix_imports(made, before, after, path)


def _replace_work(
    forms: Forms,
    path: str,
    earlier: Sequence[DeclarationItem],
    later: Sequence[DeclarationItem],
    *,
    old_work: bool,
) -> Iterator[ByteEdit]:
    for item in later:
        twin = _find_twin(forms, earlier, item)
        if twin is not None and twin.form == item.form:
            continue
        inner = forms.members(item)
        if inner is not None:
            outer = None if twin is None else forms.members(twin)
            members = [] if outer is None else forms.items(outer)
            yield from _replace_work(forms, path, members, forms.items(inner), old_work=old_work)
        elif forms.runs_at_once(item):
            yield ByteEdit(item.node.start_byte, item.node.end_byte, "")
        elif twin is not None and old_work and forms.head(twin) == forms.head(item):
            yield ByteEdit(item.node.start_byte, item.node.end_byte, text_of_node(twin.node))
        else:
            works = forms.find_work(item, path)
            yield from (ByteEdit(node.start_byte, node.end_byte, text) for node, text in works)


def _find_twin(
    forms: Forms, earlier: Sequence[DeclarationItem], item: DeclarationItem
) -> DeclarationItem | None:
    """The same declaration in the earlier text."""
    same = next((one for one in earlier if one.form == item.form), None)
    if same is not None:
        return same
    named = [one for one in earlier if one.node.type == item.node.type]
    if item.names:
        return next((one for one in named if set(one.names) & set(item.names)), None)
    return next((one for one in named if not one.names and forms.head(one) == forms.head(item)), None)
