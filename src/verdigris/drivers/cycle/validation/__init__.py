"""Validates the tests of a cycle: checks, each with findings and with notes on what it could not try."""

from __future__ import annotations

from verdigris.core.state import BLOCKER, CONCERNS, PASS
from verdigris.core.value import value


@value
class ValidationFinding:
    check: str
    """`coverage`, `red`, `vacuity`, `strength`, `mocks` or `held-out`."""
    level: str
    """`concern`, or `blocker` where only a person can help."""
    place: str
    """`path:line`."""
    what: str
    """What is wrong, and what to do."""

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


@value
class ValidationCheck:
    name: str
    findings: tuple[ValidationFinding, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be tried, and why."""


@value
class Validation:
    checks: tuple[ValidationCheck, ...]

    @property
    def verdict(self) -> str:
        """`PASS`, `CONCERNS` or `BLOCKER`."""
        levels = {finding.level for finding in self.findings}
        return BLOCKER if "blocker" in levels else CONCERNS if levels else PASS

    @property
    def findings(self) -> tuple[ValidationFinding, ...]:
        return tuple(finding for check in self.checks for finding in check.findings)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(note for check in self.checks for note in check.notes)
