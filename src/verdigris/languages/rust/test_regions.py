"""Finds the tests in a Rust source file by its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from verdigris.core.value import value
from verdigris.languages.rust.text import (
    _CLOSE,
    _OPEN,
    RustToken,
    Unreadable,
    canonical,
    find_closing,
    split_arguments,
    tokens,
)

_TESTS = frozenset(
    {b"test", b"rstest", b"test_case", b"bench", b"quickcheck", b"proptest", b"gtest", b"test_matrix"}
)
_QUALIFIERS = frozenset({b"async", b"unsafe", b"default", b"safe", b"auto"})
_WITH_BODY = frozenset({b"fn", b"mod", b"struct", b"enum", b"union", b"trait", b"impl", b"macro", b"extern"})
_TO_SEMICOLON = frozenset({b"use", b"static", b"const", b"type"})
_INSTEAD = re.compile(rb"[^\n]")


@value
class Region:
    start: int
    end: int
    """`start` and `end` are offsets in bytes."""
    module: str = ""
    """The name of a module that has a file of its own (`mod tests;`); else empty."""


def has_tests(data: bytes) -> bool:
    """Whether a text contains tests; True if it cannot be read and has a word about tests."""
    return bool(oracle_part(data))


def oracle_part(data: bytes) -> bytes:
    """Bytes of the tests, the same whatever their layout. A text that cannot be read counts as a whole."""
    found = _regions(data)
    if found is None:
        return data
    return b"\n".join(canonical(data[region.start : region.end]) for region in found)


def without_tests(data: bytes) -> bytes:
    """The text with its tests blanked out, so that lines and columns stay; empty if it cannot be read."""
    found = _regions(data)
    return b"" if found is None else _blank_regions(data, found)


def source_part(data: bytes) -> bytes:
    """Bytes of the text without tests, the same whatever the layout; empty if it cannot be read."""
    found = _regions(data)
    return b"" if found is None else b"\n".join(canonical(data[g.start : g.end]) for g in _gaps(data, found))


def only_tests(data: bytes) -> bytes:
    """The text with all but its tests blanked out, so that lines and columns stay."""
    found = _regions(data)
    return data if found is None else _blank_regions(data, _gaps(data, found))


def with_tests_of(frozen: bytes, data: bytes) -> bytes | None:
    """Replaces the tests of `data` by those of `frozen`; if it has none, they are put at its end.

    None if the two have different numbers of test regions.
    """
    theirs, ours = _regions(frozen), _regions(data)
    if theirs is None or ours is None or (ours and len(theirs) != len(ours)):
        return None
    if not ours:
        return b"\n".join([data, *(frozen[right.start : right.end] + b"\n" for right in theirs)])
    pieces, at = [], 0
    for right, region in zip(theirs, ours, strict=True):
        pieces += [data[at : region.start], frozen[right.start : right.end]]
        at = region.end
    return b"".join([*pieces, data[at:]])


def modules_for_tests(data: bytes) -> frozenset[str]:
    """The names of modules that exist only in tests and have files of their own."""
    named = frozenset(region.module for region in _regions(data) or () if region.module)
    rest = without_tests(data) if named else b""
    return frozenset(
        name for name in named if not re.search(rb"\bmod\s+%b\s*;" % re.escape(name.encode()), rest)
    )


def is_test_line(data: bytes, line: int) -> bool:
    found = _regions(data)
    if found is None:
        return False
    lines = ((data.count(b"\n", 0, r.start) + 1, data.count(b"\n", 0, r.end) + 1) for r in found)
    return any(first <= line <= last for first, last in lines)


def declaring_files(path: str) -> tuple[str, ...]:
    """The files that may declare the module of this file."""
    folder, _, name = path.rpartition("/")
    if name == "mod.rs":
        folder = folder.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    names = (f"{prefix}mod.rs", f"{prefix}lib.rs", f"{prefix}main.rs", f"{folder}.rs" if folder else "")
    return tuple(found for found in names if found and found != path)


def module_of(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == "mod.rs" else name.removesuffix(".rs")


def _gaps(data: bytes, regions: Sequence[Region]) -> list[Region]:
    ends = [0, *(region.end for region in regions)]
    starts = [*(region.start for region in regions), len(data)]
    return [Region(start, end) for start, end in zip(ends, starts, strict=True)]


def _blank_regions(data: bytes, regions: Sequence[Region]) -> bytes:
    pieces, at = [], 0
    for region in regions:
        pieces += [data[at : region.start], _INSTEAD.sub(b" ", data[region.start : region.end])]
        at = region.end
    return b"".join([*pieces, data[at:]])


def _regions(data: bytes) -> list[Region] | None:
    """Lists the regions of tests in order, none inside another; None if the text cannot be read."""
    if b"test" not in data and b"bench" not in data and b"quickcheck" not in data:
        return []
    try:
        return list(_find_regions(tuple(tokens(data)), data))
    except (Unreadable, IndexError):
        return None


def _find_regions(stream: tuple[RustToken, ...], data: bytes) -> Iterator[Region]:
    code = [at for at, token in enumerate(stream) if not token.is_comment]
    line = [stream[at] for at in code]
    at = 0
    while at < len(line):
        if line[at].text != b"#":
            at += 1
            continue
        inner = line[at + 1 : at + 2] and line[at + 1].text == b"!"
        if inner and at + 2 < len(line) and line[at + 2].text == b"[":
            end = find_closing(line, at + 2)
            if _is_test_only(line[at + 3 : end]):
                yield Region(0, len(data))
                return
            at = end + 1
            continue
        first, marked = at, False
        while at + 1 < len(line) and line[at].text == b"#" and line[at + 1].text == b"[":
            end = find_closing(line, at + 1)
            marked = marked or _is_test_only(line[at + 2 : end])
            at = end + 1
        if at == first:
            at += 1
        elif marked and (item := _find_item(line, at)) is not None:
            last, module = item
            yield Region(_with_comments(stream, code[first], data), line[last].end, module)
            at = last + 1


def _is_test_only(attribute: Sequence[RustToken]) -> bool:
    """Whether an attribute is a `cfg` that implies `test`, or makes a function a test."""
    words = [token.text for token in attribute]
    path = words[: words.index(b"(")] if b"(" in words else words
    name = path[-1] if path else b""
    if name == b"cfg":
        return _implies_test(attribute[2:-1])
    return name in _TESTS or name.endswith(b"_test")


def _implies_test(predicate: Sequence[RustToken]) -> bool:
    words = [token.text for token in predicate]
    if words == [b"test"]:
        return True
    if len(words) < 3 or words[1] != b"(" or words[0] not in {b"all", b"any"}:  # noqa: PLR2004 - `all()`
        return False
    parts = [_implies_test(part) for part in split_arguments(predicate[2:-1])]
    return any(parts) if words[0] == b"all" else bool(parts) and all(parts)


def _find_item(line: Sequence[RustToken], at: int) -> tuple[int, str] | None:
    """The index at which an item ends, and its name if it is a module without a body."""
    start = at = _after_qualifiers(line, at)
    word = line[at].text
    if word in _TO_SEMICOLON:
        return _find_end(line, at, body=False), ""
    if word in _WITH_BODY:
        end = _find_end(line, at, body=True)
        bodiless = word == b"mod" and line[end].text == b";"
        return end, line[start + 1].text.decode("utf-8", "replace") if bodiless else ""
    while line[at].is_word or line[at].text == b":":
        at += 1
    if line[at].text != b"!" or at == start:
        return None
    at += 2 if line[at + 1].is_word else 1
    end = find_closing(line, at)
    return (end if line[at].text == b"{" else _find_end(line, end + 1, body=False)), ""


def _after_qualifiers(line: Sequence[RustToken], at: int) -> int:
    while True:
        word = line[at].text
        if word == b"pub":
            at = find_closing(line, at + 1) + 1 if line[at + 1].text == b"(" else at + 1
        elif word in _QUALIFIERS or (word == b"const" and line[at + 1].text in {b"fn", *_QUALIFIERS}):
            at += 1
        elif word == b"extern" and line[at + 1 + (line[at + 1].kind == "string")].text == b"fn":
            at += 1 + (line[at + 1].kind == "string")
        else:
            return at


def _find_end(line: Sequence[RustToken], at: int, *, body: bool) -> int:
    while at < len(line):
        text = line[at].text
        if text == b";":
            return at
        if text in _OPEN:
            in_types = line[at - 1].text in {b"<", b",", b"="}
            at = find_closing(line, at)
            if text == b"{" and body and not in_types:
                return at
        elif text in _CLOSE:
            break
        at += 1
    raise Unreadable


def _with_comments(stream: Sequence[RustToken], at: int, data: bytes) -> int:
    """The start of an item with the comments right above it, which stand on lines of their own."""
    start = stream[at].start
    while at and stream[at - 1].is_comment:
        above = stream[at - 1]
        line = data[data.rfind(b"\n", 0, above.start) + 1 : above.start]
        if line.strip() or data.count(b"\n", above.end, start) > 1:
            break
        at, start = at - 1, above.start
    return start
