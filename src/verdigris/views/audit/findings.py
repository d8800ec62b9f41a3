"""Reads a report as findings, the gravest first: one for each thing that somebody should look at."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.drivers.audit.report import BLAMELESS, SOUND, AuditOutcome
from verdigris.views.audit.outcomes import KINDS, SEVERITY, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.drivers.audit.report import AuditReport, FoundPlace, LostCheck, UnitReport
    from verdigris.views.audit.outcomes import FindingKind


@value
class Finding:
    rule: str
    """An outcome that blames, `uncovered`, `concern`, or an outcome that could not be told."""
    text: str
    unit: UnitReport
    path: str = ""
    line: int = 0
    """In the unit's own files; 0: the file as a whole, or no file."""
    last_line: int = 0
    subject: str = ""
    """What it is about, without line numbers: a test's id, or the text of what was found."""
    lost: LostCheck | None = None
    """The check that asks less than before, where it is one."""
    lines: tuple[str, ...] = ()
    """The text of uncovered lines, from `line` on."""

    @property
    def kind(self) -> FindingKind:
        return KINDS[self.rule]

    @property
    def place(self) -> str:
        lines = f"{self.line}-{self.last_line}" if self.last_line > self.line else f"{self.line}"
        return f"{self.path}:{lines}" if self.path and self.line else self.path


def findings(report: AuditReport) -> list[Finding]:
    """By gravity, and within that by time."""
    found = [one for unit in report.units for one in unit_findings(unit)]
    return sorted(found, key=lambda one: SEVERITY[one.rule])


def unit_findings(unit: UnitReport) -> Iterator[Finding]:
    yield from (_regression(unit, place) for place in unit.regressed)
    yield from (_lost_check(unit, lost) for lost in unit.weakened)
    yield from (_hollow(unit, test) for test in unit.hollow)
    if _says_itself(unit):
        path = unit.paths[0] if unit.paths else next((one.path for one in unit.uncovered), "")
        yield Finding(unit.outcome, unit.why, unit, path, subject=path)
    yield from _uncovered_lines(unit)
    for place in unit.concerns:
        text = f"{place.what} ({place.kind})" if place.kind else place.what
        subject = f"{place.kind} {_without_numbers(place.what)}"
        yield Finding("concern", text, unit, place.path, place.line, subject=subject)


def _says_itself(unit: UnitReport) -> bool:
    """An outcome that none of the unit's findings stands for."""
    match unit.outcome:
        case AuditOutcome.REGRESSED:
            return not unit.regressed
        case AuditOutcome.WEAKENED:
            return not unit.weakened
        case AuditOutcome.HOLLOW:
            return not unit.hollow
        case outcome:
            return outcome not in SOUND


def _regression(unit: UnitReport, place: FoundPlace) -> Finding:
    text = f"it passed before and fails now: {place.what}"
    test = place.what.partition(": ")[0]
    return Finding(AuditOutcome.REGRESSED, text, unit, place.path, place.line, subject=test)


def _lost_check(unit: UnitReport, lost: LostCheck) -> Finding:
    subject = f"{lost.kind} {lost.before}"
    return Finding(
        AuditOutcome.WEAKENED, tell_loss(lost), unit, lost.path, lost.line, subject=subject, lost=lost
    )


def tell_loss(lost: LostCheck) -> str:
    was = f"was `{lost.before}`" if lost.before else ""
    now = f"is `{lost.after}`" if lost.after else ""
    return f"{lost.kind}: {', '.join(filter(None, (was, now)))}".rstrip(": ")


def _hollow(unit: UnitReport, test: str) -> Finding:
    """A test by its id, or a place of source that is written for the tests' values alone."""
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
    """A hash for each finding, which stays when lines move; the same found twice differs by a number."""
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
