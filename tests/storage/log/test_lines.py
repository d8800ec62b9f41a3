from __future__ import annotations

from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from verdigris.storage.log import lines
from verdigris.storage.log.lines import LogLine, backward, forward

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
        got = list(forward(fd, 0, len(data)))

    assert [line.text for line in got] == found
    assert all(line.whole and data[line.offset : line.end] == line.text + b"\n" for line in got)


@given(texts, blocks)
def test_backward_gives_the_same_lines_from_the_last_to_the_first(found: list[bytes], block: int) -> None:
    data = b"".join(text + b"\n" for text in found)
    with blocks_of(block, data) as fd:
        assert list(backward(fd, len(data))) == found[::-1]


def test_what_has_no_newline_is_not_whole() -> None:
    with blocks_of(4, b"one\nhalf") as fd:
        assert list(forward(fd, 0, 8)) == [LogLine(0, b"one"), LogLine(4, b"half", whole=False)]


def test_reading_stops_at_the_end_that_was_asked_for_and_at_the_end_of_the_file() -> None:
    with blocks_of(3, b"one\ntwo\nthree\n") as fd:
        assert [line.text for line in forward(fd, 4, 8)] == [b"two"]
        assert [line.text for line in forward(fd, 8, 1000)] == [b"three"]
