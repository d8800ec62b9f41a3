"""The audit as a table for people: a line for each unit, then what to look at, then the sum."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from verdigris.drivers.audit.report import AuditOutcome
from verdigris.views.audit.findings import name_unit, unit_findings
from verdigris.views.audit.outcomes import KINDS, count_outcomes, short, tell_range, tell_time, tone_of
from verdigris.views.lines import Line, count_of, visible, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.drivers.audit.report import AuditReport, UnitReport
    from verdigris.views.audit.findings import Finding

NARROWEST = 60
_OUTCOME = max(map(len, AuditOutcome))
_MOST_FINDINGS = 12
"""That are told of one unit and rule."""


def table_lines(report: AuditReport, width: int) -> list[Line]:
    """Nothing is wider than `width`, but a word that is."""
    width = max(width, NARROWEST)
    return [part for line in _lines(report, width) for part in wrap(line, width)]


def render_table(report: AuditReport, width: int = 80) -> str:
    lines = table_lines(report, width)
    return "".join(f"{'● ' if line.dot else ''}{visible(line.text)}\n" for line in lines)


def _lines(report: AuditReport, width: int) -> Iterator[Line]:
    times = [tell_time(unit.seconds) for unit in report.units]
    longest = max(map(len, times), default=0)
    for unit, time in zip(report.units, times, strict=True):
        yield _row(unit, time.rjust(longest), width)
    for unit in report.units:
        yield from _details(unit, width)
    if not report.units:
        yield Line(f"there is no commit in {visible(tell_range(report))}")
        return
    yield Line("")
    total = tell_time(sum(unit.seconds for unit in report.units))
    how = "as one change" if report.squash else "commit by commit"
    yield Line(f"{visible(tell_range(report))}, {how}: {count_outcomes(report)} ({total})")
    yield from _advice(report)


def _row(unit: UnitReport, time: str, width: int) -> Line:
    """Outcome, commit, title, how many tests were red, seconds."""
    red = sum(test.valid for test in unit.reds)
    reds = f"{count_of(red, 'red') if red else '':>8}"
    head = f"{unit.outcome:<{_OUTCOME}}  {short(unit.commit.id):<9} "
    tail = f" {reds}  {time}"
    room = width - 2 - len(head) - len(tail)
    title = _fit(visible(unit.commit.title), room)
    dot = tone_of(unit.outcome)
    return Line(f"{'' if dot else '  '}{head}{title}{tail}", dot, code=True)


def _fit(text: str, room: int) -> str:
    """In cells of the terminal: some letters take two."""
    if cell_len(text) > room:
        return set_cell_size(f"{set_cell_size(text, room - 1).rstrip()}…", room)
    return set_cell_size(text, room)


def _details(unit: UnitReport, width: int) -> Iterator[Line]:
    told = list(unit_findings(unit))
    if not told:
        return
    yield Line("")
    title = _fit(visible(name_unit(unit)), width - len(unit.outcome) - 4).rstrip()
    yield Line(f"{unit.outcome}  {title}", tone_of(unit.outcome))
    if unit.why and all(one.text != unit.why for one in told):
        yield Line(f"  {unit.why}")
    for _, group in groupby(told, key=lambda one: one.rule):
        found = list(group)
        for one in found[:_MOST_FINDINGS]:
            yield from _finding_lines(one)
        if len(found) > _MOST_FINDINGS:
            yield Line(f"  … and {len(found) - _MOST_FINDINGS} more that are {found[0].rule}")
    yield from (Line(f"  note: {note}") for note in unit.notes[:_MOST_FINDINGS])
    if len(unit.notes) > _MOST_FINDINGS:
        yield Line(f"  … and {count_of(len(unit.notes) - _MOST_FINDINGS, 'note')} more")


def _finding_lines(one: Finding) -> Iterator[Line]:
    if (lost := one.lost) is not None:
        yield Line(f"  {one.place}: {lost.kind}")
        yield Line(f"    before  {lost.before}", code=True)
        yield Line(f"    after   {lost.after or '(gone)'}", code=True)
        return
    head = f"{one.place}: " if one.place else ""
    said = f"{one.rule}: " if one.rule in {"uncovered", "concern"} else ""
    yield Line(f"  {head}{said}{one.text}")


def _advice(report: AuditReport) -> Iterator[Line]:
    blamed = {unit.outcome for unit in report.units}
    for name, kind in KINDS.items():
        if name in blamed and kind.next:
            yield Line(f"next: {name}: {kind.next}")
