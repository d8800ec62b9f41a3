"""Values and bodies of JavaScript and TypeScript that do no work: constants, and what only throws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import part, parts, said, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
_LITERALS = frozenset({"number", "string", "true", "false", "null", "undefined", "regex", "this"})
_CASTS = frozenset(
    {"as_expression", "satisfies_expression", "non_null_expression", "parenthesized_expression"}
)
_EMPTY = frozenset({"Map", "Set", "WeakMap", "WeakSet", "Array", "Object", "Date"})


def enum_fault(node: Node) -> str | None:
    members = [node] if node.type == "enum_assignment" else parts(part(node, "body"))
    values = [part(member, "value") for member in members if member.type == "enum_assignment"]
    return None if all(value is None or constant(value) for value in values) else "a value is not a constant"


def value_fault(value: Node | None) -> str | None:
    if value is not None and value.type in _VALUES:
        return function_fault(value)
    if value is not None and value.type == "class":
        return "a class that is a value may do anything"
    return None if value is None or constant(value) else "the value is not a constant"


def function_fault(node: Node) -> str | None:
    defaults = [value for p in parts(part(node, "parameters")) if (value := part(p, "value")) is not None]
    defaults += [right for p in walk(part(node, "parameters") or node) if (right := _default(p)) is not None]
    if not all(map(constant, defaults)):
        return "a default is not a constant"
    body = part(node, "body")
    if body is not None and body.type != "statement_block":
        return None if constant(body) else "the body is not a constant"
    if all(_is_empty(statement) for statement in parts(body)):
        return None
    return "the body does more than throw or return a constant"


def _default(node: Node) -> Node | None:
    return part(node, "right") if node.type.endswith("assignment_pattern") else None


def _is_empty(node: Node) -> bool:
    match node.type:
        case "throw_statement":
            thrown = parts(node)[0]
            return thrown.type == "new_expression" and all(map(constant, parts(part(thrown, "arguments"))))
        case "return_statement":
            return all(map(constant, parts(node)))
        case "expression_statement":
            inner = parts(node)[0]
            called = said(part(inner, "function")) == "super" and inner.type == "call_expression"
            given = parts(part(inner, "arguments"))
            return constant(inner) or (called and all(n.type == "identifier" or constant(n) for n in given))
        case "empty_statement":
            return True
        case _:
            return False


def constant(node: Node) -> bool:
    match node.type:
        case kind if kind in _LITERALS:
            return True
        case "identifier":
            return said(node) in {"NaN", "Infinity", "undefined"}
        case "template_string":
            return not any(n.type == "template_substitution" for n in node.children)
        case "unary_expression":
            argument = part(node, "argument")
            return argument is not None and (said(node).startswith("void ") or constant(argument))
        case kind if kind in _CASTS:
            return constant(parts(node)[0])
        case "array":
            return all(map(constant, parts(node)))
        case "object":
            values = [part(pair, "value") for pair in parts(node)]
            return all(value is not None and constant(value) for value in values)
        case "jsx_element" | "jsx_self_closing_element":
            return not any(n.type == "jsx_expression" for n in walk(node))
        case "new_expression":
            return said(part(node, "constructor")) in _EMPTY and not parts(part(node, "arguments"))
        case "call_expression":
            called, given = said(part(node, "function")), parts(part(node, "arguments"))
            error = called == "Promise.reject" and all(n.type == "new_expression" for n in given)
            return error or (called == "Promise.resolve" and all(map(constant, given)))
        case _:
            return False
