"""What is kept of a damaged log, and how it takes the damaged one's place: whole, or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.storage.log.batch import chained
from verdigris.storage.log.chain import read
from verdigris.storage.log.files import HEAD, LOG, REPAIRED_HEAD, storing, write_all
from verdigris.storage.log.head import EMPTY, Head, reached, render
from verdigris.storage.log.lines import BLOCK, forward
from verdigris.storage.log.replay import Replay
from verdigris.storage.log.verify import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from verdigris.core.record import Draft, Folding, S
    from verdigris.core.upcast import Schema
    from verdigris.storage.log.files import Files
    from verdigris.storage.log.lines import Line

REPAIRED_LOG = "events.repaired.jsonl"
DAMAGED_LOG = "events.damaged-{}.jsonl"


@dataclass(frozen=True, slots=True)
class Repaired:
    kept: int
    """Events of the old log that stand in the new one, checkpoints included."""
    lost: int
    damaged: str | None
    """Name of the damaged log, beside the new one; None where nothing was wrong, or no log was there."""


def repair(
    files: Files, folding: Folding[S], schema: Schema, draft: Draft, clock: Callable[[], int]
) -> Repaired:
    """The draft says why; what was kept and lost is added to it."""
    with files.writing(), files.opened() as log:
        files.settle_repair(log)
        check = Check(files, log, Replay(folding, schema))
        found = check.run()
        if found.whole:
            return Repaired(found.events, 0, None)
        with storing(files.control):
            kept = _kept(log, check.head, Replay(folding, schema))
            lost = max(found.events, 0 if check.head is None else check.head.seq) - kept.seq
            damaged = None if log is None else _keep(files)
            data = {"kept": kept.seq, "lost": lost, **draft.data, "damaged": damaged}
            line, links = chained(kept, [replace(draft, data=data)], clock(), schema.current)
            _install(files, log, kept, line, reached(kept, links))
        return Repaired(kept.seq, lost, damaged)


def _kept(log: int | None, head: Head | None, replay: Replay[S]) -> Head:
    return EMPTY if log is None else longest(forward(log, 0, os.fstat(log).st_size), head, replay)


def longest(lines: Iterable[Line], head: Head | None, replay: Replay[S]) -> Head:
    """Where the longest run of whole batches ends that no line, checkpoint or head contradicts."""
    here = kept = before = EMPTY
    for line in lines:
        try:
            link = read(line)
        except ValueError:
            return kept
        if not line.whole or link.record.seq != here.seq + 1:
            return kept
        if link.record.prev != here.hash:
            return before if kept is here else kept
        if replay.objection(link.record) or (
            head is not None and link.record.seq == head.seq and link.hash != head.hash
        ):
            return kept
        here = here.after(link)
        if link.record.more == 0:
            before, kept = kept, here
    return kept


def _keep(files: Files) -> str:
    """Give the damaged log a second name; a repair that was killed may have done so already."""
    for number in count(1):
        name = DAMAGED_LOG.format(number)
        try:
            os.link(files.path(LOG), files.path(name))
        except FileExistsError:
            if not Path(files.path(LOG)).samefile(files.path(name)):
                continue
        return name
    raise AssertionError  # `count` never ends


def _install(files: Files, log: int | None, kept: Head, line: bytes, head: Head) -> None:
    """The rename of the log is the moment of the repair: from then on `files.head` finds its new head."""
    try:
        inode = _write(files.path(REPAIRED_LOG), log, kept, line)
        files.put(REPAIRED_HEAD + ".new", render(head, inode=inode), sync=True)
        files.rename(REPAIRED_HEAD + ".new", REPAIRED_HEAD)
        files.rename(REPAIRED_LOG, LOG)
        files.rename(REPAIRED_HEAD, HEAD)
    except OSError:
        for name in (REPAIRED_LOG, REPAIRED_HEAD + ".new"):
            with suppress(OSError):
                files.remove(name)
        raise


def _write(path: str, log: int | None, kept: Head, line: bytes) -> int:
    """The kept part of the log and the line after it in a file of their own; its inode."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        for offset in range(0, kept.size, BLOCK):
            assert log is not None  # noqa: S101 - nothing is kept of no log
            write_all(fd, os.pread(log, min(BLOCK, kept.size - offset), offset), offset)
        write_all(fd, line, kept.size)
        os.fsync(fd)
        return os.fstat(fd).st_ino
    finally:
        os.close(fd)
