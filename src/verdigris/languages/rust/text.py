"""Which functions a file of Rust defines, read from its text alone."""

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
from verdigris.languages.rust import test_regions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.findings import IdMark, TestComment
    from verdigris.languages.grammar.text import Token

_WIDE = re.compile(r"[^\x00-\x7f]")


def functions(text: str) -> tuple[Function, ...]:
    """In the order of the text; none where it cannot be read."""
    return tuple(_functions(words_and_signs(tokens_of(text, _spans(text)))))


def comments(text: str) -> tuple[TestComment, ...]:
    tokens = tokens_of(text, _spans(text))
    return tuple(comments_above(_functions(words_and_signs(tokens)), tokens))


def marks(text: str) -> tuple[IdMark, ...]:
    return marks_of(comments(text))


def _functions(tokens: list[Token]) -> Iterator[Function]:
    modules: list[tuple[int, str]] = []
    depth = 0
    begins: int | None = None
    for index, token in enumerate(tokens):
        after = [each.text for each in tokens[index + 1 : index + 3]]
        match token.text:
            case "#" if begins is None:
                begins = token.line
            case "fn" if after and tokens[index + 1].kind == "word":
                names = (*(name for _, name in modules), after[0])
                yield Function(begins or token.line, "::".join(names), token.line)
                begins = None
            case "mod" if after[1:] == ["{"]:
                modules.append((depth, after[0]))
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if modules and modules[-1][0] == depth:
                    modules.pop()
        if token.text in {"{", "}", ";"}:
            begins = None


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    # One byte a character: the reading is of bytes, and its places are to be the text's.
    data = _WIDE.sub("_", text).encode()
    try:
        yield from [(token.kind, token.start, token.end) for token in test_regions.tokens(data)]
    except test_regions.Unreadable:
        return
