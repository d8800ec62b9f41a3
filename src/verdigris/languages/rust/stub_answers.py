"""What a stub in Rust can return in place of its own constant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.stub_answers import (
    LIST,
    NUMBER,
    TEXT,
    TRUTH,
    AnswerForms,
    Returned,
    body_of,
)
from verdigris.languages.grammar.trees import part, text_of_node

if TYPE_CHECKING:
    from tree_sitter import Node

_NUMBERS = re.compile(r"[iu](8|16|32|64|128|size)")
_WRAPPED = re.compile(r"(Option|Result)<\s*(\w+)\s*(?:,.*)?>")
_KINDS = {"String": TEXT, "bool": TRUTH, "Vec<String>": LIST}


def _returned(function: Node, body: Node) -> Returned | None:  # noqa: ARG001 - the type tells
    told = text_of_node(part(function, "return_type")).strip()
    wrapped = _WRAPPED.fullmatch(told)
    form = "{ %s }"
    if wrapped is not None:
        told, form = wrapped[2], "{ Some(%s) }" if wrapped[1] == "Option" else "{ Ok(%s) }"
    if _NUMBERS.fullmatch(told):
        return Returned(NUMBER, form)
    return Returned(_KINDS[told], form) if told in _KINDS else None


FORMS = AnswerForms(
    functions={"function_item": body_of},
    returned=_returned,
    constants={
        NUMBER: ("0", "N", "1"),
        TEXT: ("String::new()", '"W".to_string()', '"W N".to_string()'),
        TRUTH: ("", "true", "false"),
        LIST: ("vec![]", 'vec!["W".to_string()]', 'vec!["W".to_string(), "W".to_string()]'),
    },
)
