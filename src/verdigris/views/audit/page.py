"""Renders an audit as one HTML file: a timeline of dots, a sum, and each unit with its findings.

It fetches nothing, works without JavaScript (which only filters), and escapes whatever a repository holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from verdigris.drivers.audit.report import BLAMELESS, SOUND, AuditOutcome
from verdigris.views.audit.findings import KINDS, name_unit, short, tell_range, tell_time, unit_findings
from verdigris.views.lines import count_of, make_visible

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import AuditReport, LostCheck, RedTest, UnitReport
    from verdigris.views.audit.findings import Finding

_MOST_SHOWN = 20
"""Items of a list; the others are folded away."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def render_page(report: AuditReport, diffs: Mapping[str, str] | None = None) -> str:
    """`diffs`: the diff of each change by commit, as far as they are known."""
    return "".join(_page(report, diffs or {}))


def _page(report: AuditReport, diffs: Mapping[str, str]) -> Iterator[str]:
    title = f"tdd audit {tell_range(report)}"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="color-scheme" content="light dark">\n'
    yield f"<title>{_text(title)}</title>\n<style>\n{_part('page.css')}</style>\n</head>\n<body>\n"
    yield from _header(report)
    yield "<main>\n"
    if report.units:
        yield from _timeline(report)
        yield from _filters(report)
        for number, unit in enumerate(report.units, 1):
            yield from _unit(number, unit, diffs.get(unit.commit.id, ""))
        yield '<p id="none" hidden>No change has an outcome that is switched on above.</p>\n'
    else:
        yield "<p>There is no commit in this range.</p>\n"
    yield "</main>\n"
    yield from _footer(report)
    yield f"<script>\n{_part('page.js')}</script>\n</body>\n</html>\n"


def _part(name: str) -> str:
    return (files("verdigris.views.audit") / name).read_text("utf-8")


def _text(text: str) -> str:
    """Escapes a text for an element or a quoted attribute; lines stay lines."""
    return "\n".join(escape(make_visible(line)) for line in text.split("\n"))


def _header(report: AuditReport) -> Iterator[str]:
    changes = count_of(len(report.units), "change")
    how = "The whole range as one change" if report.squash else f"{changes}, commit by commit"
    total = tell_time(sum(unit.seconds for unit in report.units))
    groups = Counter(_group(unit.outcome) for unit in report.units)
    yield f"<header>\n<p class=product>tdd audit</p>\n<h1>{_text(tell_range(report))}</h1>\n"
    yield f"<p class=about>{how}, in {total}"
    if report.base or report.head:
        yield f" · <code>{_text(short(report.base))}</code> to <code>{_text(short(report.head))}</code>"
    yield "</p>\n<dl class=sum>\n"
    for group, label in _GROUPS.items():
        yield f"<div class={group}><dt>{label}</dt><dd>{groups[group]}</dd></div>\n"
    yield "</dl>\n</header>\n"


_GROUPS = {"blame": "to look at", "sound": "sound", "unknown": "not judged"}


def _group(outcome: AuditOutcome) -> str:
    return "sound" if outcome in SOUND else "unknown" if outcome in BLAMELESS else "blame"


def _timeline(report: AuditReport) -> Iterator[str]:
    yield '<nav aria-label="Timeline, the oldest first">\n<ol class=timeline>\n'
    for number, unit in enumerate(report.units, 1):
        label = _text(f"{unit.outcome}: {name_unit(unit)}")
        yield f'<li data-outcome="{unit.outcome}"><a href="#u{number}" class="dot {_group(unit.outcome)}"'
        yield f' title="{label}" aria-label="{label}">{KINDS[unit.outcome].mark}</a></li>\n'
    yield "</ol>\n</nav>\n"


def _filters(report: AuditReport) -> Iterator[str]:
    """A legend without JavaScript; with it, switches."""
    yield '<section class=legend aria-label="Outcomes">\n'
    for name, number in report.summary.items():
        kind, group = KINDS[name], _group(AuditOutcome(name))
        yield f'<label class=outcome><input type=checkbox checked hidden data-filter="{name}">'
        yield f"<span class='mark {group}' aria-hidden=true>{kind.mark}</span> <b>{name}</b>"
        yield f" <span class=count>{number}</span><span class=means>{_text(kind.means)}</span></label>\n"
    yield "</section>\n"


def _unit(number: int, unit: UnitReport, diff: str) -> Iterator[str]:
    group, kind = _group(unit.outcome), KINDS[unit.outcome]
    opened = " open" if group == "blame" else ""
    yield f'<details class="unit {group}" id=u{number} data-outcome="{unit.outcome}"{opened}>\n<summary>'
    yield f'<span class="mark {group}" aria-hidden=true>{kind.mark}</span>'
    yield f"<span class=name>{unit.outcome}</span> <code>{_text(short(unit.commit.id))}</code> "
    yield f"<span class=title>{_text(unit.commit.title) or '(no title)'}</span>"
    reds = [count_of(unit.red_count, "red")] if unit.red_count else []
    yield f" <span class=facts>{' · '.join([*reds, tell_time(unit.seconds)])}</span></summary>\n"
    yield "<div class=body>\n"
    yield f"<p class=why>{_text(unit.why)}</p>\n" if unit.why else ""
    if kind.next:
        yield f"<p class=next><b>Next:</b> {_text(kind.next)}.</p>\n"
    yield from _places(unit)
    yield from _list("Noted", (_text(note) for note in unit.notes))
    if diff:
        yield "<details class=stub><summary>what changed in source and tests</summary>\n"
        yield f"<pre class=diff>{_diff(diff.splitlines())}</pre></details>\n"
    yield from _commit_facts(unit)
    yield "</div>\n</details>\n"


def _red_item(test: RedTest) -> str:
    counts = "" if test.valid else " <em>does not count as red</em>"
    parts = [f"<code class=id>{_text(test.id)}</code> <span class=tag>{_text(test.why)}</span>{counts}"]
    if test.place:
        parts.append(f"<br><span class=place>{_text(test.place)}</span>")
    if test.message:
        parts.append(f"<pre>{_text(test.message)}</pre>")
    if test.stub:
        parts.append("<details class=stub><summary>the stub that made it fail by behaviour</summary>")
        parts.append(f"<pre class=diff>{_diff(test.stub.splitlines())}</pre></details>")
    return "".join(parts)


def _loss(lost: LostCheck) -> str:
    lines = [f"- {line}" for line in lost.before.splitlines()]
    lines += [f"+ {line}" for line in lost.after.splitlines()] or ["  (gone)"]
    head = f"<span class=place>{_text(lost.place)}</span> <span class=tag>{_text(lost.kind)}</span>"
    return f"{head}<pre class=diff>{_diff(lines)}</pre>"


def _diff(lines: Iterable[str]) -> str:
    """The sign before each line stays, for readers who do not see the colour."""
    names = {"+": "ins", "-": "del"}
    shown = []
    for line in lines:
        tag = names.get(line[:1], "span")
        shown.append(f"<{tag}>{_text(line)}</{tag}>")
    return "\n".join(shown)


def _places(unit: UnitReport) -> Iterator[str]:
    """Yields lists of findings; those that blame come first."""
    yield from _list("Passed before, fails now", (_place(one.place, one.what) for one in unit.regressed))
    yield from _list("Asks less than before", map(_loss, unit.weakened))
    yield from _list(
        "Passes whatever it asserts", (f"<code class=id>{_text(one)}</code>" for one in unit.hollow)
    )
    found = list(unit_findings(unit))
    yield from _list(
        "Changed lines that no test runs", (_uncovered_item(one) for one in found if one.rule == "uncovered")
    )
    yield from _list("Red before, green after", map(_red_item, unit.reds))
    yield from _list("Concerns", (_place(one.place, one.text) for one in found if one.rule == "concern"))


def _place(place: str, text: str) -> str:
    return f"<span class=place>{_text(place)}</span> {_text(text)}"


def _uncovered_item(one: Finding) -> str:
    """Shows the text of the lines, as far as the report has it."""
    numbered = [f"{number:>5}  {line}" for number, line in enumerate(one.lines, one.line)]
    text = "\n".join(numbered) if any(map(str.strip, one.lines)) else ""
    shown = f"<pre>{_text(text)}</pre>" if text else ""
    return f"<span class=place>{_text(one.place)}</span>{shown}"


def _list(heading: str, items: Iterable[str]) -> Iterator[str]:
    """Yields nothing without an item; of many, the rest is folded away."""
    lines = [f"<li>{item}</li>\n" for item in items]
    if not lines:
        return
    yield from (f"<h3>{heading}</h3>\n<ul>\n", *lines[:_MOST_SHOWN], "</ul>\n")
    if rest := lines[_MOST_SHOWN:]:
        yield f"<details class=more><summary>{len(rest)} more</summary>\n<ul>\n"
        yield from (*rest, "</ul>\n</details>\n")


def _commit_facts(unit: UnitReport) -> Iterator[str]:
    facts = {
        "commit": unit.commit.id,
        "author": unit.commit.author,
        "date": unit.commit.date,
        "environment": unit.environment,
        "files": ", ".join(unit.paths),
    }
    yield "<dl class=facts>\n"
    for name, said in facts.items():
        if said:
            yield f"<div><dt>{name}</dt><dd>{_text(said)}</dd></div>\n"
    yield "</dl>\n"


def _footer(report: AuditReport) -> Iterator[str]:
    settings = " · ".join(f"{name} {said}" for name, said in report.settings.items())
    version = f"Verdigris {report.version}" if report.version else "Verdigris"
    yield f"<footer><p>{_text(' · '.join(filter(None, (version, settings))))}</p></footer>\n"
