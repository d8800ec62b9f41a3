"""What can be wrong with a log, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Finding:
    seq: int
    """The event, or the first of several."""
    kind: Kind
    message: str


@dataclass(frozen=True, slots=True)
class Verification:
    findings: tuple[Finding, ...]
    """In the order of the events."""
    events: int
    """How many stand in the log, checkpoints included."""

    @property
    def whole(self) -> bool:
        """A torn end is a write that never happened: the next append takes it away."""
        return all(finding.kind == "torn" for finding in self.findings)
