"""What the log says now: its last checkpoint, the events after it, and whether they are what was written."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Generic

from verdigris.core.record import CHECKPOINT, GENESIS, S
from verdigris.core.value import value
from verdigris.storage.log.chain import Link, beyond, damaged, follow, read
from verdigris.storage.log.head import EMPTY, Head, reached
from verdigris.storage.log.lines import forward

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.record import Folding
    from verdigris.core.upcast import Schema
    from verdigris.storage.log.files import Files
    from verdigris.storage.log.lines import Line


@value
class View(Generic[S]):
    head: Head
    recorded: Head | None
    """What the disk has as head: behind `head` where a writer was killed before it could replace it."""
    state: S
    events: int
    """Since the last checkpoint."""
    since: int
    """Offset of the first of them."""


def bounds(files: Files, log: int | None) -> tuple[Head, Head | None, tuple[Link, ...]]:
    """The head, as it should be; as it is on the disk; and the whole batch between the two."""
    try:
        recorded = files.head(log)
    except ValueError as error:
        raise damaged(None, "its head record cannot be read") from error
    size = 0 if log is None else os.fstat(log).st_size
    head = recorded or EMPTY
    if recorded is None and size:
        raise damaged(None, "its head record is missing")
    if size < head.size:
        raise damaged(head.seq, f"it is cut off, {head.size - size} bytes before its end")
    if log is None or size == head.size:
        return head, recorded, ()
    tail = beyond(forward(log, head.size, size), head)
    return reached(head, tail.batch), recorded, tail.batch


def view(files: Files, log: int | None, folding: Folding[S], schema: Schema) -> View[S]:
    head, recorded, batch = bounds(files, log)
    state, events, since = folding.initial(), 0, 0
    if log is None:
        return View(head, recorded, state, events, since)
    for link in chain(_since_checkpoint(log, recorded or EMPTY, schema), batch):
        record = schema.lift(link.record)
        if schema.reads_checkpoint(record):
            state, events, since = folding.load(record.data["state"]), 0, link.end
        elif record.type != CHECKPOINT:
            state, events = folding.step(state, record), events + 1
    return View(head, recorded, state, events, since)


def _since_checkpoint(log: int, head: Head, schema: Schema) -> Iterator[Link]:
    """The links from the last checkpoint to the head; all of them where an older version wrote it."""
    seq, prev = 0, GENESIS
    lines = forward(log, head.checkpoint, head.size)
    if head.checkpoint:
        first = _checkpoint(lines, head)
        if schema.reads_checkpoint(schema.lift(first.record)):
            seq, prev = first.record.seq, first.hash
            yield first
        else:
            lines = forward(log, 0, head.size)
    for link in follow(lines, seq, prev):
        seq, prev = link.record.seq, link.hash
        yield link
    if (seq, prev) != (head.seq, head.hash):
        raise damaged(head.seq, "it is not the one that the head record names")


def _checkpoint(lines: Iterator[Line], head: Head) -> Link:
    with suppress(StopIteration, ValueError):
        link = read(next(lines))
        if link.record.type == CHECKPOINT:
            return link
    raise damaged(head.seq, "the head record names no checkpoint before it")
