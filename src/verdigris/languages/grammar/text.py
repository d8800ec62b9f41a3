"""Functions and comments of a file, read from its tokens alone, and the ids that comments give to tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import REACH
from verdigris.core.value import value
from verdigris.languages.findings import IdMark

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMMENT = re.compile(r"//\s*@tdd-id:\s*([A-Za-z0-9][\w.-]*)\s*$")


@value
class Function:
    line: int
    """Of its first attribute, where it has one."""
    name: str
    """With the modules around it, e.g. `tests::adds`; empty for a Go method, which is no test of its own."""


@value
class Token:
    kind: str
    text: str
    line: int
    is_first: bool
    """Nothing stands before it on its line."""


def tokens_of(text: str, spans: Iterable[tuple[str, int, int]]) -> list[Token]:
    """`spans`: kind, start and end of each."""
    found: list[Token] = []
    at, line = 0, 1
    for kind, start, end in spans:
        gap = text.count("\n", at, start)
        line += gap
        found.append(Token(kind, text[start:end], line, is_first=bool(gap) or not found))
        line += text.count("\n", start, end)
        at = end
    return found


def words_and_signs(tokens: Iterable[Token]) -> list[Token]:
    return [token for token in tokens if token.kind in {"word", "sign"}]


def marks_above(functions: Iterable[Function], tokens: Iterable[Token]) -> tuple[IdMark, ...]:
    """`// @tdd-id: slug` on a line of its own belongs to the next function, if that is within reach."""
    defined = [*functions]
    found = []
    for token in tokens:
        mark = _COMMENT.match(token.text) if token.is_first else None
        owner = next((each for each in defined if each.line > token.line), None)
        if mark and owner is not None and owner.name and owner.line - token.line <= REACH:
            found.append(IdMark(mark[1], token.line, owner.name))
    return tuple(found)
