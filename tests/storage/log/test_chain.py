from __future__ import annotations

import pytest

from storage.log.tally import draft
from verdigris.core.errors import LogDamaged
from verdigris.storage.log.lines import EMPTY, LogLine, Tail, beyond, follow, head_after
from verdigris.storage.log.log import chain_batch

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
