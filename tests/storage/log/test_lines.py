from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.storage.log import lines
from verdigris.storage.log.light import digest
from verdigris.storage.log.lines import LogLine, decode, encode, lines_backward, lines_forward

if TYPE_CHECKING:
    from collections.abc import Iterator


texts = st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"\n", b" ")), max_size=12)
blocks = st.integers(1, 20)


@contextmanager
def blocks_of(size: int, data: bytes) -> Iterator[int]:
    with TemporaryFile() as file, patch.object(lines, "BLOCK", size):
        file.write(data)
        file.flush()
        yield file.fileno()


@given(texts, blocks)
def test_forward_gives_each_line_with_its_place(found: list[bytes], block: int) -> None:
    data = b"".join(text + b"\n" for text in found)
    with blocks_of(block, data) as fd:
        got = list(lines_forward(fd, 0, len(data)))

    assert [line.text for line in got] == found
    assert all(line.whole and data[line.offset : line.end] == line.text + b"\n" for line in got)


@given(texts, blocks)
def test_backward_gives_the_same_lines_from_the_last_to_the_first(found: list[bytes], block: int) -> None:
    data = b"".join(text + b"\n" for text in found)
    with blocks_of(block, data) as fd:
        assert list(lines_backward(fd, len(data))) == found[::-1]


def test_what_has_no_newline_is_not_whole() -> None:
    with blocks_of(4, b"one\nhalf") as fd:
        assert list(lines_forward(fd, 0, 8)) == [LogLine(0, b"one"), LogLine(4, b"half", whole=False)]


def test_reading_stops_at_the_end_that_was_asked_for_and_at_the_end_of_the_file() -> None:
    with blocks_of(3, b"one\ntwo\nthree\n") as fd:
        assert [line.text for line in lines_forward(fd, 4, 8)] == [b"two"]
        assert [line.text for line in lines_forward(fd, 8, 1000)] == [b"three"]


names = st.binary().map(os.fsdecode)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(names, values, max_size=5))
def test_any_fields_survive_as_one_line_of_ascii(fields: dict[str, object]) -> None:
    line = encode(fields)

    assert decode(line) == fields
    assert b"\n" not in line
    assert line.isascii()


def test_the_line_is_compact() -> None:
    assert encode({"a": [1, "é\udcff"], "b": None}) == rb'{"a":[1,"\u00e9\udcff"],"b":null}'


@pytest.mark.parametrize("line", [b"", b"\xff", b"[1]", b"{", b'{"a":1} x', b"[" * 100_000])
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(line)


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"a": float("nan")})


def test_the_digest_is_sha256() -> None:
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
