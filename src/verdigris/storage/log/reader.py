"""Reads the events of the log and its state, checking the chain."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic

from verdigris.core.errors import LogDamaged
from verdigris.core.records import CHECKPOINT, GENESIS, Folding, Record, S, Schema, unflatten
from verdigris.core.value import value
from verdigris.storage.log.files import LogFiles, storage_errors
from verdigris.storage.log.light import digest
from verdigris.storage.log.lines import (
    EMPTY,
    Link,
    LogHead,
    beyond,
    damage,
    decode,
    follow,
    head_after,
    lines_backward,
    lines_forward,
    read,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.storage.log.lines import LogLine


def records(files: LogFiles, schema: Schema, *, start: int, reverse: bool) -> Iterator[Record]:
    with ExitStack() as stack:
        # Only the present part is read, and that never changes: so no writer has to wait for the reader.
        with files.reading() as there:
            log = stack.enter_context(files.open_log())
            if not there or log is None:
                return
            head, _, _ = bounds(files, log)
        stack.enter_context(storage_errors(files.control))
        found = _read_backward(log, head, start) if reverse else _read_forward(log, head, start)
        for record in found:
            event = schema.lift(record)
            if event.type != CHECKPOINT:
                yield event


def _read_forward(log: int, head: LogHead, start: int) -> Iterator[Record]:
    if start > 1:  # the end of the log is read from its last event, which the head proves
        yield from reversed(list(_read_backward(log, head, start)))
        return
    seen = GENESIS
    for link in follow(lines_forward(log, 0, head.size), 0, GENESIS):
        seen = link.hash
        yield link.record
    if seen != head.hash:
        raise damage(head.seq, "it is not the one that the head record names")


@value
class ReadPart(Generic[S]):
    """What a reader made of the log so far."""

    file: tuple[int, int]
    """Device and inode: a repaired log is another file."""
    head: LogHead
    folded: S


def fold(
    files: LogFiles, schema: Schema, start: S, step: Callable[[S, Record], S], known: ReadPart[S] | None
) -> ReadPart[S] | None:
    """Folds all events but checkpoints; `known` spares those that it has. None where there is no log."""
    with ExitStack() as stack:
        with files.reading() as there:
            log = stack.enter_context(files.open_log())
            if not there or log is None:
                return None
            head, _, _ = bounds(files, log)
        stack.enter_context(storage_errors(files.control))
        file = (os.fstat(log).st_dev, os.fstat(log).st_ino)
        if known is not None and known.file == file and known.head.size <= head.size:
            with suppress(LogDamaged):  # somebody wrote another log into the file
                return _fold_on(log, schema, step, known, head)
        return _fold_on(log, schema, step, ReadPart(file, EMPTY, start), head)


def _fold_on(
    log: int, schema: Schema, step: Callable[[S, Record], S], part: ReadPart[S], head: LogHead
) -> ReadPart[S]:
    """Folds the records after `part`, up to `head`."""
    folded, seen = part.folded, part.head.hash
    for link in follow(lines_forward(log, part.head.size, head.size), part.head.seq, seen):
        seen = link.hash
        event = schema.lift(link.record)
        folded = folded if event.type == CHECKPOINT else step(folded, event)
    if seen != head.hash:
        raise damage(head.seq, "it is not the one that the head record names")
    return ReadPart(part.file, head, folded)


def _read_backward(log: int, head: LogHead, start: int) -> Iterator[Record]:
    seq, expected = head.seq, head.hash
    for text in lines_backward(log, head.size):
        if digest(text) != expected:
            raise damage(seq, "its hash is not the one recorded after it")
        record = unflatten(decode(text))
        if record.seq < start:
            return
        yield record
        seq, expected = seq - 1, record.prev


@value
class LogView(Generic[S]):
    head: LogHead
    recorded: LogHead | None
    """The head on disk. It is older than `head` if a writer was killed before it could replace it."""
    state: S
    events: int
    """The number of events since the last checkpoint."""
    since: int
    """The offset of the first of these events."""


def bounds(files: LogFiles, log: int | None) -> tuple[LogHead, LogHead | None, tuple[Link, ...]]:
    """The head as it should be, the head on disk, and the whole batch between the two."""
    try:
        recorded = files.head(log)
    except ValueError as error:
        raise damage(None, "its head record cannot be read") from error
    size = 0 if log is None else os.fstat(log).st_size
    head = recorded or EMPTY
    if recorded is None and size:
        raise damage(None, "its head record is missing")
    if size < head.size:
        raise damage(head.seq, f"it is cut off, {head.size - size} bytes before its end")
    if log is None or size == head.size:
        return head, recorded, ()
    tail = beyond(lines_forward(log, head.size, size), head)
    return head_after(head, tail.batch), recorded, tail.batch


_MOST_FOLDED, _LONGEST_FOLDED = 16, 1 << 20
"""The number of views that a process remembers, and of bytes that a remembered view may be folded from."""
_FOLDED: dict[tuple[object, ...], tuple[Schema, LogView[Any]]] = {}
"""By all that a view is made from: a process that opens a log many times folds the same bytes once."""


def view(
    files: LogFiles, log: int | None, folding: Folding[S], schema: Schema, known: LogView[S] | None = None
) -> LogView[S]:
    """Folds the log. `known`: an earlier view of the same bytes; it is valid while the head is the same."""
    head, recorded, batch = bounds(files, log)
    if known is not None and known.head == head == recorded:
        return known
    if log is None:
        return LogView(head, recorded, folding.initial(), 0, 0)
    start = (recorded or EMPTY).checkpoint
    length = head.size - start
    text = os.pread(log, length, start) if length <= _LONGEST_FOLDED else b""
    key = (folding, head, recorded, text)
    remembered = _FOLDED.get(key)
    if remembered is not None and remembered[0] is schema:
        return remembered[1]
    found = _fold(log, head, recorded, batch, folding, schema)
    # If the checkpoint could not be read, the view was folded from older bytes, which the key does not have.
    if len(text) == length and (not start or found.since > start):
        _FOLDED[key] = schema, found
        if len(_FOLDED) > _MOST_FOLDED:
            _FOLDED.pop(next(iter(_FOLDED)), None)
    return found


def _fold(
    log: int,
    head: LogHead,
    recorded: LogHead | None,
    batch: tuple[Link, ...],
    folding: Folding[S],
    schema: Schema,
) -> LogView[S]:
    state, events, since = folding.initial(), 0, 0
    for link in chain(_since_checkpoint(log, recorded or EMPTY, schema), batch):
        record = schema.lift(link.record)
        if schema.reads_checkpoint(record):
            state, events, since = folding.load(record.data["state"]), 0, link.end
        elif record.type != CHECKPOINT:
            state, events = folding.step(state, record), events + 1
    return LogView(head, recorded, state, events, since)


def _since_checkpoint(log: int, head: LogHead, schema: Schema) -> Iterator[Link]:
    """The links from the last checkpoint to the head; all links if an older version wrote the checkpoint."""
    seq, prev = 0, GENESIS
    lines = lines_forward(log, head.checkpoint, head.size)
    if head.checkpoint:
        first = _checkpoint(lines, head)
        if schema.reads_checkpoint(schema.lift(first.record)):
            seq, prev = first.record.seq, first.hash
            yield first
        else:
            lines = lines_forward(log, 0, head.size)
    for link in follow(lines, seq, prev):
        seq, prev = link.record.seq, link.hash
        yield link
    if (seq, prev) != (head.seq, head.hash):
        raise damage(head.seq, "it is not the one that the head record names")


def _checkpoint(lines: Iterator[LogLine], head: LogHead) -> Link:
    with suppress(StopIteration, ValueError):
        link = read(next(lines))
        if link.record.type == CHECKPOINT:
            return link
    raise damage(head.seq, "the head record names no checkpoint before it")
