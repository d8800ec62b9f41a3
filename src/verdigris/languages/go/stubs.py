"""Decides what is a stub in Go, and replaces the work of Go declarations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.languages.findings import StubFinding
from verdigris.languages.grammar.stubs import DeclarationItem, Forms, compare_members, head_form, names_in_use
from verdigris.languages.grammar.trees import (
    COMMENTS,
    first,
    line_of,
    part,
    parts,
    shape,
    text_of_node,
    tree_of,
    walk,
)
from verdigris.languages.probes import ByteEdit, apply_edits
from verdigris.languages.stub_rules import StubContext, find_unmarked, member_context, report_fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tree_sitter import Node


_LITERALS = frozenset(
    {
        *("int_literal", "float_literal", "imaginary_literal", "rune_literal", "interpreted_string_literal"),
        *("raw_string_literal", "nil", "true", "false", "iota"),
    }
)
_ERRORS = frozenset({"errors.New", "fmt.Errorf"})
_GROUPS = frozenset({"type_declaration", "var_declaration", "import_declaration"})
_DIRECTIVES = ("//go:", "// +build", "//export ", "//line ")


_PANICS = f'{{\n\tpanic("{MARK}")\n}}'
_ZEROS = {
    "int_literal": "0",
    "float_literal": "0.0",
    "rune_literal": "0",
    "interpreted_string_literal": '""',
    "raw_string_literal": '""',
    "true": "false",
}
_KEYWORDS = {"type_spec": "type ", "type_alias": "type ", "var_spec": "var ", "import_spec": "import "}


class GoForms(Forms):
    is_compiled = True

    def items(self, scope: Node) -> list[DeclarationItem]:
        return [item for node in scope.children for item in _find_items(node)]

    def known_names(self, root: Node) -> tuple[frozenset[str], frozenset[str]]:
        items = self.items(root)
        declared = {text_of_node(n) for node in walk(root) for n in node.children_by_field_name("name")}
        made = (node for node in walk(root) if node.type == "short_var_declaration")
        declared |= {text_of_node(n) for node in made for n in walk(part(node, "left") or node)}
        types = {name for item in items if item.node.type == "type_spec" for name in item.names}
        return names_in_use(root, items, declared), frozenset(types)

    def raises(self, node: Node) -> bool:
        return node.type == "call_expression" and text_of_node(part(node, "function")) == "panic"

    def is_successor(self, old: DeclarationItem, new: DeclarationItem) -> bool:
        bodies = _body(old.node), _body(new.node)
        if None in bodies or old.node.type != new.node.type or _head(old.node) != _head(new.node):
            return False
        # `iota` counts from the top of a group, so its first constant must not change.
        firsts = [self.items(body)[:1] for body in bodies if body]
        same = [item.form for item in firsts[0]] == [item.form for item in firsts[1]]
        return same or old.node.type != "const_declaration"

    def judge_growth(
        self, old: DeclarationItem, new: DeclarationItem, seen: StubContext
    ) -> Iterator[StubFinding]:
        yield from compare_members(self, new, _body(old.node), _body(new.node), member_context(seen, new))

    def judge_addition(self, item: DeclarationItem, seen: StubContext) -> Iterator[StubFinding]:
        node = item.node
        match node.type:
            case "import_spec":
                if (
                    text_of_node(part(node, "name")) in {"_", "."}
                    or text_of_node(part(node, "path")) == '"C"'
                ):
                    yield StubFinding(item.line, f"{item.label} imports names that cannot be seen here")
            case "package_clause" if not seen.existing:
                return
            case "function_declaration" | "method_declaration":
                yield from find_unmarked(item, seen)
                if text_of_node(part(node, "name")) == "init" and node.type == "function_declaration":
                    yield StubFinding(item.line, "`init` runs although nobody calls it")
                yield from report_fault(item, _body_fault(part(node, "body")))
            case "type_spec" | "type_alias" | "method_elem" | "type_elem":
                yield from find_unmarked(item, seen)
            case "field_declaration":
                yield from find_unmarked(item, seen)
                if part(node, "name") is None and seen.existing:
                    yield StubFinding(item.line, f"{item.label} would add its methods to existing code")
            case "var_spec" | "const_spec":
                yield from find_unmarked(item, seen)
                values = parts(part(node, "value"))
                yield from report_fault(
                    item, None if all(map(is_constant, values)) else "the value is not a constant"
                )
            case "const_declaration":
                yield from compare_members(self, item, None, node, member_context(seen, item))
            case _:
                yield StubFinding(item.line, f"{item.label} does work")

    def members(self, item: DeclarationItem) -> Node | None:
        """The members of a group of constants; None if it uses `iota`: then each depends on the others."""
        node = item.node
        counted = any(one.type == "iota" for one in walk(node)) if node.type == "const_declaration" else True
        return None if counted else node

    def head(self, item: DeclarationItem) -> str:
        node = item.node
        if node.type == "const_declaration":
            return " ".join(name for one in self.items(node) for name in one.names)
        return f"{node.type} {head_form(node, 'body', 'value')}"

    def find_work(self, item: DeclarationItem, path: str) -> Iterator[tuple[Node, str]]:  # noqa: ARG002 - the same in every file
        node = item.node
        if (body := part(node, "body")) is not None:
            runs_alone = node.type == "function_declaration" and text_of_node(part(node, "name")) == "init"
            yield body, "{}" if runs_alone else _PANICS
        elif node.type in {"var_spec", "const_spec"}:
            for value in parts(part(node, "value")):
                if value.type in _ZEROS:
                    yield value, _ZEROS[value.type]
                elif value.type == "composite_literal":
                    yield value, f"{text_of_node(part(value, 'type'))}{{}}"
                elif value.type == "func_literal" and (body := part(value, "body")) is not None:
                    yield body, _PANICS

    def item_text(self, item: DeclarationItem) -> str:
        text = text_of_node(item.node)
        return "" if item.node.type == "import_spec" else f"{_KEYWORDS.get(item.node.type, '')}{text}"

    def fix_imports(self, text: bytes, earlier: bytes, later: bytes, path: str) -> bytes:
        """Fixes the imports: Go does not compile a package with an unused or a missing import."""
        now, was = imports_of(text, path), imports_of(earlier, path)
        needed = {name: spec for name, spec in was.items() if name not in now and _uses(text, name)}
        idle = [spec for name, spec in now.items() if _uses(later, name) and not _uses(text, name)]
        edits = [
            ByteEdit(spec.start_byte, spec.end_byte, f"_ {text_of_node(part(spec, 'path'))}") for spec in idle
        ]
        clause = next(node for node in tree_of(path, text)[0].children if node.type == "package_clause")
        added = "".join(f"\nimport {text_of_node(spec)}" for spec in needed.values())
        edits += [ByteEdit(clause.end_byte, clause.end_byte, f"\n{added}")] if added else []
        return apply_edits(text, edits)


FORMS = GoForms


def _find_items(node: Node) -> Iterator[DeclarationItem]:
    if node.type in COMMENTS:
        if text_of_node(node).startswith(_DIRECTIVES):
            yield DeclarationItem(node, form=text_of_node(node).strip())
    elif node.type in _GROUPS or node.type in {"import_spec_list", "var_spec_list", "statement_list"}:
        for child in node.children:
            yield from _find_items(child)
    elif node.is_named and node.type != "empty_statement":
        body = _body(node)
        yield DeclarationItem(node, (), _names(node), line_of(body) if body else 0, shape(node))


def _names(node: Node) -> tuple[str, ...]:
    match node.type:
        case "import_spec":
            alias, path = text_of_node(part(node, "name")), text_of_node(part(node, "path")).strip('"`')
            return (alias or path.rpartition("/")[2],)
        case "method_declaration":
            receiver = text_of_node(part(node, "receiver")).strip("()").rpartition(" ")[2]
            return (f"{receiver.lstrip('*').partition('[')[0]}.{text_of_node(part(node, 'name'))}",)
        case "package_clause" | "const_declaration" | "type_elem":
            return ()
        case _:
            names = [text_of_node(name) for name in node.children_by_field_name("name")]
            return tuple(name for name in names if name != "_")


def _body(node: Node) -> Node | None:
    """The node with the members of a type, or with the constants of a group."""
    match node.type:
        case "type_spec":
            kind = part(node, "type")
            if kind is not None and kind.type == "struct_type":
                return first(parts(kind), "field_declaration_list")
            return kind if kind is not None and kind.type == "interface_type" else None
        case "const_declaration":
            return node
        case _:
            return None


def _head(node: Node) -> str:
    return f"{node.type} {head_form(node, 'type')}" if node.type == "type_spec" else node.type


def _body_fault(body: Node | None) -> str | None:
    statements = parts(first(parts(body), "statement_list"))
    specs = (spec for one in statements if one.type == "var_declaration" for spec in parts(one))
    unset = (spec for spec in specs if part(spec, "value") is None)
    zeros = {text_of_node(name) for spec in unset for name in spec.children_by_field_name("name")}
    if all(_is_empty(node, zeros) for node in statements):
        return None
    return "the body does more than panic or return a constant"


def _is_empty(node: Node, zeros: set[str]) -> bool:
    match node.type:
        case "expression_statement":
            (call,) = parts(node)[:1] or [node]
            return _calls_one_of(call, {"panic"})
        case "return_statement":
            values = [value for listed in parts(node) for value in parts(listed)]
            return all(is_constant(value) or text_of_node(value) in zeros for value in values)
        case "assignment_statement":
            kinds = {n.type for n in walk(part(node, "right") or node)}
            blank = all(text_of_node(n) == "_" for n in parts(part(node, "left")))
            return blank and kinds <= {"expression_list", "identifier", ","}
        case "var_declaration":
            return all(part(spec, "value") is None for spec in parts(node))
        case _:
            return False


def is_constant(node: Node) -> bool:
    match node.type:
        case kind if kind in _LITERALS:
            return True
        case "unary_expression" | "parenthesized_expression":
            return all(map(is_constant, parts(node)))
        case "composite_literal":
            return all(map(is_constant, parts(part(node, "body"))))
        case "literal_element" | "literal_value" | "expression_list":
            return all(map(is_constant, parts(node)))
        case "keyed_element":
            value = part(node, "value")
            return value is not None and is_constant(value)
        case "binary_expression":
            return all(map(is_constant, parts(node)))
        case "call_expression":
            return _calls_one_of(node, _ERRORS)
        case _:
            return False


def _calls_one_of(node: Node, names: Collection[str]) -> bool:
    """Whether the node calls one of these functions with constants only."""
    return text_of_node(part(node, "function")) in names and all(
        map(is_constant, parts(part(node, "arguments")))
    )


def imports_of(text: bytes, path: str) -> dict[str, Node]:
    found = (item for item in GoForms().items(tree_of(path, text)[0]) if item.node.type == "import_spec")
    return {item.names[0]: item.node for item in found}


def _uses(text: bytes, name: str) -> bool:
    return re.search(rb"(?<![\w.\"/])" + re.escape(name.encode()) + rb"\.\w", text) is not None
