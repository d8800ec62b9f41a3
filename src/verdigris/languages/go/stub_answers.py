"""What a stub in Go can return in place of its own constant."""

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

_NUMBERS = re.compile(r"u?int(8|16|32|64)?|float(32|64)")
_WITH_ERROR = re.compile(r"\(\s*(?:\w+\s+)?([\w\[\]]+)\s*,\s*(?:\w+\s+)?error\s*\)")


def _returned(function: Node, body: Node) -> Returned | None:  # noqa: ARG001 - the type tells
    told = text_of_node(part(function, "result")).strip()
    pair = _WITH_ERROR.fullmatch(told)
    told, form = (pair[1], "{ return %s, nil }") if pair else (told, "{ return %s }")
    if _NUMBERS.fullmatch(told):
        return Returned(NUMBER, form)
    kinds = {"string": TEXT, "bool": TRUTH, "[]string": LIST}
    return Returned(kinds[told], form) if told in kinds else None


FORMS = AnswerForms(
    functions={"function_declaration": body_of, "method_declaration": body_of},
    returned=_returned,
    constants={
        NUMBER: ("0", "N", "1"),
        TEXT: ('""', '"W"', '"W N"'),
        TRUTH: ("", "true", "false"),
        LIST: ("nil", '[]string{"W"}', '[]string{"W", "W"}'),
    },
)
