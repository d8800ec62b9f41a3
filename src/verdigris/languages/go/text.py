"""Which functions a file of Go defines, read from its text alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.text import (
    Function,
    comments_above,
    marks_of,
    tokens_of,
    words_and_signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.findings import IdMark, TestComment
    from verdigris.languages.grammar.text import Token

_GO = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<text>`[^`]*`?|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])+')
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def functions(text: str) -> tuple[Function, ...]:
    """In the order of the text; none where it cannot be read."""
    return tuple(_functions(words_and_signs(tokens_of(text, _spans(text)))))


def comments(text: str) -> tuple[TestComment, ...]:
    tokens = tokens_of(text, _spans(text))
    return tuple(comments_above(_functions(words_and_signs(tokens)), tokens))


def marks(text: str) -> tuple[IdMark, ...]:
    return marks_of(comments(text))


def _functions(tokens: list[Token]) -> Iterator[Function]:
    depth = 0
    for index, token in enumerate(tokens):
        if token.text == "func" and not depth and index + 1 < len(tokens):
            name = tokens[index + 1]
            yield Function(token.line, name.text if name.kind == "word" else "", token.line)
        depth += (token.text in {"{", "("}) - (token.text in {"}", ")"})


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    for found in _GO.finditer(text):
        if found.lastgroup != "space":
            yield str(found.lastgroup), found.start(), found.end()
