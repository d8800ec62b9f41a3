"""Reads the tokens of a Rust text, the names of tests, and imports."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.languages.folders import first_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.core.report import TestResult


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


def case_of(name: str, path: str, result: TestResult) -> str | None:
    """The part of a reported name after the marked test's own name; None if it is another test."""
    function = split_id(result.native_id).function
    for around in modules(path):
        whole = f"{around}{name}"
        if function == whole or function.startswith(whole + "::"):
            return function[len(whole) :]
    return None


def modules(path: str) -> tuple[str, ...]:
    """The module paths that may come before the name of a test in this file; the most likely comes first."""
    *parts, name = path.removesuffix(".rs").split("/")
    if name in {"lib", "main"}:
        return ("",)
    if name != "mod":
        parts.append(name)
    likely = len(parts) - _after_root(parts)
    lengths = sorted(range(len(parts) + 1), key=lambda length: (length != likely, length))
    return tuple("".join(f"{part}::" for part in parts[len(parts) - length :]) for length in lengths)


def _after_root(parts: list[str]) -> int:
    """The index at which module names begin: after the last `src`, or after a crate's name in `tests/`."""
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "src":
            inside = parts[index + 1 : index + 2]
            return min(index + (3 if inside == ["bin"] else 1), len(parts))
        if parts[index] in {"tests", "benches", "examples"}:
            return min(index + 2, len(parts))
    return len(parts)


_MOD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(?:r#)?(\w+)\s*;", re.MULTILINE)
_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?:::)?((?:\w+::)*\w+)", re.MULTILINE)
_LIBRARIES = frozenset({"std", "core", "alloc", "self"})


def imported_files(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    folder, name = posixpath.split(path)
    own = folder if name in {"lib.rs", "main.rs", "mod.rs"} else path.removesuffix(".rs")
    for module in _MOD.findall(text):
        tried = (f"{at}/{module}{end}" for at in (own, folder) for end in (".rs", "/mod.rs"))
        yield from first_known((posixpath.normpath(each) for each in tried), files)
    crate = folder
    while crate and f"{crate}/Cargo.toml" not in files:
        crate = posixpath.dirname(crate)
    source = posixpath.join(crate, "src")
    for use in _USE.findall(text):
        top, *parts = use.split("::")
        if top in _LIBRARIES:
            continue
        if top != "super":
            yield from first_known((f"{source}/lib.rs", f"{source}/main.rs"), files)
        at = folder if top == "super" else source
        for part in parts:
            at = posixpath.join(at, part)
            yield from first_known((f"{at}.rs", f"{at}/mod.rs"), files)
