"""Which functions a file of Go defines, read from its text alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.text import Function, marks_above, tokens_of, words_and_signs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.findings import IdMark
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


def marks(text: str) -> tuple[IdMark, ...]:
    tokens = tokens_of(text, _spans(text))
    return marks_above(_functions(words_and_signs(tokens)), tokens)


def _functions(tokens: list[Token]) -> Iterator[Function]:
    depth = 0
    for index, token in enumerate(tokens):
        if token.text == "func" and not depth and index + 1 < len(tokens):
            name = tokens[index + 1]
            yield Function(token.line, name.text if name.kind == "word" else "")
        depth += (token.text in {"{", "("}) - (token.text in {"}", ")"})


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    for found in _GO.finditer(text):
        if found.lastgroup != "space":
            yield str(found.lastgroup), found.start(), found.end()
