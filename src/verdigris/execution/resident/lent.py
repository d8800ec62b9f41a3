"""A process that somebody else starts for us: the resident's child, which makes one run."""

from __future__ import annotations

import os

from verdigris.execution.spawning import Child
from verdigris.execution.starting import Started
from verdigris.runners.reporter.verdigris_reporter.line import Broken, Line

TYPE_CHECKING = False  # see starting.py
if TYPE_CHECKING:
    import _socket
    from typing import Any

KILLED = -9
"""What became of a child whose parent does not say."""
PATIENCE = 10.0


class LentChild(Child):
    """Its parent says when it has ended, and reaps it when we hang up: till then its number is its own."""

    __slots__ = ("line", "lost")

    def __init__(self, output: int, line: Line) -> None:
        super().__init__(0, output)
        self.line = line
        self.lost = False
        """Nobody said how it ended."""

    def arrived(self) -> bool:
        """Whether it is there, and in its room."""
        if not self.pid:
            number = self._said("pid", PATIENCE)
            self.pid = 0 if number is None else number
        return bool(self.pid)

    def poll(self) -> int | None:
        return self._heard(0)

    def wait(self) -> int:
        code = self._heard(PATIENCE)
        if code is None:
            self.lost, self.returncode = True, KILLED
        return self.returncode or 0

    def ended(self) -> bool:
        return self.poll() is not None

    def end_of(self) -> int:
        return os.dup(self.line.fileno())

    def _heard(self, timeout: float) -> int | None:
        if self.returncode is None:
            self.returncode = self._said("code", timeout)
            if self.returncode is None and self.line.is_over:
                self.lost, self.returncode = True, KILLED
        return self.returncode

    def _said(self, what: str, timeout: float) -> int | None:
        try:
            said = self.line.receive(timeout)
        except (Broken, OSError):
            return None
        number: Any = None if said is None else said[0].get(what)
        return number if isinstance(number, int) else None


class Lent(Started):
    """`maker` is our own child, who makes the room and asks for the process."""

    resident = True

    def __init__(self, child: LentChild, ours: _socket.socket, maker: int) -> None:
        super().__init__(child, ours)
        self._lent = child
        self._maker = maker

    def arrived(self) -> bool:
        self._reap()
        return self._lent.arrived()

    @property
    def lost(self) -> bool:  # type: ignore[override]  # it is only read
        return self._lent.lost

    def end(self) -> None:
        """One that never came is ended by its parent, who is told that we have gone."""
        self._reap()
        if self._lent.pid:
            super().end()
        else:
            os.close(self.child.output)
            if self.ours is not None:
                self.ours.close()
        self._lent.line.close()

    def _reap(self) -> None:
        if self._maker:
            os.waitpid(self._maker, 0)
            self._maker = 0
