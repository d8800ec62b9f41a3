"""How the lines of a damaged log are told apart: which events were edited, removed, moved or slipped in."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

from verdigris.core.record import GENESIS
from verdigris.storage.log.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.storage.log.chain import Link
    from verdigris.storage.log.finding import Kind


class Scan:
    """The chain as far as it has been followed.

    A line whose number leaps ahead is a suspect until the next line shows whether the chain goes on from it
    (then events are missing before it) or from the line before it (then it does not belong there). Lines out
    of place are strays; only the end shows whether they were moved, copied or slipped in.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.breaks = 0
        """How often the chain was seen broken."""
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
            self.findings.append(Finding(seq, kind, message))

    def unreadable(self) -> None:
        self.breaks += 1
        self.note(self.seq + 1 + self._unreadable, "unreadable", "it cannot be read")
        self._unreadable += 1

    def see(self, link: Link) -> Iterator[Link]:
        """Take in the next line; the links by which the chain has grown."""
        seq, prev, suspect = link.record.seq, link.record.prev, self._suspect
        if prev == self.hash:
            self._leave_suspect()
            if seq != self.seq + 1:
                self._edited(self.seq + 1, f"its number was changed to {seq}")
            yield self._accept(link, self.seq + 1)
        elif suspect is not None and seq == suspect.record.seq + 1 and prev == suspect.hash:
            yield self._leap(suspect)
            yield self._accept(link, seq)
        elif seq == self.seq + 1:
            self._leave_suspect()
            self._contradicted(prev)
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
        """No line follows, and the log should have ended with event `last`; the links that remain."""
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
        first += self._unreadable  # lines that cannot be read stand in for as many events
        if first <= final:
            self._missing.append((first, final))

    def _leave_suspect(self) -> None:
        if self._suspect is not None:
            self._strays[self._suspect.hash] = self._suspect.record.seq
            self._suspect = None

    def _edited(self, seq: int, message: str) -> None:
        self.breaks += 1
        self.note(seq, "edited", message)

    def _contradicted(self, prev: str) -> None:
        """The next number follows, but after another line than the last one."""
        if self._strays.get(prev) == self.seq:
            del self._strays[prev]
            self.breaks += 1
            self.note(self.seq, "inserted", "it stands before the event that has its number by right")
        elif self.seq == 0:
            self._edited(1, "it names an event before the first")
        elif self._unreadable == 0:
            self._edited(self.seq, f"it is not the one that event {self.seq + 1} was written after")

    def _judge_strays(self) -> None:
        for digest, seq in self._strays.items():
            if self._fill(seq):
                self.note(seq, "reordered", "it stands in another place than it was written")
            elif self.holds(seq, digest):
                self.note(seq, "duplicated", "it stands there twice")
            else:
                self.note(seq, "inserted", "nothing was written after it, and another event has its number")

    def _fill(self, seq: int) -> bool:
        """Whether the event was missing; it no longer is."""
        for at, (first, final) in enumerate(self._missing):
            if first <= seq <= final:
                rest = ((first, seq - 1), (seq + 1, final))
                self._missing[at : at + 1] = [(low, high) for low, high in rest if low <= high]
                return True
        return False


def _short(digest: str) -> int:
    return int(digest[:16], 16)
