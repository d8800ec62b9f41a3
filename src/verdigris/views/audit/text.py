"""Renders an audit as text: a table for people, and Markdown for the summary of a CI step.

The table has a line for each unit, then findings, then the sum. The Markdown fits into a summary, and
says what was left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from rich.cells import cell_len, set_cell_size

from verdigris.drivers.audit.report import AuditOutcome, AuditReport, LostCheck, UnitReport
from verdigris.views.audit.findings import (
    KINDS,
    SEVERITY,
    Finding,
    count_outcomes,
    dot_of,
    name_unit,
    short,
    tell_range,
    tell_time,
    unit_findings,
)
from verdigris.views.lines import Line, count_of, make_visible, wrap

NARROWEST = 60
_FILTERS = ("since", "author", "path")
_OUTCOME = max(map(len, AuditOutcome))
_MOST_OF_A_RULE = 12
"""Findings that are shown of one unit and rule."""


def table_lines(report: AuditReport, width: int) -> list[Line]:
    """No line is wider than `width`, except for a word that is."""
    width = max(width, NARROWEST)
    return [part for line in _lines(report, width) for part in wrap(line, width)]


def render_table(report: AuditReport, width: int = 80) -> str:
    lines = table_lines(report, width)
    return "".join(f"{'● ' if line.dot else ''}{make_visible(line.text)}\n" for line in lines)


def _lines(report: AuditReport, width: int) -> Iterator[Line]:
    times = [tell_time(unit.seconds) for unit in report.units]
    longest = max(map(len, times), default=0)
    for unit, time in zip(report.units, times, strict=True):
        yield _table_row(unit, time.rjust(longest), width)
    for unit in report.units:
        yield from _table_details(unit, width)
    if not report.units:
        filters = [f"{name} {report.settings[name]}" for name in _FILTERS if name in report.settings]
        chosen = f" with {', '.join(filters)}" if filters else ""
        yield Line(make_visible(f"there is no commit in {tell_range(report)}{chosen}"))
        return
    yield Line("")
    total = tell_time(sum(unit.seconds for unit in report.units))
    how = "as one change" if report.squash else "commit by commit"
    yield Line(f"{make_visible(tell_range(report))}, {how}: {count_outcomes(report)} ({total})")
    blamed = {unit.outcome for unit in report.units}
    for name, kind in KINDS.items():
        if name in blamed and kind.next:
            yield Line(f"next: {name}: {kind.next}")


def _table_row(unit: UnitReport, time: str, width: int) -> Line:
    """Shows outcome, commit, title, how many tests were red, and the time."""
    reds = f"{count_of(unit.red_count, 'red') if unit.red_count else '':>8}"
    head = f"{unit.outcome:<{_OUTCOME}}  {short(unit.commit.id):<9} "
    tail = f" {reds}  {time}"
    room = width - 2 - len(head) - len(tail)
    title = _fit(make_visible(unit.commit.title), room)
    dot = dot_of(unit.outcome)
    return Line(f"{'' if dot else '  '}{head}{title}{tail}", dot, code=True)


def _fit(text: str, room: int) -> str:
    """Fits a text into cells of the terminal: some letters take two."""
    if cell_len(text) > room:
        return set_cell_size(f"{set_cell_size(text, room - 1).rstrip()}…", room)
    return set_cell_size(text, room)


def _table_details(unit: UnitReport, width: int) -> Iterator[Line]:
    told = list(unit_findings(unit))
    if not told:
        return
    yield Line("")
    title = _fit(make_visible(name_unit(unit)), width - len(unit.outcome) - 4).rstrip()
    yield Line(f"{unit.outcome}  {title}", dot_of(unit.outcome))
    if unit.why and all(one.text != unit.why for one in told):
        yield Line(f"  {unit.why}")
    for _, group in groupby(told, key=lambda one: one.rule):
        found = list(group)
        for one in found[:_MOST_OF_A_RULE]:
            yield from _finding_lines(one)
        if len(found) > _MOST_OF_A_RULE:
            yield Line(f"  … and {len(found) - _MOST_OF_A_RULE} more that are {found[0].rule}")
    yield from (Line(f"  note: {note}") for note in unit.notes[:_MOST_OF_A_RULE])
    if len(unit.notes) > _MOST_OF_A_RULE:
        yield Line(f"  … and {count_of(len(unit.notes) - _MOST_OF_A_RULE, 'note')} more")


def _finding_lines(one: Finding) -> Iterator[Line]:
    if (lost := one.lost) is not None:
        yield Line(f"  {one.place}: {lost.kind}")
        yield Line(f"    before  {lost.before}", code=True)
        yield Line(f"    after   {lost.after or '(gone)'}", code=True)
        return
    head = f"{one.place}: " if one.place else ""
    said = f"{one.rule}: " if one.rule in {"uncovered", "concern"} else ""
    yield Line(f"  {head}{said}{one.text}")


MOST_BYTES = 1_000_000
"""A step's summary holds 1 MiB; over that GitHub shows none of it."""
_MOST_TEXT = 2_000
_MOST_FINDINGS = 30
_SPECIAL = re.compile(r"([\\`*_\[\]|~#@$])")


def render_markdown(report: AuditReport, most: int = MOST_BYTES) -> str:
    """Renders the table first, then findings, the gravest first, as far as there is room."""
    page = _Page(most)
    page.add(f"### `tdd audit` {_code(tell_range(report))}: {_escape(count_outcomes(report))}\n\n")
    if not report.units:
        page.add("There is no commit in this range.\n")
        return page.text()
    page.add("| | outcome | commit | title | red before | time |\n|---|---|---|---|---|---|\n")
    page.add_all([_markdown_row(unit) for unit in report.units], "row", "rows")
    page.add("\n")
    detailed = [unit for unit in report.units if unit.reds or unit.notes or any(unit_findings(unit))]
    grave = sorted(detailed, key=lambda unit: SEVERITY[unit.outcome])
    page.add_all(
        ["".join(_markdown_details(unit)) for unit in grave], "change's findings", "changes' findings"
    )
    for name, kind in KINDS.items():
        if name in report.summary:
            advice = f" Next: {kind.next}." if kind.next else ""
            page.add(f"- {kind.mark} **{name}**: {_escape(kind.means)}.{_escape(advice)}\n")
    return page.text()


class _Page:
    """Takes parts until it is full, and then counts what was left out."""

    _RESERVE = 400

    def __init__(self, most: int) -> None:
        self._room = most - self._RESERVE
        self._parts: list[str] = []
        self._left_out: list[str] = []

    def add(self, text: str) -> bool:
        size = len(text.encode("utf-8", "backslashreplace"))
        if size > self._room:
            return False
        self._room -= size
        self._parts.append(text)
        return True

    def add_all(self, texts: list[str], one: str, many: str) -> None:
        added = 0
        while added < len(texts) and self.add(texts[added]):
            added += 1
        if rest := len(texts) - added:
            self._left_out.append(f"{rest} {one if rest == 1 else many}")

    def text(self) -> str:
        if self._left_out:
            what = " and ".join(self._left_out)
            self._parts.append(f"\n**Left out, for want of room: {what}.** `--html FILE` shows everything.\n")
        return "".join(self._parts)


def _markdown_row(unit: UnitReport) -> str:
    red = unit.red_count
    mark = KINDS[unit.outcome].mark
    cells = (
        *(mark, f"**{unit.outcome}**" if _is_grave(unit) else str(unit.outcome)),
        *(f"`{short(unit.commit.id)}`", _escape(unit.commit.title)),
        *(count_of(red, "test") if red else "", tell_time(unit.seconds)),
    )
    return f"| {' | '.join(cells)} |\n"


def _is_grave(unit: UnitReport) -> bool:
    return KINDS[unit.outcome].level == "error"


def _markdown_details(unit: UnitReport) -> Iterator[str]:
    """Yields a block that is open if somebody has to look."""
    opened = " open" if _is_grave(unit) else ""
    yield f"<details{opened}><summary>{_html(f'{unit.outcome}: {name_unit(unit)}')}</summary>\n\n"
    if unit.why:
        yield f"{_escape(unit.why)}\n\n"
    yield from _reds(unit)
    lines = []
    for one in unit_findings(unit):
        if one.text != unit.why and one.lost is None:
            where = f" {_code(one.place)}" if one.place else ""
            lines.append(f"- {one.rule}{where}: {_escape(one.text)}\n")
    yield from _first_findings(lines, "finding")
    yield from _first_findings([_loss(lost) for lost in unit.weakened], "weakened check")
    yield from _first_findings([f"- note: {_escape(note)}\n" for note in unit.notes], "note")
    yield "\n</details>\n\n"


def _first_findings(lines: list[str], noun: str) -> Iterator[str]:
    yield from lines[:_MOST_FINDINGS]
    if len(lines) > _MOST_FINDINGS:
        yield f"- … and {count_of(len(lines) - _MOST_FINDINGS, noun)} more\n"


def _reds(unit: UnitReport) -> Iterator[str]:
    lines = []
    for test in unit.reds:
        counts = "" if test.valid else " (does not count)"
        said = f": {_code(test.message)}" if test.message else ""
        lines.append(f"- red before{counts}: {_code(test.id)}, {_escape(test.why)}{said}\n")
    yield from _first_findings(lines, "red test")


def _loss(lost: LostCheck) -> str:
    removed = [f"- {line}" for line in lost.before.splitlines()]
    added = [f"+ {line}" for line in lost.after.splitlines()]
    return f"- weakened {_code(lost.place)}: {_escape(lost.kind)}\n\n{_fence([*removed, *added])}\n"


def _fence(lines: list[str]) -> str:
    text = "\n".join(map(make_visible, lines))[:_MOST_TEXT]
    ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    body = "".join(f"  {line}\n" for line in text.split("\n"))
    return f"  {ticks}diff\n{body}  {ticks}\n"


def _code(text: str) -> str:
    """Returns a span of code, whose fence is longer than any run of ticks inside."""
    shown = make_visible(text)[:_MOST_TEXT]
    ticks = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}" if shown else ""


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", _html(text))


def _html(text: str) -> str:
    plain = make_visible(text)[:_MOST_TEXT]
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
