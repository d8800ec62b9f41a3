"""What a stub of JavaScript or TypeScript can return in place of its own constant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.stub_answers import (
    LIST,
    NUMBER,
    TABLE,
    TEXT,
    TRUTH,
    UNTOLD,
    AnswerForms,
    Returned,
    body_of,
    body_of_value,
)
from verdigris.languages.grammar.trees import part, parts, text_of_node, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = {"number": NUMBER, "bigint": NUMBER, "string": TEXT, "boolean": TRUTH}
_CONSTANTS = {
    **dict.fromkeys(("number", "unary_expression"), NUMBER),
    **dict.fromkeys(("string", "template_string"), TEXT),
    **dict.fromkeys(("true", "false"), TRUTH),
    "array": LIST,
    "object": TABLE,
}
_NOTHING = frozenset({"void", "never", "asserts"})


def _returned(function: Node, body: Node) -> Returned | None:
    form = "{ return %s; }" if body.type == "statement_block" else "(%s)"
    holder = part(function, "value") or function
    if text_of_node(part(function, "name")) == "constructor" or any(
        n.type in {"set", "*"} for n in holder.children
    ):
        return None
    told = text_of_node(part(holder, "return_type")).lstrip(": ").strip()
    while (inner := re.fullmatch(r"Promise<(.*)>", told)) is not None:
        told = inner[1].strip()
    if told in _NOTHING:
        return None
    return Returned(_kind(told) if told else _kind_of_constant(body), form)


def _kind(told: str) -> str:
    plain = [one.strip() for one in told.split("|") if one.strip() not in {"null", "undefined"}]
    name = plain[0] if len(plain) == 1 else ""
    if name.endswith("[]") or name.startswith(("Array<", "ReadonlyArray<", "[")):
        return LIST
    return TABLE if name.startswith(("Record<", "{")) else _TYPES.get(name, UNTOLD)


def _kind_of_constant(body: Node) -> str:
    given = [parts(node)[0] for node in walk(body) if node.type == "return_statement" and parts(node)]
    found = given[0] if given else body
    if found.type == "parenthesized_expression" and parts(found):
        found = parts(found)[0]
    return _CONSTANTS.get(found.type, UNTOLD)


FORMS = AnswerForms(
    functions={
        "function_declaration": body_of,
        "method_definition": body_of,
        "variable_declarator": body_of_value,
    },
    returned=_returned,
    constants={
        NUMBER: ("0", "N", "-N"),
        TEXT: ('""', '"W"', '"W N"'),
        TRUTH: ("", "true", "false"),
        LIST: ("[]", '["W"]', "[N, -N]"),
        TABLE: ("{}", '{ "W": N }', '{ "W": "W" }'),
    },
    untold=(NUMBER, TEXT, TRUTH, LIST, TABLE),
)
