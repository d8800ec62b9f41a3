"""Decides what is a stub in Rust, and replaces the work of Rust declarations."""

from __future__ import annotations

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
from verdigris.languages.grammar.trees import first, line_of, part, parts, shape, text_of_node, walk
from verdigris.languages.stub_rules import StubContext, find_unmarked, member_context, report_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_RAISING = frozenset({"todo", "unimplemented", "panic", "unreachable"})
_LITERALS = frozenset(
    {
        *("integer_literal", "float_literal", "string_literal", "raw_string_literal", "char_literal"),
        *("boolean_literal", "unit_expression", "negative_literal"),
    }
)
_MAKERS = frozenset({"Some", "Ok", "Err"})
_EMPTY = frozenset({"new", "default", "from", "to_string", "to_owned", "into", "String"})
_ATTRIBUTES = frozenset(
    {
        *("derive", "allow", "warn", "deny", "expect", "doc", "must_use", "inline", "cold", "non_exhaustive"),
        *("repr", "error", "from", "source", "serde", "default", "async_trait", "deprecated", "track_caller"),
        *("cfg", "cfg_attr", "clap", "command", "arg", "value", "automatically_derived", "backtrace"),
    }
)
_TYPES = frozenset({"struct_item", "enum_item", "union_item", "type_item", "trait_item"})
_PLAIN = frozenset(
    {
        *("struct_item", "enum_item", "union_item", "type_item", "associated_type"),
        *("function_signature_item", "enum_variant", "field_declaration"),
    }
)
_SUCCESSORS = frozenset({"impl_item", "trait_item", "mod_item", "struct_item", "enum_item"})
_FELT = frozenset({"Drop", "Deref", "DerefMut"})
"""Traits whose methods run without a visible call."""


_RAISES = f'{{ unimplemented!("{MARK}") }}'
_HOLDING = frozenset({"impl_item", "trait_item", "mod_item"})
_VALUES = frozenset({"const_item", "static_item"})
_ZEROS = {
    "integer_literal": "0",
    "float_literal": "0.0",
    "string_literal": '""',
    "boolean_literal": "false",
    "char_literal": "' '",
}


class RustForms(Forms):
    is_compiled = True

    def items(self, scope: Node) -> list[DeclarationItem]:
        return gather_items(scope, "attribute_item", _item)

    def known_names(self, root: Node) -> tuple[frozenset[str], frozenset[str]]:
        items = self.items(root)
        declared = {text_of_node(node.child_by_field_name("name")) for node in walk(root)}
        declared |= {text_of_node(n) for node in walk(root) for n in [part(node, "pattern")] if n is not None}
        types = {name for item in items if item.node.type in _TYPES for name in item.names}
        return names_in_use(root, items, declared), frozenset(types)

    def raises(self, node: Node) -> bool:
        return node.type == "macro_invocation" and text_of_node(part(node, "macro")) in _RAISING

    def is_successor(self, old: DeclarationItem, new: DeclarationItem) -> bool:
        if old.node.type != new.node.type:
            return False
        if old.node.type == "use_declaration":
            return _visibility(old) == _visibility(new) and used_paths(old.node) <= used_paths(new.node)
        if _form_without_visibility(old) == _form_without_visibility(new):
            return not _visibility(old)
        return old.node.type in _SUCCESSORS and _head(old) == _head(new) and _has_body(old) == _has_body(new)

    def judge_growth(
        self, old: DeclarationItem, new: DeclarationItem, seen: StubContext
    ) -> Iterator[StubFinding]:
        if old.node.type == "use_declaration":
            for name in sorted(_names_of_use(new.node) - _names_of_use(old.node)):
                if name in seen.taken | seen.added:
                    yield StubFinding(new.line, f"`{name}` exists already, and would be replaced")
        elif _form_without_visibility(old) != _form_without_visibility(new):
            yield from compare_members(
                self, new, part(old.node, "body"), part(new.node, "body"), member_context(seen, new)
            )

    def judge_addition(self, item: DeclarationItem, seen: StubContext) -> Iterator[StubFinding]:
        node, body = item.node, part(item.node, "body")
        yield from report_fault(item, _attribute_fault(item))
        match node.type:
            case "use_declaration" | "inner_attribute_item" | "extern_crate_declaration":
                yield from report_fault(item, _import_fault(node) if seen.existing else None)
            case "mod_item":
                yield from compare_members(self, item, None, body, member_context(seen, item, existing=False))
            case "function_item":
                yield from find_unmarked(item, seen)
                yield from report_fault(item, _body_fault(body))
            case "impl_item":
                yield from self._judge_impl(item, seen)
            case "trait_item":
                yield from find_unmarked(item, seen)
                yield from compare_members(self, item, None, body, member_context(seen, item, covered=True))
            case "const_item" | "static_item":
                yield from find_unmarked(item, seen)
                value = part(node, "value")
                known = value is None or is_constant(value)
                yield from report_fault(item, None if known else "the value is not a constant")
            case kind if kind in _PLAIN:
                yield from find_unmarked(item, seen)
            case _:
                yield StubFinding(item.line, f"{item.label} does work")

    def _judge_impl(self, item: DeclarationItem, seen: StubContext) -> Iterator[StubFinding]:
        trait, kind = (text_of_node(part(item.node, name)).partition("<")[0] for name in ("trait", "type"))
        if trait.rpartition("::")[2] in _FELT and kind in seen.types:
            yield StubFinding(item.line, f"`{trait}` would change how existing code behaves")
        yield from compare_members(
            self, item, None, part(item.node, "body"), member_context(seen, item, existing=False)
        )

    def members(self, item: DeclarationItem) -> Node | None:
        return part(item.node, "body") if item.node.type in _HOLDING else None

    def head(self, item: DeclarationItem) -> str:
        return " ".join([*(shape(one) for one in item.before), head_form(item.node, "body", "value")])

    def find_work(self, item: DeclarationItem, path: str) -> Iterator[tuple[Node, str]]:  # noqa: ARG002 - the same in every file
        node, body, value = item.node, part(item.node, "body"), part(item.node, "value")
        if node.type == "function_item" and body is not None:
            yield body, _RAISES
        elif node.type in _VALUES and value is not None and value.type in _ZEROS:
            yield value, _ZEROS[value.type]


FORMS = RustForms


def _item(node: Node, before: tuple[Node, ...]) -> DeclarationItem:
    body = part(node, "body")
    holds = body is not None and node.type not in {"function_item", "enum_variant"}
    form = " ".join([*(shape(attribute) for attribute in before), shape(node, _counted_arms)])
    return DeclarationItem(node, before, _names(node), line_of(body) if holds and body else 0, form)


def _names(node: Node) -> tuple[str, ...]:
    match node.type:
        case "use_declaration":
            return tuple(sorted(_names_of_use(node)))
        case "impl_item":
            return ()
        case _:
            name = text_of_node(part(node, "name"))
            return (name,) if name else ()


def _visibility(item: DeclarationItem) -> str:
    return text_of_node(first(parts(item.node), "visibility_modifier"))


def _form_without_visibility(item: DeclarationItem) -> str:
    """The form of a declaration without its visibility, since to make it public does not change it."""
    kept = (c for c in item.node.children if c.type != "visibility_modifier")
    return " ".join([*(shape(a) for a in item.before), *(shape(c, _counted_arms) for c in kept)])


def _head(item: DeclarationItem) -> str:
    return " ".join([*(shape(a) for a in item.before), head_form(item.node, "body")])


def _has_body(item: DeclarationItem) -> tuple[bool, str]:
    body = part(item.node, "body")
    return body is not None, "" if body is None else body.type


def used_paths(node: Node) -> frozenset[str]:
    return frozenset(_flatten_use(part(node, "argument"), ""))


def _flatten_use(node: Node | None, prefix: str) -> Iterator[str]:
    if node is None:
        return
    match node.type:
        case "scoped_use_list":
            path = text_of_node(part(node, "path"))
            yield from _flatten_use(part(node, "list"), f"{prefix}{path}::" if path else prefix)
        case "use_list":
            for one in parts(node):
                yield from _flatten_use(one, prefix)
        case _:
            yield f"{prefix}{text_of_node(node)}"


def _names_of_use(node: Node) -> frozenset[str]:
    ends = (path.rpartition(" as ")[2].rpartition("::")[2] for path in used_paths(node))
    return frozenset(end for end in ends if end not in {"*", "_", "self"})


def _import_fault(node: Node) -> str | None:
    if node.type == "inner_attribute_item":
        return "it would change how the file is compiled"
    return "a `*` hides which names it imports" if any(n.type == "use_wildcard" for n in walk(node)) else None


def _attribute_fault(item: DeclarationItem) -> str | None:
    for attribute in item.before:
        inner = parts(attribute)[0]
        name = text_of_node(parts(inner)[0]).rpartition("::")[2]
        if name not in _ATTRIBUTES:
            return f"`{text_of_node(attribute)}` does work"
    return None


def _body_fault(body: Node | None) -> str | None:
    wrapped = "expression_statement"
    statements = (parts(node)[0] if node.type == wrapped and parts(node) else node for node in parts(body))
    return None if all(map(_is_empty, statements)) else "the body does more than raise or return a constant"


def _is_empty(node: Node) -> bool:
    match node.type:
        case "macro_invocation":
            return _is_raising(node) or is_constant(node)
        case "return_expression":
            return all(map(is_constant, parts(node)))
        case "let_declaration":
            names = {n.type for n in walk(part(node, "value") or node)} if part(node, "value") else {""}
            return text_of_node(part(node, "pattern")) == "_" and names <= _DISCARDED
        case "empty_statement" | "attribute_item":
            return True
        case _:
            return is_constant(node)


_DISCARDED = frozenset({"identifier", "self", "tuple_expression", "reference_expression", "(", ")", ",", "&"})


def _is_raising(node: Node) -> bool:
    """Whether a macro only raises; its message may not call anything."""
    if text_of_node(part(node, "macro")) not in _RAISING:
        return False
    tree = first(parts(node), "token_tree")
    return not any(n.type == "token_tree" for n in parts(tree))


def is_constant(node: Node) -> bool:
    match node.type:
        case kind if kind in _LITERALS:
            return True
        case "identifier" | "scoped_identifier":
            return text_of_node(node).rpartition("::")[2][:1].isupper()
        case "unary_expression" | "reference_expression" | "parenthesized_expression":
            return all(map(is_constant, parts(node)))
        case "tuple_expression" | "array_expression" | "arguments":
            return all(map(is_constant, parts(node)))
        case "call_expression":
            function = part(node, "function")
            if function is None or not all(map(is_constant, parts(part(node, "arguments")))):
                return False
            if function.type == "field_expression":
                held = part(function, "value")
                return (
                    text_of_node(part(function, "field")) in _EMPTY and held is not None and is_constant(held)
                )
            name = text_of_node(function).rpartition("::")[2]
            return name in _MAKERS | _EMPTY
        case "macro_invocation":
            tree = first(parts(node), "token_tree")
            return text_of_node(part(node, "macro")) == "vec" and all(
                n.type in _LITERALS for n in parts(tree)
            )
        case "struct_expression":
            fields = [part(n, "value") for n in parts(part(node, "body"))]
            return all(value is not None and is_constant(value) for value in fields)
        case _:
            return False


def _counted_arms(node: Node) -> list[Node]:
    """The children that count. Final arms of a `match` that only raise do not: no old value reaches them."""
    if node.type == "match_arm":
        return [child for child in node.children if child.type != ","]
    arms = list(node.children)
    if node.type == "match_block":
        arms = [arm for arm in arms if arm.type == "match_arm"]
        while arms and _raising_arm(arms[-1]):
            arms.pop()
    return arms


def _raising_arm(arm: Node) -> bool:
    value = part(arm, "value")
    return value is not None and value.type == "macro_invocation" and _is_raising(value)
