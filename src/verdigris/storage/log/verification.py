"""Verifies a log event by event, in bounded memory, and names what was tampered with."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Generic, Literal

from verdigris.core.errors import UserError
from verdigris.core.records import CHECKPOINT, GENESIS, Folding, Record, S, Schema
from verdigris.core.value import value
from verdigris.storage.log.files import LogFiles, storage_errors
from verdigris.storage.log.lines import EMPTY, Link, LogHead, LogLine, decode, encode, lines_forward, read

Kind = Literal[
    "edited",
    "removed",
    "reordered",
    "duplicated",
    "inserted",
    "cut-off",
    "torn",
    "checkpoint",
    "head",
    "unreadable",
]


@value
class LogFault:
    seq: int
    """The event, or the first of several."""
    kind: Kind
    message: str


@value
class Verification:
    findings: tuple[LogFault, ...]
    """The faults, in the order of the events."""
    events: int
    """How many events the log has, checkpoints included."""

    @property
    def whole(self) -> bool:
        """Whether there is no fault.

        A torn end is none: that write never happened, and the next append removes it.
        """
        return all(finding.kind == "torn" for finding in self.findings)


class FoldReplay(Generic[S]):
    def __init__(self, folding: Folding[S], schema: Schema) -> None:
        self._folding = folding
        self._schema = schema
        self._state = folding.initial()
        self._lost = False

    def lose(self) -> None:
        """An event is missing or changed: until the next checkpoint no state is known."""
        self._lost = True

    def objection(self, record: Record) -> str | None:
        """Folds the record; returns what is wrong with it, or None."""
        record = self._schema.lift(record)
        try:
            if record.type != CHECKPOINT:
                if not self._lost:
                    self._state = self._folding.step(self._state, record)
            elif self._schema.reads_checkpoint(record):
                return self._compare(record)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a fold raises on a forged event is a finding
            self.lose()
            return f"it cannot be folded: {error!r}"
        return None

    def _compare(self, record: Record) -> str | None:
        stored = record.data["state"]
        if self._lost:
            self._state, self._lost = self._folding.load(stored), False
            return None
        folded = decode(encode({"state": self._folding.dump(self._state)}))["state"]
        return None if folded == stored else "it is not what the events before it fold to"


class ChainScan:
    """Follows the chain line by line.

    A line whose number is too high is a suspect until the next line shows whether the chain goes on from it
    (then events are missing before it) or from the line before it (then it does not belong there). A line at
    a wrong place is a stray; only the end of the log shows whether it was moved, copied or inserted.
    """

    def __init__(self) -> None:
        self.findings: list[LogFault] = []
        self.breaks = 0
        """How often the chain was broken."""
        self.seq = 0
        self.hash = GENESIS
        self._suspect: Link | None = None
        self._strays: dict[str, int] = {}
        self._missing: list[tuple[int, int]] = []
        self._unreadable = 0
        self._numbers = array("Q")
        self._digests = array("Q")

    def note(self, seq: int, kind: Kind, message: str) -> None:
        if all((last.seq, last.kind) != (seq, kind) for last in self.findings[-1:]):
            self.findings.append(LogFault(seq, kind, message))

    def unreadable(self) -> None:
        self.breaks += 1
        self.note(self.seq + 1 + self._unreadable, "unreadable", "it cannot be read")
        self._unreadable += 1

    def see(self, link: Link) -> Iterator[Link]:
        """Takes the next line; yields the links by which the chain has grown."""
        seq, prev, suspect = link.record.seq, link.record.prev, self._suspect
        if prev == self.hash:
            self._leave_suspect()
            if seq != self.seq + 1:
                self._note_edited(self.seq + 1, f"its number was changed to {seq}")
            yield self._accept(link, self.seq + 1)
        elif suspect is not None and seq == suspect.record.seq + 1 and prev == suspect.hash:
            yield self._leap(suspect)
            yield self._accept(link, seq)
        elif seq == self.seq + 1:
            self._leave_suspect()
            self._note_contradiction(prev)
            yield self._accept(link, seq)
        elif seq <= self.seq:
            self._strays[link.hash] = seq
        elif suspect is not None and seq > suspect.record.seq:
            yield self._leap(suspect)
            yield from self.see(link)
        else:
            self._leave_suspect()
            self._suspect = link

    def end(self, last: int) -> Iterator[Link]:
        """Ends the scan of a log whose last event should be `last`; yields the links that remain."""
        suspect = self._suspect
        if suspect is not None and suspect.record.seq <= last:
            yield self._leap(suspect)
        self._leave_suspect()
        if self.seq < last:
            self._miss(self.seq + 1, last)
        self._judge_strays()
        for first, final in self._missing:
            kind: Kind = "cut-off" if first > self.seq else "removed"
            self.note(
                first, kind, "it is missing" if first == final else f"events {first} to {final} are missing"
            )

    @property
    def count(self) -> int:
        return len(self._numbers)

    def holds(self, seq: int, digest: str) -> bool:
        """Whether the chain has this event with this hash."""
        at = bisect_left(self._numbers, seq)
        return at < len(self._numbers) and self._numbers[at] == seq and self._digests[at] == _short(digest)

    def _accept(self, link: Link, seq: int) -> Link:
        self.seq, self.hash = seq, link.hash
        self._unreadable = 0
        self._numbers.append(seq)
        self._digests.append(_short(link.hash))
        return link

    def _leap(self, suspect: Link) -> Link:
        self._suspect = None
        self._miss(self.seq + 1, suspect.record.seq - 1)
        return self._accept(suspect, suspect.record.seq)

    def _miss(self, first: int, final: int) -> None:
        self.breaks += 1
        first += self._unreadable  # each line that cannot be read counts as one event
        if first <= final:
            self._missing.append((first, final))

    def _leave_suspect(self) -> None:
        if self._suspect is not None:
            self._strays[self._suspect.hash] = self._suspect.record.seq
            self._suspect = None

    def _note_edited(self, seq: int, message: str) -> None:
        self.breaks += 1
        self.note(seq, "edited", message)

    def _note_contradiction(self, prev: str) -> None:
        """Notes a line with the right number that was written after another line than the last one."""
        if self._strays.get(prev) == self.seq:
            del self._strays[prev]
            self.breaks += 1
            self.note(self.seq, "inserted", "it stands before the right event of the same number")
        elif self.seq == 0:
            self._note_edited(1, "it names an event before the first")
        elif self._unreadable == 0:
            self._note_edited(self.seq, f"it is not the one that event {self.seq + 1} was written after")

    def _judge_strays(self) -> None:
        for digest, seq in self._strays.items():
            if self._fill(seq):
                self.note(seq, "reordered", "it stands in another place than it was written")
            elif self.holds(seq, digest):
                self.note(seq, "duplicated", "it stands there twice")
            else:
                self.note(seq, "inserted", "nothing was written after it, and another event has its number")

    def _fill(self, seq: int) -> bool:
        """Marks an event as found; returns whether it was missing."""
        for at, (first, final) in enumerate(self._missing):
            if first <= seq <= final:
                rest = ((first, seq - 1), (seq + 1, final))
                self._missing[at : at + 1] = [(low, high) for low, high in rest if low <= high]
                return True
        return False


def _short(digest: str) -> int:
    return int(digest[:16], 16)


_MISSING = "the head record is missing"


def verify(files: LogFiles, folding: Folding[S], schema: Schema) -> Verification:
    with ExitStack() as opened:
        with files.reading() as there:
            log = opened.enter_context(files.open_log())
            if not there:
                return Verification((), 0)
            check = LogCheck(files, log, FoldReplay(folding, schema))
            if not check.settled:
                return check.run()
        # The part up to the head never changes: so no writer has to wait for us.
        return check.run()


class LogCheck(Generic[S]):
    def __init__(self, files: LogFiles, log: int | None, replay: FoldReplay[S]) -> None:
        self._files = files
        self._log = log
        self._replay = replay
        self._scan = ChainScan()
        self._breaks = 0
        self._torn = False
        self._here = EMPTY
        self._more = 0
        self._at_head = EMPTY
        """The head that the record should have."""
        self._batches_beyond = 0
        self._headless = _MISSING
        self._size = 0 if log is None else os.fstat(log).st_size
        try:
            self.head = files.head(log)
        except ValueError:
            self.head, self._headless = None, "the head record cannot be read"

    @property
    def settled(self) -> bool:
        """Whether the log ends at its head: what is after it, the next writer would change."""
        return self.head is not None and self.head.size == self._size

    def run(self) -> Verification:
        scan = self._scan
        if self._log is not None:
            with storage_errors(self._files.control):
                self._read(lines_forward(self._log, 0, self._size))
        self._take(scan.end(scan.seq if self.head is None else self.head.seq))
        if self.head is not None:
            self._compare(self.head)
        elif self._size or self._headless != _MISSING:
            scan.note(scan.seq, "head", self._headless)
        findings = sorted(scan.findings, key=lambda finding: finding.seq)
        return Verification(tuple(findings), scan.count)

    def _read(self, lines: Iterable[LogLine]) -> None:
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

    def _compare(self, head: LogHead) -> None:
        scan, at = self._scan, self._at_head
        if scan.seq < head.seq:
            return  # the log is cut off, which is noted already
        named = head.seq == 0 or at.hash == head.hash
        if not named and all(finding.seq != head.seq for finding in scan.findings):
            scan.note(head.seq, "edited", "it is not the one that the head record names")
        unfinished = self._torn or (scan.seq > head.seq and self._more > 0)
        if self._batches_beyond > 1 or (self._batches_beyond and unfinished):
            scan.note(head.seq + 1, "head", "the log goes on from here, beyond its head record")
        elif unfinished:
            scan.note(head.seq + 1, "torn", "it was not written whole; the next append takes it away")
        elif not scan.findings and (head.size, head.checkpoint) != (at.size, at.checkpoint):
            scan.note(head.seq, "head", "the head record names another place in the log")
