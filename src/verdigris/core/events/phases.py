"""Refactor, off and on, and a log that was repaired."""

from __future__ import annotations

from verdigris.core.events.event import Event
from verdigris.core.value import value


@value
class RefactorBegun(Event):
    tree: str
    record: str
    """Blob with every id and its status before."""
    uncovered: bool = False
    foundation: str = ""
    """Blob with what runs below the tests, by content hash."""
    founded: int = 0


@value
class RefactorEnded(Event):
    verdict: str
    tree: str
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()


@value
class SwitchedOff(Event):
    why: str


@value
class SwitchedOn(Event):
    tree: str


@value
class LogRepaired(Event):
    kept: int
    lost: int
    why: str
    damaged: str
