"""The tokens of a Rust text: strings, comments, lifetimes and brackets told apart, nothing more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class Unreadable(ValueError):
    """A string or comment has no end, or brackets do not match."""


@value
class Token:
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


def tokens(data: bytes) -> Iterator[Token]:
    """Without white space; raise Unreadable at what has no end."""
    at = 0
    while at < len(data):
        found = _TOKEN.match(data, at)
        assert found is not None  # noqa: S101 - the last alternative takes any byte
        kind, end = str(found.lastgroup), found.end()
        match kind:
            case "block":
                end = _comment_end(data, at)
            case "raw" | "hashes":
                kind, end = "raw", _raw_end(data, end, found["hashes"])
            case "open":
                raise Unreadable
        if kind != "space":
            yield Token(kind, data[at:end], at, end)
        at = end


def _comment_end(data: bytes, at: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(data, at):
        depth += 1 if edge[0] == b"/*" else -1
        if depth == 0:
            return edge.end()
    raise Unreadable


def _raw_end(data: bytes, at: int, hashes: bytes) -> int:
    end = data.find(b'"' + hashes, at)
    if end < 0:
        raise Unreadable
    return end + 1 + len(hashes)
