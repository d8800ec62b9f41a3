"""Brings conditions into one form, so that mirrored and negated ones compare equal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertions import Name
from verdigris.languages.grammar.trees import COMMENTS, part, parts, text_of_node

if TYPE_CHECKING:
    from tree_sitter import Node

IDENTIFIERS = frozenset(
    {"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}
)
GLOBAL = frozenset(
    {"property_identifier", "field_identifier", "type_identifier", "private_property_identifier"}
)
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "==="}
_MIRROR = {">": "<", ">=": "<="}
_EQUAL = frozenset({"==", "!=", "===", "!=="})
_LITERALS = frozenset({"number", "string", "int_literal", "integer_literal", "interpreted_string_literal"})
_LENGTH = re.compile(r"len\((?P<go>.*)\)|(?P<node>.*)\.length|(?P<rust>.*)\.len\(\)", re.DOTALL)
_EMPTY = {("==", "0"), ("===", "0"), ("<", "1"), ("<=", "0")}
_FILLED = {("!=", "0"), ("!==", "0"), ("0", "<"), ("1", "<=")}


@value
class ConditionForm:
    shape: str
    names: tuple[Name, ...]
    flipped: bool = False
    """True if this is the form of the opposite condition."""


def condition_form(node: Node) -> ConditionForm:
    """The form of the condition or of its opposite, whichever has fewer negations."""
    forms = []
    for flipped in (False, True):
        names: list[Name] = []
        shape = _push_negation(node, names, negated=flipped)
        forms.append(ConditionForm(shape, tuple(names), flipped))
    return min(forms, key=lambda form: (len(re.findall(r"\(not |!=", form.shape)), form.shape))


def shape_of(node: Node, names: list[Name]) -> str:
    """Structure, operators and literals as text; names are appended to the list."""
    if node.type in COMMENTS:
        return ""
    if node.type in IDENTIFIERS or node.type in GLOBAL:
        names.append(Name(text_of_node(node), local=node.type in IDENTIFIERS))
        return "_"
    if not node.children:
        return text_of_node(node)
    return f"({node.type} {' '.join(shape_of(child, names) for child in node.children)})"


def ways_of(node: Node) -> tuple[str, str]:
    """The first statement that runs if the condition of an `if` holds, and the first if it does not."""
    yes, no = part(node, "consequence"), part(node, "alternative")
    if no is None:
        no = node.next_named_sibling
        if no is None and node.parent is not None and node.parent.type == "expression_statement":
            no = node.parent.next_named_sibling
    return _first_statement(yes), _first_statement(no)


def _first_statement(node: Node | None) -> str:
    while node is not None and node.type in {
        "statement_block",
        "block",
        "else_clause",
        "expression_statement",
    }:
        inner = parts(node)
        node = inner[0] if inner else None
    text = text_of_node(node).strip().removesuffix(";")
    return text.removeprefix("return").strip()


def _push_negation(node: Node, names: list[Name], *, negated: bool) -> str:
    if node.type == "parenthesized_expression" and parts(node):
        return _push_negation(parts(node)[0], names, negated=negated)
    operator = text_of_node(part(node, "operator")) or (
        text_of_node(node.children[0]) if node.type == "unary_expression" else ""
    )
    if node.type == "unary_expression" and operator == "!":
        return _push_negation(parts(node)[-1], names, negated=not negated)
    left, right = part(node, "left"), part(node, "right")
    if node.type != "binary_expression" or left is None or right is None:
        return _shape_of_single(node, names, negated=negated)
    if operator in {"&&", "||"}:
        word = "and" if (operator == "&&") != negated else "or"
        sides = [_push_negation(side, names, negated=negated) for side in (left, right)]
        flat = [
            s.removeprefix(f"({word} ").removesuffix(")") if s.startswith(f"({word} ") else s for s in sides
        ]
        return f"({word} {' '.join(flat)})"
    if operator not in _OPPOSITE:
        return _shape_of_single(node, names, negated=negated)
    return _compare_shape(left, _OPPOSITE[operator] if negated else operator, right, names)


def _shape_of_single(node: Node, names: list[Name], *, negated: bool) -> str:
    text = text_of_node(node)
    if text.endswith(".is_empty()"):
        shape, negated = _measure_shape(node, names), not negated
    elif text.endswith(".length"):
        shape = _measure_shape(node, names)
    else:
        shape = shape_of(node, names)
    return f"(not {shape})" if negated else shape


def _compare_shape(left: Node, operator: str, right: Node, names: list[Name]) -> str:
    if operator in _MIRROR or (operator in _EQUAL and left.type in _LITERALS):
        left, operator, right = right, _MIRROR.get(operator, operator), left
    measured = next((side for side in (left, right) if _LENGTH.fullmatch(text_of_node(side))), None)
    if measured is left and ((operator, text_of_node(right)) in _EMPTY | _FILLED):
        shape = _measure_shape(left, names)
        return f"(not {shape})" if (operator, text_of_node(right)) in _EMPTY else shape
    if measured is right and (text_of_node(left), operator) in _FILLED:
        return _measure_shape(right, names)
    return f"({shape_of(left, names)} {operator} {shape_of(right, names)})"


def _measure_shape(node: Node, names: list[Name]) -> str:
    """One shape for every way to say "is not empty" (`len(x)`, `x.length`, `x.is_empty()`)."""
    text = text_of_node(node).removesuffix(".is_empty()")
    found = _LENGTH.fullmatch(text)
    inner = next((one for one in found.groups() if one is not None), text) if found else text
    names.append(Name(inner, local=True))
    return "(filled _)"
