"""Parses source with tree-sitter: nodes, and a file's functions, comments and imports."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError
from verdigris.core.languages import DEFAULT_LANGUAGE, FACTS, facts_of
from verdigris.core.value import value
from verdigris.languages.findings import Imported
from verdigris.languages.test_comments import comment_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Node, Parser

    from verdigris.languages.test_comments import Comment

_QUOTED = frozenset({"string"})
"""JavaScript's strings, whose quotes do not count: a formatter chooses between `'` and `"`."""
_DIRECTIVE = re.compile(
    r"^//(go:|line |export |\s*\+build)|@(jsx|ts-|jest-|vitest-)|sourceMappingURL|^#!", re.MULTILINE
)
COMMENTS = frozenset(
    {"comment", "line_comment", "block_comment", "html_comment", "hash_bang_line", "line_continuation"}
)


@value
class Unparsed:
    line: int
    what: str


def grammar_of(path: str) -> str | None:
    """The language of a file that has a grammar; else None."""
    facts = facts_of(path)
    return facts.name if facts is not None and _ending(path) in facts.grammars else None


def parse_tree(path: str, data: bytes) -> Node | Unparsed:
    """The root, or the first error of a text that does not parse; `path` must have a grammar."""
    root, fault = tree_of(path, data)
    return fault or root


def tree_of(path: str, data: bytes) -> tuple[Node, Unparsed | None]:
    """The root and the first error. A grammar does not know every corner of its language."""
    facts = facts_of(path) or FACTS[DEFAULT_LANGUAGE]
    # A script without an ending is read as the default language is.
    grammar = facts.grammars.get(_ending(path)) or next(iter(facts.grammars.values()), None)
    if grammar is None:
        raise HarnessError(f"no grammar reads {path}")
    root = _parser(*grammar).parse(data).root_node
    # A root may have an error that no node shows: a separator that only the grammar requires.
    return root, _fault(root) if root.has_error else None


def _ending(path: str) -> str:
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return dot + end


@cache
def _parser(module: str, name: str) -> Parser:
    from tree_sitter import Language, Parser

    return Parser(Language(getattr(import_module(module), name)()))


def _fault(root: Node) -> Unparsed | None:
    for node in walk(root):
        if node.is_missing:
            return Unparsed(line_of(node), f"`{node.type}` is missing")
        if node.type == "ERROR":
            return Unparsed(line_of(node), f"cannot be read: `{short(text_of_node(node))}`")
    return None


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def line_of(node: Node) -> int:
    return int(node.start_point[0]) + 1


def last_line(node: Node) -> int:
    return int(node.end_point[0]) + 1


def text_of_node(node: Node | None) -> str:
    """The text of a node; empty if there is no node."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "surrogateescape")


def on_one_line(node: Node | None) -> str:
    return " ".join(text_of_node(node).split())


def short(text: str, width: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def parts(node: Node | None) -> list[Node]:
    """Named children, without comments."""
    return [] if node is None else [n for n in node.named_children if n.type not in COMMENTS]


def part(node: Node | None, name: str) -> Node | None:
    return None if node is None else node.child_by_field_name(name)


def first(nodes: Sequence[Node], *types: str) -> Node | None:
    return next((node for node in nodes if node.type in types), None)


def shape(node: Node | None, children: Callable[[Node], list[Node]] | None = None) -> str:
    """Structure and words as text, without comments and layout; `children`: selects those that count."""
    if node is None:
        return ""
    if node.type in _QUOTED:
        return f"{node.type}:{text_of_node(node)[1:-1]}"
    if not node.children:
        return f"{node.type}:{text_of_node(node)}"
    counted = node.children if children is None else children(node)
    inner = " ".join(shape(child, children) for child in counted if not _is_layout(child))
    return f"({node.type} {inner})"


def _is_layout(node: Node) -> bool:
    if node.type in COMMENTS:
        return True
    following = node.next_sibling
    return node.type in {",", ";"} and (following is None or following.type in {")", "]", "}"})


def same_tree(
    path: str, before: bytes, after: bytes, code_of: Callable[[Node], Sequence[str]] | None = None
) -> bool:
    """Whether two texts differ by comments and layout alone; `path` must have a grammar.

    What formatters add or remove is layout: commas before a closing bracket, semicolons at the end of a
    statement, the kind of quotes around a string. False if either text does not parse.
    `code_of`: returns the comments below a root that a tool executes.
    """
    (old, old_fault), (new, new_fault) = tree_of(path, before), tree_of(path, after)
    code_of = code_of or directives
    if old_fault is not None or new_fault is not None or code_of(old) != code_of(new):
        return False
    try:
        return shape(old) == shape(new)
    except RecursionError:
        return False


def comments_of(root: Node) -> list[str]:
    return [text_of_node(node) for node in walk(root) if node.type in COMMENTS]


def directives(root: Node) -> list[str]:
    """The comments that a tool executes: build tags, pragmas, settings of a test runner."""
    return [comment for comment in comments_of(root) if _DIRECTIVE.search(comment)]


def read_comments(root: Node) -> Iterator[Comment]:
    """The lines of all comments that begin with `//` or `/*`."""
    text = root.text or b""
    for node in walk(root):
        if node.type in COMMENTS and text_of_node(node).startswith(("//", "/*")):
            at = node.start_byte - root.start_byte
            is_alone = not text[text.rfind(b"\n", 0, at) + 1 : at].strip()
            yield from comment_lines(line_of(node), text_of_node(node), is_alone=is_alone)


MOST_FILES = 3_000
"""The most files that are read to follow imports."""
_LOADS = frozenset({"require", "import", "require.resolve"})


def read_imports(path: str, data: bytes) -> tuple[Imported, ...]:
    root, _ = tree_of(path, data)
    named = ((node, named) for node in walk(root) for named in _import_sources(node))
    return tuple(Imported(line_of(node), text_of_node(text).strip("\"'`")) for node, text in named)


def _import_sources(node: Node) -> Iterator[Node]:
    match node.type:
        case "import_statement" | "export_statement":
            if (source := part(node, "source")) is not None:
                yield source
        case "call_expression" if text_of_node(part(node, "function")) in _LOADS:
            yield from parts(part(node, "arguments"))[:1]
        case "import_require_clause" | "import_spec":
            found = part(node, "source") or part(node, "path")
            if found is not None:
                yield found


def closure(start: str, leads: Mapping[str, Iterable[str]]) -> list[str]:
    """All files that can be reached from the start, which comes first; near ones before far ones."""
    reached, done = [start], {start}
    for one in reached:  # the list grows during the loop
        fresh = [to for to in leads.get(one, ()) if to not in done]
        reached += fresh
        done.update(fresh)
    return reached
