"""Decides what is a stub in JavaScript and TypeScript, and replaces the work of declarations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.languages.findings import StubFinding
from verdigris.languages.grammar.stubs import (
    DeclarationItem,
    Forms,
    compare_members,
    gather_items,
    head_form,
    names_in_use,
)
from verdigris.languages.grammar.trees import (
    first,
    line_of,
    on_one_line,
    part,
    parts,
    shape,
    text_of_node,
    walk,
)
from verdigris.languages.node.checks import enum_fault, function_fault, value_fault
from verdigris.languages.stub_rules import StubContext, find_unmarked, member_context, report_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration", "method_definition"})
_CLASSES = frozenset({"class_declaration", "abstract_class_declaration"})
_TYPES = frozenset({"interface_declaration", "type_alias_declaration", "enum_declaration"})
_OTHERS = frozenset({"lexical_declaration", "variable_declaration", "function_signature"})
_SIGNATURES = frozenset(
    {
        *("function_signature", "method_signature", "abstract_method_signature", "property_signature"),
        *("call_signature", "construct_signature", "index_signature", "ambient_declaration"),
    }
)
_FELT = frozenset({"constructor", "toString", "valueOf", "toJSON", "then"})
"""Methods that the language calls itself."""
_EMPTY_EXPORT = re.compile(r"export\s*\{\s*\};?")


_THROWS = f'{{ throw new Error("{MARK}"); }}'
_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
_EXPORTED = ("module.exports", "exports.")
_STATEMENTS = frozenset(
    {
        *("if_statement", "for_statement", "for_in_statement", "while_statement", "do_statement"),
        *("try_statement", "switch_statement", "throw_statement", "statement_block"),
    }
)


class NodeForms(Forms):
    def items(self, scope: Node) -> list[DeclarationItem]:
        """Leaves out `export {};`, which only makes the file a module and may go after the first export."""
        found = gather_items(scope, "decorator", _item)
        return [item for item in found if not _EMPTY_EXPORT.fullmatch(text_of_node(item.node))]

    def known_names(self, root: Node) -> tuple[frozenset[str], frozenset[str]]:
        declared = {text_of_node(node.child_by_field_name("name")) for node in walk(root)}
        patterns = (pattern for node in walk(root) if (pattern := part(node, "pattern")) is not None)
        declared |= {text_of_node(n) for pattern in patterns for n in walk(pattern)}
        return names_in_use(root, self.items(root), declared), frozenset()

    def raises(self, node: Node) -> bool:
        return node.type == "throw_statement" or (
            node.type == "call_expression" and text_of_node(part(node, "function")) == "Promise.reject"
        )

    def is_successor(self, old: DeclarationItem, new: DeclarationItem) -> bool:
        one, two = old.node, new.node
        if _declaration(one) == one and two.type == "export_statement":
            return shape(_declaration(one)) == shape(_declaration(two)) and text_of_node(two).startswith(
                "export "
            )
        if one.type != two.type:
            return False
        if _exports(one) is not None and _exports(two) is not None:
            return True
        if one.type in {"import_statement", "export_statement"} and part(one, "source") is not None:
            return text_of_node(part(one, "source")) == text_of_node(part(two, "source")) and _kind(
                one
            ) == _kind(two)
        one, two = _declaration(one) or one, _declaration(two) or two
        heads = [head_form(node, "body", "value") for node in (one, two)]
        return one.type in _CLASSES | _TYPES and one.type == two.type and heads[0] == heads[1]

    def judge_growth(
        self, old: DeclarationItem, new: DeclarationItem, seen: StubContext
    ) -> Iterator[StubFinding]:
        one, two = old.node, new.node
        if one.type != two.type:
            return
        kept = _listed_names(one) if _exports(one) is None else _exports(one)
        now = _listed_names(two) if _exports(two) is None else _exports(two)
        if kept is not None and now is not None:
            yield from _check_listed_names(kept, now, new, seen if one.type == "import_statement" else None)
            return
        one, two = _declaration(one) or one, _declaration(two) or two
        if one.type == "type_alias_declaration":
            members = [_union(part(n, "value")) for n in (one, two)]
            if not set(members[0]) <= set(members[1]):
                yield StubFinding(new.line, f"{new.label} was changed")
            yield from find_unmarked(new, seen)
            return
        bodies = part(one, "body"), part(two, "body")
        known = {name for item in self.items(bodies[0] or one) for name in item.names}
        yield from compare_members(self, new, *bodies, member_context(seen, new, taken=frozenset(known)))

    def judge_addition(self, item: DeclarationItem, seen: StubContext) -> Iterator[StubFinding]:
        node = _declaration(item.node) or item.node
        for decorator in (*item.before, *(n for n in item.node.children if n.type == "decorator")):
            yield StubFinding(item.line, f"`{text_of_node(decorator)}` does work")
        match node.type:
            case "import_statement":
                if not any(n.type == "import_clause" for n in node.children) and not _is_require(node):
                    yield StubFinding(item.line, f"{item.label} is imported for its effects alone")
            case "export_statement":
                yield from self._judge_export(item, seen)
            case kind if kind in _FUNCTIONS:
                yield from find_unmarked(item, seen)
                name = text_of_node(part(node, "name"))
                felt = name in _FELT or name.startswith("[")
                if node.type == "method_definition" and seen.existing and felt:
                    yield StubFinding(item.line, f"`{name}` would change how existing code behaves")
                yield from report_fault(item, function_fault(node))
            case kind if kind in _CLASSES:
                yield from self._judge_class(item, node, seen)
            case kind if kind in _TYPES | _SIGNATURES | {"enum_assignment", "property_identifier"}:
                yield from find_unmarked(item, seen)
                yield from report_fault(item, enum_fault(node))
            case "lexical_declaration" | "variable_declaration":
                yield from self._judge_variables(item, node, seen)
            case "public_field_definition" | "field_definition":
                yield from find_unmarked(item, seen)
                yield from report_fault(item, value_fault(part(node, "value")))
            case "expression_statement":
                yield from self._judge_statement(item, node, seen)
            case _:
                yield StubFinding(item.line, f"{item.label} does work")

    def _judge_export(self, item: DeclarationItem, seen: StubContext) -> Iterator[StubFinding]:
        """Judges `export { a }`, `export … from`, and a default export that is a value."""
        if part(item.node, "source") is not None or first(parts(item.node), "export_clause"):
            return
        value = part(item.node, "value") or next(iter(parts(item.node)), None)
        if value is not None and value.type != "identifier":
            yield from find_unmarked(item, seen)
            yield from report_fault(item, value_fault(value))

    def _judge_class(self, item: DeclarationItem, node: Node, seen: StubContext) -> Iterator[StubFinding]:
        if any(n.type == "decorator" for n in node.children):
            yield StubFinding(item.line, f"{item.label}: the decorator does work")
        heritage = first(parts(node), "class_heritage")
        if any(n.type in {"call_expression", "class"} for n in walk(heritage or node) if heritage):
            yield StubFinding(item.line, f"{item.label}: a base class is more than a name")
        members = self.items(part(node, "body") or node)
        if not members or not all(map(seen.is_marked, members)):
            yield from find_unmarked(item, seen)
        scope = member_context(seen, item, existing=False, covered=True)
        yield from compare_members(self, item, None, part(node, "body"), scope)

    def _judge_variables(self, item: DeclarationItem, node: Node, seen: StubContext) -> Iterator[StubFinding]:
        values = [part(declared, "value") for declared in parts(node)]
        if values and all(value is not None and _is_require(value) for value in values):
            return
        yield from find_unmarked(item, seen)
        for value in values:
            yield from report_fault(item, value_fault(value))

    def _judge_statement(self, item: DeclarationItem, node: Node, seen: StubContext) -> Iterator[StubFinding]:
        """Judges a statement; of these only `exports.a = a` and its like may be added."""
        assigned = first(parts(node), "assignment_expression")
        target = text_of_node(part(assigned, "left"))
        value = part(assigned, "right")
        if value is None or not target.startswith(("exports.", "module.exports.")):
            yield StubFinding(item.line, f"{item.label} does work")
        elif value.type != "identifier":
            yield from find_unmarked(item, seen)
            yield from report_fault(item, value_fault(value))

    def members(self, item: DeclarationItem) -> Node | None:
        node = _declaration(item.node) or item.node
        return (
            part(node, "body") if node.type in {"class_declaration", "abstract_class_declaration"} else None
        )

    def head(self, item: DeclarationItem) -> str:
        node = _declaration(item.node) or item.node
        if node.type in {"lexical_declaration", "variable_declaration"}:
            return " ".join(head_form(one, "value") for one in parts(node))
        return f"{item.node.type} {head_form(node, 'body', 'value')}"

    def find_work(self, item: DeclarationItem, path: str) -> Iterator[tuple[Node, str]]:
        typed = not path.endswith(("js", "jsx"))
        node = _declaration(item.node) or item.node
        if body := part(node, "body"):
            if node.type not in {"interface_declaration", "enum_declaration"}:
                yield body, _THROWS
            return
        values = [part(one, "value") for one in (node, *parts(node))]
        assigned = (
            first(parts(node), "assignment_expression") if node.type == "expression_statement" else None
        )
        values.append(part(assigned, "right"))
        if node.type == "type_alias_declaration":
            return
        for value in values:
            if value is None or not _is_work(value):
                continue
            inner = part(value, "body") if value.type in _VALUES else None
            if inner is not None:
                yield inner, _THROWS
            else:
                yield value, "undefined as any" if typed else "undefined"

    def runs_at_once(self, item: DeclarationItem) -> bool:
        node = item.node
        if node.type == "class_static_block":
            return True
        if item.names or node.type not in {"expression_statement", *_STATEMENTS}:
            return False
        assigned = first(parts(node), "assignment_expression")
        return not text_of_node(part(assigned, "left")).startswith(_EXPORTED)


FORMS = NodeForms


def _item(node: Node, before: tuple[Node, ...]) -> DeclarationItem:
    inner = _declaration(node) or node
    body = part(inner, "body") if inner.type in _CLASSES | _TYPES else None
    members = parts(body)
    head = max(line_of(inner), line_of(members[0]) - 1) if members else 0
    return DeclarationItem(node, before, _names(inner), head, " ".join([*map(shape, before), shape(node)]))


def _declaration(node: Node) -> Node | None:
    """The declaration that an `export` exports, or the node itself if it is a declaration; else None."""
    if node.type == "export_statement":
        return part(node, "declaration")
    return node if node.type in _FUNCTIONS | _CLASSES | _TYPES | _OTHERS else None


def _names(inner: Node) -> tuple[str, ...]:
    match inner.type:
        case "import_statement":
            return tuple(name.rpartition(" ")[2] for name in sorted(_listed_names(inner) or ()))
        case "lexical_declaration" | "variable_declaration":
            found = [part(declared, "name") for declared in parts(inner)]
            kinds = {"identifier", "shorthand_property_identifier_pattern"}
            return tuple(text_of_node(n) for name in found if name for n in walk(name) if n.type in kinds)
        case kind if kind in _SIGNATURES and kind != "property_signature":
            return ()
        case _:
            name = text_of_node(part(inner, "name")) or (
                text_of_node(inner) if inner.type == "property_identifier" else ""
            )
            accessor = next(
                (text_of_node(c) for c in inner.children if c.type in {"get", "set", "static"}), ""
            )
            return (f"{accessor} {name}".strip(),) if name else ()


def _listed_names(node: Node) -> frozenset[str] | None:
    """The names that an import or export lists; None for any other statement."""
    kinds = {"import_specifier", "namespace_import", "export_specifier", "identifier"}
    if node.type not in {"import_statement", "export_statement"} or _declaration(node) is not None:
        return None
    clause = first(parts(node), "import_clause", "export_clause")
    found = [n for n in walk(clause) if n.type in kinds] if clause else []
    return frozenset(on_one_line(n) for n in found if n.type != "identifier" or n.parent == clause)


def _kind(node: Node) -> str:
    """The kind of an import or export; `import type` and `export *` have kinds of their own."""
    words = {"type", "*", "import_clause", "export_clause"}
    return " ".join(c.type for c in node.children if c.type in words)


def _exports(node: Node) -> frozenset[str] | None:
    """The entries of `module.exports = { … }`; None if the node is another statement, or not so plain."""
    assigned = first(parts(node), "assignment_expression") if node.type == "expression_statement" else None
    if text_of_node(part(assigned, "left")) != "module.exports":
        return None
    right = part(assigned, "right")
    if right is None or right.type != "object":
        return None
    plain = all(map(_is_plain_entry, parts(right)))
    return frozenset(on_one_line(entry) for entry in parts(right)) if plain else None


def _is_plain_entry(node: Node) -> bool:
    value = part(node, "value")
    named = value is not None and value.type in {"identifier", "member_expression"}
    return node.type == "shorthand_property_identifier" or (node.type == "pair" and named)


def _check_listed_names(
    kept: frozenset[str], now: frozenset[str], new: DeclarationItem, seen: StubContext | None
) -> Iterator[StubFinding]:
    if gone := sorted(kept - now):
        yield StubFinding(new.line, f"`{gone[0]}` is gone")
    for name in sorted(now - kept) if seen else ():
        bound = name.rpartition(" ")[2]
        if seen and bound in seen.taken | seen.added:
            yield StubFinding(new.line, f"`{bound}` exists already, and would be replaced")


def _union(node: Node | None) -> list[str]:
    if node is None or node.type != "union_type":
        return [shape(node)]
    return [member for inner in parts(node) for member in _union(inner)]


def _is_require(node: Node) -> bool:
    """Whether the node is `require("…")`, or a member of it."""
    while node.type == "member_expression" and (held := part(node, "object")) is not None:
        node = held
    return node.type == "call_expression" and text_of_node(part(node, "function")) == "require"


def _is_work(value: Node) -> bool:
    """Whether a value is work of this file; names that it passes on and required modules are not."""
    if value.type == "object":
        plain = {"shorthand_property_identifier", "pair"}
        return not all(
            one.type in plain and (part(one, "value") or one).type.endswith("identifier")
            for one in parts(value)
        )
    return value.type != "identifier" and not text_of_node(value).startswith("require(")
