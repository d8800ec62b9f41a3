"""What is wrong with a log, event by event: all of it is read, in bounded memory."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Generic

from verdigris.core.record import CHECKPOINT, S
from verdigris.storage.log.chain import Link, read
from verdigris.storage.log.files import storing
from verdigris.storage.log.finding import Verification
from verdigris.storage.log.head import EMPTY, Head
from verdigris.storage.log.lines import forward
from verdigris.storage.log.replay import Replay
from verdigris.storage.log.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.record import Folding
    from verdigris.core.upcast import Schema
    from verdigris.storage.log.files import Files
    from verdigris.storage.log.lines import Line


_MISSING = "the head record is missing"


def verify(files: Files, folding: Folding[S], schema: Schema) -> Verification:
    with ExitStack() as opened:
        with files.reading() as there:
            log = opened.enter_context(files.opened())
            if not there:
                return Verification((), 0)
            check = Check(files, log, Replay(folding, schema))
            if not check.settled:
                return check.run()
        # All up to the head never changes: no writer has to wait for us.
        return check.run()


class Check(Generic[S]):
    def __init__(self, files: Files, log: int | None, replay: Replay[S]) -> None:
        self._files = files
        self._log = log
        self._replay = replay
        self._scan = Scan()
        self._breaks = 0
        self._torn = False
        self._here = EMPTY
        self._more = 0
        self._at_head = EMPTY
        """Where the head record should point."""
        self._batches_beyond = 0
        self._headless = _MISSING
        self._size = 0 if log is None else os.fstat(log).st_size
        try:
            self.head = files.head(log)
        except ValueError:
            self.head, self._headless = None, "the head record cannot be read"

    @property
    def settled(self) -> bool:
        """Whether nothing stands beyond the head, where the next writer would change it."""
        return self.head is not None and self.head.size == self._size

    def run(self) -> Verification:
        scan = self._scan
        if self._log is not None:
            with storing(self._files.control):
                self._read(forward(self._log, 0, self._size))
        self._take(scan.end(scan.seq if self.head is None else self.head.seq))
        if self.head is not None:
            self._compare(self.head)
        elif self._size or self._headless != _MISSING:
            scan.note(scan.seq, "head", self._headless)
        findings = sorted(scan.findings, key=lambda finding: finding.seq)
        return Verification(tuple(findings), scan.count)

    def _read(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if not line.whole:
                self._torn = True
                return
            try:
                link = read(line)
            except ValueError:
                self._scan.unreadable()
            else:
                self._take(self._scan.see(link))

    def _take(self, links: Iterable[Link]) -> None:
        for link in links:
            if self._scan.breaks != self._breaks:
                self._breaks = self._scan.breaks
                self._replay.lose()
            record = link.record
            if objection := self._replay.objection(record):
                self._scan.note(
                    record.seq, "checkpoint" if record.type == CHECKPOINT else "unreadable", objection
                )
            self._here, self._more = self._here.after(link), record.more
            if self.head is not None and record.seq == self.head.seq:
                self._at_head = self._here
            elif self.head is not None and record.seq > self.head.seq and record.more == 0:
                self._batches_beyond += 1

    def _compare(self, head: Head) -> None:
        scan, at = self._scan, self._at_head
        if scan.seq < head.seq:
            return  # cut off, and said so
        named = head.seq == 0 or scan.holds(head.seq, head.hash)
        if not named and all(finding.seq != head.seq for finding in scan.findings):
            scan.note(head.seq, "edited", "it is not the one that the head record names")
        unfinished = self._torn or (scan.seq > head.seq and self._more > 0)
        if self._batches_beyond > 1 or (self._batches_beyond and unfinished):
            scan.note(head.seq + 1, "head", "the log goes on from here, beyond its head record")
        elif unfinished:
            scan.note(head.seq + 1, "torn", "it was not written whole; the next append takes it away")
        elif not scan.findings and (head.size, head.checkpoint) != (at.size, at.checkpoint):
            scan.note(head.seq, "head", "the head record names another place in the log")
