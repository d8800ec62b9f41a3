"""Finds functions and comments in Rust and Go by their text alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.languages import RUST
from verdigris.core.value import value
from verdigris.languages.rust import test_regions

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_WIDE = re.compile(r"[^\x00-\x7f]")


@value
class Function:
    line: int
    """Of its first attribute, where it has one."""
    name: str
    """With the modules around it, e.g. `tests::adds`; empty for a Go method, which is no test of its own."""


@value
class _Token:
    kind: str
    text: str
    line: int
    is_first: bool
    """Nothing stands before it on its line."""


def functions(language: str, text: str) -> tuple[Function, ...]:
    """In the order of the text; none where it cannot be read."""
    tokens = [token for token in _tokens(language, text) if token.kind in {"word", "sign"}]
    return tuple(_rust(tokens) if language == RUST else _go(tokens))


def line_comments(language: str, text: str) -> Iterator[tuple[int, str]]:
    """`//` comments on lines of their own, with their lines."""
    for token in _tokens(language, text):
        if token.is_first and token.text.startswith("//"):
            yield token.line, token.text


def _rust(tokens: list[_Token]) -> Iterator[Function]:
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
                yield Function(begins or token.line, "::".join(names))
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


def _go(tokens: list[_Token]) -> Iterator[Function]:
    depth = 0
    for index, token in enumerate(tokens):
        if token.text == "func" and not depth and index + 1 < len(tokens):
            name = tokens[index + 1]
            yield Function(token.line, name.text if name.kind == "word" else "")
        depth += (token.text in {"{", "("}) - (token.text in {"}", ")"})


def _tokens(language: str, text: str) -> list[_Token]:
    found: list[_Token] = []
    at, line = 0, 1
    for kind, start, end in _rust_spans(text) if language == RUST else _go_spans(text):
        gap = text.count("\n", at, start)
        line += gap
        found.append(_Token(kind, text[start:end], line, is_first=bool(gap) or not found))
        line += text.count("\n", start, end)
        at = end
    return found


def _go_spans(text: str) -> Iterator[tuple[str, int, int]]:
    for found in _GO.finditer(text):
        if found.lastgroup != "space":
            yield str(found.lastgroup), found.start(), found.end()


def _rust_spans(text: str) -> Iterator[tuple[str, int, int]]:
    # One byte a character: the reading is of bytes, and its places are to be the text's.
    data = _WIDE.sub("_", text).encode()
    try:
        yield from [(token.kind, token.start, token.end) for token in test_regions.tokens(data)]
    except test_regions.Unreadable:
        return
