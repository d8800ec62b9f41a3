"""Reads the tokens of a Rust text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_TOKEN = re.compile(
    rb"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>(?:b|c)?r(?P<hashes>\#*)")
    | (?P<string>(?:b|c)?"(?:\\.|[^"\\])*")
    | (?P<char>b?'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^\\'\n\x80-\xff]|[\xc2-\xf4][\x80-\xbf]{1,3})')
    | (?P<lifetime>'[A-Za-z_\x80-\xff][\w\x80-\xff]*)
    | (?P<word>(?:r\#)?[A-Za-z_\x80-\xff][\w\x80-\xff]*)
    | (?P<number>\d\w*(?:\.\d\w*)?)
    | (?P<open>")
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(rb"/\*|\*/")
_OPEN = {b"(": b")", b"[": b"]", b"{": b"}"}
_CLOSE = frozenset(_OPEN.values())
_ALONE = frozenset({*_OPEN, *_CLOSE, b",", b";"})
_SEPARATOR = b"\x1f"


class Unreadable(ValueError):
    """Raised if a string or comment has no end, or if brackets do not match."""


@value
class RustToken:
    kind: str
    text: bytes
    start: int
    end: int

    @property
    def is_comment(self) -> bool:
        return self.kind in {"comment", "block"}

    @property
    def is_word(self) -> bool:
        return self.kind == "word"

    @property
    def is_sign(self) -> bool:
        return self.kind == "sign"


def tokens(data: bytes) -> Iterator[RustToken]:
    """Yields tokens without white space; raises Unreadable if a string or comment has no end."""
    at = 0
    while at < len(data):
        found = _TOKEN.match(data, at)
        assert found is not None  # noqa: S101 - the last alternative takes any byte
        kind, end = str(found.lastgroup), found.end()
        match kind:
            case "block":
                end = _comment_end(data, at)
            case "raw" | "hashes":
                closing = b'"' + found["hashes"]
                kind, end = "raw", data.find(closing, end) + len(closing)
                if end < len(closing):
                    raise Unreadable
            case "open":
                raise Unreadable
        if kind != "space":
            yield RustToken(kind, data[at:end], at, end)
        at = end


def _comment_end(data: bytes, at: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(data, at):
        depth += 1 if edge[0] == b"/*" else -1
        if depth == 0:
            return edge.end()
    raise Unreadable


def canonical(text: bytes) -> bytes:
    """Bytes that are the same for the same code and comments, whatever the layout."""
    shown: list[bytes] = []
    commas: list[int] = []
    before: RustToken | None = None
    for token in tokens(text):
        if token.text in _OPEN:
            commas.append(0)
        elif token.text in _CLOSE and commas:
            count = commas.pop()
            # `(a,)` is a tuple; any other comma before a bracket is layout.
            if before is not None and before.text == b"," and (count > 1 or token.text != b")"):
                shown.pop()
        elif token.text == b"," and commas:
            commas[-1] += 1
        if before is not None and _is_operator(before) and _is_operator(token) and before.end == token.start:
            shown[-1] += token.text
        else:
            shown.append(token.text.rstrip() if token.is_comment else token.text)
        before = token
    return _SEPARATOR.join(shown)


def _is_operator(token: RustToken) -> bool:
    return token.is_sign and token.text not in _ALONE


def find_closing(line: Sequence[RustToken], at: int) -> int:
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for index in range(at, len(line)):
        depth += (line[index].text in _OPEN) - (line[index].text in _CLOSE)
        if depth == 0:
            return index
    raise Unreadable


def split_arguments(inside: Sequence[RustToken]) -> list[Sequence[RustToken]]:
    parts, depth, start = [], 0, 0
    for index, token in enumerate(inside):
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if token.text == b"," and depth == 0:
            parts.append(inside[start:index])
            start = index + 1
    return [part for part in (*parts, inside[start:]) if part]
