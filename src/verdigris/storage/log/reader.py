"""The events of the log in either direction, each checked against its neighbour as it is read."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from verdigris.core.record import CHECKPOINT, GENESIS, unflatten
from verdigris.storage.log.chain import damaged, follow, read
from verdigris.storage.log.files import storing
from verdigris.storage.log.format import decode, digest
from verdigris.storage.log.lines import BLOCK, backward, forward
from verdigris.storage.log.view import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.record import Record
    from verdigris.core.upcast import Schema
    from verdigris.storage.log.files import Files
    from verdigris.storage.log.head import Head


def records(files: Files, schema: Schema, *, start: int, reverse: bool) -> Iterator[Record]:
    with ExitStack() as stack:
        # Only what stands now is read, and that never changes: no writer has to wait for the reader.
        with files.reading() as there:
            log = stack.enter_context(files.opened())
            if not there or log is None:
                return
            head, _, _ = bounds(files, log)
        stack.enter_context(storing(files.control))
        found = _backward(log, head, start) if reverse else _forward(log, head, start)
        for record in found:
            event = schema.lift(record)
            if event.type != CHECKPOINT:
                yield event


def _forward(log: int, head: Head, start: int) -> Iterator[Record]:
    offset = _near(log, head, start)
    lines = forward(log, offset, head.size)
    seq, prev = 0, GENESIS
    if offset:
        first = read(next(lines))
        seq, prev = first.record.seq, first.hash
    for link in follow(lines, seq, prev):
        seq, prev = link.record.seq, link.hash
        if seq >= start:
            yield link.record
    if prev != head.hash:
        raise damaged(head.seq, "it is not the one that the head record names")


def _near(log: int, head: Head, start: int) -> int:
    """Where a line before event `start` begins, not far from it; 0 where none is before it."""
    low, high = 0, head.size
    while high - low > BLOCK:
        middle = (low + high) // 2
        lines = forward(log, middle, high)
        next(lines, None)
        line = next(lines, None)
        try:
            before = line is not None and line.whole and read(line).record.seq < start
        except ValueError as error:
            raise damaged(None, f"the line at byte {middle} or after it cannot be read") from error
        if line is not None and before:
            low = line.offset
        else:
            high = middle
    return low


def _backward(log: int, head: Head, start: int) -> Iterator[Record]:
    seq, expected = head.seq, head.hash
    for text in backward(log, head.size):
        if digest(text) != expected:
            raise damaged(seq, "its hash is not the one recorded after it")
        record = unflatten(decode(text))
        if record.seq < start:
            return
        yield record
        seq, expected = seq - 1, record.prev
