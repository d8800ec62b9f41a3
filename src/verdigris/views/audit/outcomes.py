"""How each outcome of an audit is shown: its mark, its colour, what it means, and what to do about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value
from verdigris.drivers.audit.report import BLAMELESS, SOUND, AuditOutcome
from verdigris.views.lines import count_of

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import AuditReport

Level = Literal["error", "warning", "note"]


@value
class FindingKind:
    """What is the same for every unit of an outcome, and for every finding of a rule."""

    name: str
    mark: str
    """A shape of its own, so that nobody needs colour to tell two of them apart."""
    means: str
    next: str = ""
    """What whoever made the change can do; empty where there is nothing to do."""
    level: Level = "note"


KINDS: dict[str, FindingKind] = {
    kind.name: kind
    for kind in (
        FindingKind(
            *(AuditOutcome.REGRESSED, "✗", "a test that passed before fails now"),
            "make it pass again, or change the test in a commit that says why",
            "error",
        ),
        FindingKind(
            *(AuditOutcome.WEAKENED, "▼", "a test was removed, skipped, or asserts less than before"),
            "bring the check back, or write one that asks at least as much",
            "error",
        ),
        FindingKind(
            *(AuditOutcome.HOLLOW, "◌", "the new tests pass whatever they assert"),
            "write a test that fails when the code is wrong",
            "error",
        ),
        FindingKind(
            *(AuditOutcome.UNTESTED, "○", "source changed, and no test was red before"),
            "add a test that fails without this change and passes with it",
            "error",
        ),
        FindingKind(
            *("uncovered", "┆", "a changed line that no test runs"),
            "add a test that runs it, or take the line out",
            "warning",
        ),
        FindingKind("concern", "!", "something that honest code rarely has", "look at it", "warning"),
        FindingKind(
            *(AuditOutcome.UNVERIFIED, "?", "it could not be told"),
            "see its reason: an environment, a suite that runs, or more time",
        ),
        FindingKind(
            *(AuditOutcome.INFRASTRUCTURE, "≠", "the machine failed, not the change"),
            "run the audit again: what is done already is not done twice",
        ),
        FindingKind(
            AuditOutcome.TEST_DRIVEN, "●", "a test was red before, for the right reason, and is green after"
        ),
        FindingKind(
            AuditOutcome.CHARACTERIZATION, "◆", "new tests pass before and after; source did not change"
        ),
        FindingKind(AuditOutcome.REFACTOR, "■", "source changed, no test did, and the results are the same"),
        FindingKind(AuditOutcome.NO_CODE, "·", "neither source nor tests changed"),
    )
}
"""The gravest first."""

SEVERITY = {name: number for number, name in enumerate(KINDS)}

Tone = Literal["red", "green", "yellow"]


def tone_of(outcome: AuditOutcome) -> Tone | None:
    """Red blames, green does not, yellow could not tell; a change without code has none."""
    if outcome is AuditOutcome.NO_CODE:
        return None
    return "green" if outcome in SOUND else "yellow" if outcome in BLAMELESS else "red"


def count_outcomes(report: AuditReport) -> str:
    """`5 changes: 3 test-driven, 1 untested, 1 unverified`."""
    counts = ", ".join(f"{number} {name}" for name, number in report.summary.items())
    return f"{count_of(len(report.units), 'change')}{f': {counts}' if counts else ''}"


def tell_range(report: AuditReport) -> str:
    """As the user gave it; whole ids of commits are cut, as git does it."""
    return re.sub(r"\b[0-9a-f]{40,64}\b", lambda found: short(found[0]), report.range)


def short(commit: str) -> str:
    return commit[:9]


def tell_time(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
