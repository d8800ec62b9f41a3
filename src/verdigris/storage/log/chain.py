"""Whether lines follow one another as they were written; what does not is damage, with the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from verdigris.core.errors import LogDamaged
from verdigris.core.record import Record, unflatten
from verdigris.storage.log.format import decode, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verdigris.storage.log.head import Head
    from verdigris.storage.log.lines import Line

WAY_OUT = "see all of it with `tdd log verify`; keep what is whole with `tdd log repair --why WHY`"


class Link(NamedTuple):
    record: Record
    hash: str
    offset: int
    end: int


class Tail(NamedTuple):
    """What stands in the log beyond its head record."""

    batch: tuple[Link, ...]
    """The batch of a writer that was killed before it could replace the head: it counts."""
    torn: bool
    """A batch that was not written whole: it never was."""


def damaged(seq: int | None, what: str) -> LogDamaged:
    where = "" if seq is None else f" at event {seq}"
    return LogDamaged(f"the log is damaged{where}: {what}", hint=WAY_OUT)


def read(line: Line) -> Link:
    """ValueError where the line is no record."""
    return Link(unflatten(decode(line.text)), digest(line.text), line.offset, line.end)


def follow(lines: Iterable[Line], seq: int, prev: str) -> Iterator[Link]:
    """The links after the one with this number and hash; LogDamaged where they are not its successors."""
    for line in lines:
        try:
            link = read(line)
        except ValueError as error:
            raise damaged(seq + 1, "it cannot be read") from error
        if link.record.seq != seq + 1:
            raise damaged(seq + 1, f"event {link.record.seq} stands in its place")
        if link.record.prev != prev:
            raise damaged(max(seq, 1), f"it is not the one that event {seq + 1} was written after")
        seq, prev = seq + 1, link.hash
        yield link


def beyond(lines: Iterable[Line], head: Head) -> Tail:
    """What the lines after the head are: nothing, a torn batch, one whole batch; anything else is damage."""
    whole, torn = [], False
    for line in lines:
        if line.whole:
            whole.append(line)
        else:
            torn = True
    batch: list[Link] = []
    for link in follow(whole, head.seq, head.hash):
        if batch and link.record.more != batch[-1].record.more - 1:
            raise damaged(link.record.seq, "it stands beyond the head record")
        batch.append(link)
    complete = bool(batch) and batch[-1].record.more == 0
    if complete and torn:
        raise damaged(batch[-1].record.seq, "it stands beyond the head record")
    return Tail(tuple(batch) if complete else (), torn=bool(whole or torn) and not complete)
