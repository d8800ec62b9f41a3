"""What a report shows: the mark and meaning of each outcome, and findings, the gravest first."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value
from verdigris.drivers.audit.report import BLAMELESS, SOUND, AuditOutcome
from verdigris.views.lines import Dot, count_of

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import AuditReport, LostCheck, UnitReport


Level = Literal["error", "warning", "note"]


@value
class FindingKind:
    """The mark, meaning and advice that belong to an outcome or to a rule."""

    name: str
    mark: str
    """Each has another shape, so that nobody needs colour."""
    means: str
    next: str = ""
    """What the author of the change can do; empty if there is nothing to do."""
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
            *(AuditOutcome.UNVERIFIED, "?", "it could not be judged"),
            "see its reason: an environment, a suite that runs, or more time",
        ),
        FindingKind(
            *(AuditOutcome.INFRASTRUCTURE, "≠", "the machine failed, not the change"),
            "run the audit again: answers that were found are kept",
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


def dot_of(outcome: AuditOutcome) -> Dot | None:
    """Returns red for blame, green for none, yellow for doubt; a change without code has no colour."""
    if outcome is AuditOutcome.NO_CODE:
        return None
    return "green" if outcome in SOUND else "yellow" if outcome in BLAMELESS else "red"


def count_outcomes(report: AuditReport) -> str:
    """`5 changes: 3 test-driven, 1 untested, 1 unverified`."""
    counts = ", ".join(f"{number} {name}" for name, number in report.summary.items())
    return f"{count_of(len(report.units), 'change')}{f': {counts}' if counts else ''}"


def tell_range(report: AuditReport) -> str:
    """Returns the range as the user gave it, with whole ids of commits cut."""
    return re.sub(r"\b[0-9a-f]{40,64}\b", lambda found: short(found[0]), report.range)


def short(commit: str) -> str:
    return commit[:9]


def tell_time(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


@value
class Finding:
    rule: str
    """An outcome that blames or is in doubt, `uncovered`, or `concern`."""
    text: str
    unit: UnitReport
    path: str = ""
    line: int = 0
    """In the unit's own files; 0 is the file as a whole, or no file."""
    last_line: int = 0
    subject: str = ""
    """Its subject without line numbers: a test's id, or the text that was found."""
    lost: LostCheck | None = None
    """The check that asks less than before, if the finding is about one."""
    lines: tuple[str, ...] = ()
    """The text of uncovered lines, from `line` on."""

    @property
    def kind(self) -> FindingKind:
        return KINDS[self.rule]

    @property
    def place(self) -> str:
        """Empty if nobody is blamed; `path` then only serves formats that must name a file."""
        if self.rule in BLAMELESS:
            return ""
        lines = f"{self.line}-{self.last_line}" if self.last_line > self.line else f"{self.line}"
        return f"{self.path}:{lines}" if self.path and self.line else self.path


def findings(report: AuditReport) -> list[Finding]:
    """Lists findings by gravity, and within that by time."""
    found = [one for unit in report.units for one in unit_findings(unit)]
    return sorted(found, key=lambda one: SEVERITY[one.rule])


def unit_findings(unit: UnitReport) -> Iterator[Finding]:
    for place in unit.regressed:
        text, test = f"it passed before and fails now: {place.what}", place.what.partition(": ")[0]
        yield Finding(AuditOutcome.REGRESSED, text, unit, place.path, place.line, subject=test)
    for lost in unit.weakened:
        subject = f"{lost.kind} {lost.before}"
        yield Finding(
            AuditOutcome.WEAKENED, _tell_loss(lost), unit, lost.path, lost.line, subject=subject, lost=lost
        )
    yield from (_hollow(unit, test) for test in unit.hollow)
    if _says_itself(unit):
        path = unit.paths[0] if unit.paths else next((one.path for one in unit.uncovered), "")
        yield Finding(unit.outcome, unit.why, unit, path, subject=path)
    yield from _uncovered_lines(unit)
    for place in unit.concerns:
        if f"{place.path}:{place.line}: {place.kind}: {place.what}" in unit.hollow:
            continue  # it makes the change hollow, and is listed there
        text = f"{place.what} ({place.kind})" if place.kind else place.what
        subject = f"{place.kind} {_without_numbers(place.what)}"
        yield Finding("concern", text, unit, place.path, place.line, subject=subject)


def _says_itself(unit: UnitReport) -> bool:
    """Whether the outcome is shown by its own reason, because no finding of the unit stands for it."""
    match unit.outcome:
        case AuditOutcome.REGRESSED:
            return not unit.regressed
        case AuditOutcome.WEAKENED:
            return not unit.weakened
        case AuditOutcome.HOLLOW:
            return not unit.hollow
        case outcome:
            return outcome not in SOUND


def _tell_loss(lost: LostCheck) -> str:
    was = f"was `{lost.before}`" if lost.before else ""
    now = f"is `{lost.after}`" if lost.after else ""
    return f"{lost.kind}: {', '.join(filter(None, (was, now)))}".rstrip(": ")


def _hollow(unit: UnitReport, test: str) -> Finding:
    """`test`: its id, or a place of source that is written for the tests' values alone."""
    placed = re.match(r"([^\s:]+):(\d+): ", test)
    if placed is not None:
        text = test.removeprefix(placed[0])
        return Finding(
            AuditOutcome.HOLLOW, text, unit, placed[1], int(placed[2]), subject=_without_numbers(text)
        )
    path = test.partition("::")[0] if "::" in test else ""
    return Finding(AuditOutcome.HOLLOW, f"its assertions decide nothing: {test}", unit, path, subject=test)


def _uncovered_lines(unit: UnitReport) -> Iterator[Finding]:
    """Lines that follow each other are one finding."""
    places = sorted(unit.uncovered, key=lambda place: (place.path, place.line))
    runs = groupby(enumerate(places), key=lambda pair: (pair[1].path, pair[1].line - pair[0]))
    for (path, _), pairs in runs:
        run = [place for _, place in pairs]
        many = f"{len(run)} changed lines, and no test runs them" if len(run) > 1 else ""
        first = run[0].what.strip()
        text = many or f"no test runs this changed line{f': `{first}`' if first else ''}"
        lines = tuple(place.what for place in run)
        yield Finding("uncovered", text, unit, path, run[0].line, run[-1].line, subject=first, lines=lines)


def fingerprints(found: list[Finding]) -> list[str]:
    """Returns a hash for each finding that stays when lines move; equal findings differ by a number."""
    seen: Counter[str] = Counter()
    made = []
    for one in found:
        words = f"{one.rule}\0{one.path}\0{one.subject}"
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        seen[digest] += 1
        made.append(f"{digest}:{seen[digest]}")
    return made


def _without_numbers(text: str) -> str:
    return re.sub(r"\b(lines? |:)\d+\b", r"\1", text)


def blames(unit: UnitReport) -> bool:
    return unit.outcome not in SOUND | BLAMELESS


def name_unit(unit: UnitReport) -> str:
    return f"{short(unit.commit.id)} {unit.commit.title}".rstrip()
