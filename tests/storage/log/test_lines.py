from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.log.tally import draft
from verdigris.core.errors import LogDamaged
from verdigris.core.records import CHECKPOINT, GENESIS, Record
from verdigris.storage.log import lines
from verdigris.storage.log.light import digest
from verdigris.storage.log.lines import (
    EMPTY,
    Link,
    LogHead,
    LogLine,
    Tail,
    beyond,
    decode,
    encode,
    follow,
    head_after,
    lines_backward,
    lines_forward,
    parse,
    render,
)
from verdigris.storage.log.log import chain_batch

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


_, FIRST = chain_batch(EMPTY, [draft(1), draft(2)], 0, 1)
HEAD = head_after(EMPTY, FIRST)


def batch(count: int, after: int = 0) -> list[LogLine]:
    """The lines of a batch beyond HEAD, or after as many earlier batches of one event."""
    head = HEAD
    for _ in range(after):
        head = head_after(head, chain_batch(head, [draft()], 0, 1)[1])
    data, links = chain_batch(head, [draft(n) for n in range(count)], 0, 1)
    return [LogLine(link.offset, data[link.offset - head.size : link.end - head.size - 1]) for link in links]


def half(line: LogLine) -> LogLine:
    return LogLine(line.offset, line.text[:20], whole=False)


def test_nothing_beyond_the_head_is_nothing() -> None:
    assert beyond([], HEAD) == Tail((), torn=False)


@pytest.mark.parametrize("count", [1, 3])
def test_one_whole_batch_is_taken_in(count: int) -> None:
    tail = beyond(batch(count), HEAD)

    assert [link.record.seq for link in tail.batch] == list(range(3, 3 + count))
    assert not tail.torn


@pytest.mark.parametrize(
    "lines",
    [
        [half(batch(1)[0])],
        batch(3)[:2],
        [*batch(3)[:2], half(batch(3)[2])],
        [LogLine(HEAD.size, b"\0" * 4096, whole=False)],
    ],
)
def test_a_batch_that_is_not_whole_is_torn(lines: list[LogLine]) -> None:
    assert beyond(lines, HEAD) == Tail((), torn=True)


@pytest.mark.parametrize(
    ("lines", "event"),
    [
        ([*batch(1), *batch(1, after=1)], 4),
        ([*batch(1), half(batch(1, after=1)[0])], 3),
        ([*batch(3)[:2], *batch(1, after=2)], 4),
        (batch(1, after=1), 3),
        ([LogLine(HEAD.size, b"junk")], 3),
        ([LogLine(HEAD.size, b"")], 3),
    ],
)
def test_anything_else_beyond_the_head_is_damage(lines: list[LogLine], event: int) -> None:
    with pytest.raises(LogDamaged, match=f"damaged at event {event}:") as caught:
        beyond(lines, HEAD)
    assert "tdd log repair --why" in (caught.value.hint or "")


def test_a_batch_that_miscounts_its_events_is_damage() -> None:
    data, links = chain_batch(HEAD, [draft(1)], 0, 1, more=2)
    other, _ = chain_batch(head_after(HEAD, links), [draft(2)], 0, 1)

    with pytest.raises(LogDamaged, match="damaged at event 4: it comes after the end"):
        beyond([LogLine(HEAD.size, data[:-1]), LogLine(HEAD.size + len(data), other[:-1])], HEAD)


def test_a_line_that_was_not_written_after_the_last_one_is_damage_of_the_last_one() -> None:
    with pytest.raises(LogDamaged, match="damaged at event 2:"):
        list(follow(batch(1), 2, "f" * 64))


def link(seq: int, kind: str, offset: int) -> Link:
    return Link(Record(seq, 0, "main", None, {}, 1, GENESIS, kind, {}), f"h{seq}", offset, offset + 10)


def test_a_head_comes_back_as_it_was_written() -> None:
    head = LogHead(7, "ab", 900, 300)

    assert render(head) == b'{"seq":7,"hash":"ab","size":900,"checkpoint":300}\n'
    assert parse(render(head)) == head
    assert parse(render(head, inode=5)) == head


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\0\0",
        b'{"seq":7,"hash":"ab","size":900}',
        b'{"seq":7,"hash":"ab","size":9,"checkpoint":300}',
        b'{"seq":-7,"hash":"ab","size":900,"checkpoint":300}',
    ],
)
def test_anything_else_is_no_head(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(data)


def test_the_head_moves_along_and_remembers_the_last_checkpoint() -> None:
    links = [link(1, "noted", 0), link(2, CHECKPOINT, 10), link(3, "noted", 20)]

    assert head_after(EMPTY, links) == LogHead(3, "h3", 30, 10)
