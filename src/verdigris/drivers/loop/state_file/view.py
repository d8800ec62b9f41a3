"""Renders the state of a program into its state file, and changes there only the loop's own lines.

Rows, entries and sections that the loop does not know stay as they are. The row Iteration Count says which
iterations the file contains already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from verdigris.core.value import value
from verdigris.drivers.loop.events import IterationEnded
from verdigris.drivers.loop.history import ACCEPTED, BLOCKED, CI_EXHAUSTED, ERROR, REJECTED, ProgramState
from verdigris.drivers.loop.program import Program, as_number
from verdigris.drivers.loop.state_file.harness import (
    MOST,
    collapse_harness,
    read_harness,
    update_harness,
    with_harness,
)
from verdigris.drivers.loop.state_file.text import (
    HARNESS,
    HEADINGS,
    LONGEST_RANGE,
    MACHINE,
    MOST_BYTES,
    TABLE,
    end_entry,
    one_line,
    read_fields,
    read_machine_state,
    read_sections,
    split_entries,
    with_machine_state,
    with_section,
)

PRIORITIES, LESSONS = "current priorities", "lessons learned"
FORECLOSED, DIRECTIONS, HISTORY = "foreclosed avenues", "future directions", "iteration history"
NOTHING_YET = {
    PRIORITIES: "_Nobody has said what comes first: write it here, and the loop reads it._\n",
    LESSONS: "_None yet._\n",
    FORECLOSED: "_None yet._\n",
    DIRECTIONS: "_None yet._\n",
    HISTORY: "_Older entries become one line; `git log -p` of this file has them in full._\n",
}
_SIGNS = {ACCEPTED: "✅", REJECTED: "❌", ERROR: "⚠️", BLOCKED: "🚧", CI_EXHAUSTED: "❌"}
_TARGET, _PROGRAMS_TARGET = "Target Metric", "Target Metric (program.md)"
_STATUSES = 10
_FULL, _FULL_WHEN_LARGE = 10, 5
_LARGE = 0.8
_TIGHTER = ((5, 2), (3, 4), (1, 10))
"""If the file is too large: entries of the history in full, and the divisor of the harness's entries."""
_ITERATION = re.compile(r"###[ \t]+Iteration[ \t]+(\d+)\b")
_ITERATIONS = re.compile(r"###[ \t]+Iters?[ \t]+(\d+)(?:[ \t]*[–-][ \t]*(\d+))?")
_RANGE = re.compile(r"### Iters (\d+)–(\d+) — (.*?) \(metrics (\S+)→(\S+)\): ([^\n]*)\n+\Z")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@value
class ProgramFacts:
    """What the file shows of a program that is not in its log."""

    program: Program
    branch: str
    resumed: bool = False
    """It was resumed since the file was written: older rejections no longer count."""


def render_state(previous: str, state: ProgramState, facts: ProgramFacts) -> str:
    """`previous`: the present text of the file; empty if there is none."""
    if previous and not facts.resumed and state == ProgramState(state.name):
        return previous  # the log is empty, and the file may know more
    text = previous or _new_file(facts)
    text = text if text.endswith("\n") else f"{text}\n"  # so that the next text begins a new line
    known = read_count(text)
    new = [one for one in state.iterations if one.number > known]
    text = _with_rows(text, state, facts, new)
    text = _with_lessons(text, [lesson for one in new for lesson in one.lessons])
    text = update_harness(text, state.harness, known)
    return _fit_text(_with_history(text, state.iterations))


def read_count(text: str) -> int:
    """The number of the last iteration in the file."""
    found = _NUMBER.match(read_machine_state(text).get("Iteration Count", ""))
    return int(float(found[0])) if found else 0


def read_target(text: str, program: Program) -> float | None:
    """The metric that completes it: the row, which a person may edit, unless `program.md` changed since."""
    rows = read_machine_state(text)
    row = as_number(rows.get(_TARGET, ""))
    if row is None or rows.get(_PROGRAMS_TARGET, "") != _show_number(program.target_metric):
        return program.target_metric
    return row


# -- rows and sections ------------------------------------------------------------------------


def _new_file(facts: ProgramFacts) -> str:
    sections = "".join(
        f"## {heading}\n\n{NOTHING_YET.get(title) or _info(facts.program)}\n"
        for title, heading in HEADINGS.items()
        if title not in {MACHINE, HARNESS}
    )
    head = f"# Autoloop: {facts.program.name}\n\n> Kept by `tdd loop`. Edit it: what you write wins.\n\n"
    return f"{head}## {HEADINGS[MACHINE]}\n\n{TABLE}\n{sections}"


def _with_rows(text: str, state: ProgramState, facts: ProgramFacts, new: Sequence[IterationEnded]) -> str:
    before, program = read_machine_state(text), facts.program
    recent = [word.strip() for word in before.get("Recent Statuses", "").split(",") if word.strip()]
    recent = list(state.recent) if facts.resumed else recent + [one.status for one in new]
    counted, programs = bool(new) or facts.resumed, _show_number(program.target_metric)
    ours = {
        "Last Run": _time(state.last_run) or before.get("Last Run", ""),
        "Iteration Count": str(max(state.count, read_count(text))),
        "Best Metric": _show_number(state.best.metric) if state.best else before.get("Best Metric", ""),
        _TARGET: _show_number(read_target(text, program)) or before.get(_TARGET, ""),
        "Metric Direction": program.direction,
        "Branch": facts.branch,
        "PR": before.get("PR", ""),
        "Issue": before.get("Issue", ""),
        "Paused": "true" if state.paused else "false",
        "Pause Reason": state.paused,
        "Completed": "true" if state.completed else "false",
        "Completed Reason": state.completed,
        "Consecutive Errors": str(state.errors),
        "Recent Statuses": ", ".join(recent[-_STATUSES:]) if counted else before.get("Recent Statuses", ""),
    }
    if programs or _PROGRAMS_TARGET in before:
        ours[_PROGRAMS_TARGET] = programs
    differing = {row: said for row, said in ours.items() if row not in before or before[row] != said}
    return with_machine_state(text, differing)


def _info(program: Program) -> str:
    facts = {
        "Goal": program.goal.partition("\n\n")[0],
        "Targets": ", ".join(program.targets) or "all source and tests",
        "Do not modify": ", ".join(program.protected),
        "Schedule": program.schedule.written,
    }
    return "".join(f"- **{name}**: {one_line(said)}\n" for name, said in facts.items() if said)


def _with_lessons(text: str, added: Iterable[str]) -> str:
    """Adds each new lesson once, at the end of the list."""
    body = read_sections(text).get(LESSONS, "")
    there = " ".join(body.split())
    new = [one for one in dict.fromkeys(map(one_line, added)) if one and one not in there]
    if not new:
        return text
    lines = "".join(f"- {one}\n" for one in new)
    rest = body.replace(NOTHING_YET[LESSONS], "")
    kept = rest.rstrip("\n")
    return with_section(text, LESSONS, f"{kept}\n{lines}\n" if kept.strip() else f"\n{lines}\n")


# -- history ----------------------------------------------------------------------------------


def _with_history(text: str, iterations: Sequence[IterationEnded]) -> str:
    head, entries = split_entries(read_sections(text).get(HISTORY, f"{NOTHING_YET[HISTORY]}\n"))
    told = max((last for one in entries for _, last in [_span(one)]), default=0)
    new = [_entry(one) for one in reversed(iterations) if one.number > told]
    return with_section(text, HISTORY, head + "".join([*new, *entries])) if new else text


def _entry(one: IterationEnded) -> str:
    run = f" — [Run]({one.run})" if one.run else ""
    existing = "regression-introduced-and-fixed" if one.regression else "all-green"
    fields = {
        "Status": f"{_SIGNS.get(one.status, '')} {one.status}".strip(),
        "phase": one.phase,
        "target": one.target,
        "Change": one.change,
        "Metric": _metric(one),
        "new_tests": str(one.new_tests),
        "existing_tests_status": existing if one.status == ACCEPTED else "as before the iteration",
        "Commit": one.commit[:12],
        "CI fix attempts": str(one.ci_attempts),
        "Notes": "; ".join(one.notes),
    }
    lines = "".join(f"- **{name}**: {one_line(said)}\n" for name, said in fields.items() if said)
    return f"### Iteration {one.number} — {_time(one.at)[:10]}{run}\n\n{lines}\n"


def _metric(one: IterationEnded) -> str:
    if one.metric is None:
        return ""
    if one.previous is None:
        return f"{_show_number(one.metric)} (the first)"
    delta = one.metric - one.previous
    return f"{_show_number(one.metric)} (previous best: {_show_number(one.previous)}, delta: {delta:+.6g})"


def _span(entry: str) -> tuple[int, int]:
    """The first and the last iteration of an entry."""
    if found := _ITERATION.match(entry):
        return int(found[1]), int(found[1])
    if found := _ITERATIONS.match(entry):
        return int(found[1]), int(found[2] or found[1])
    return 0, 0


def _collapse_history(text: str, full: int) -> str:
    """Keeps so many entries in full; older ones become one line with their outcome."""
    head, entries = split_entries(read_sections(text).get(HISTORY, ""))
    whole = sorted((one for one in entries if _ITERATION.match(one)), key=_span, reverse=True)
    surplus = whole[full:]
    if not surplus:
        return text
    kept = [end_entry(one) for one in entries if one not in surplus]
    for run in _runs(surplus):
        at = next((n for n, one in enumerate(kept) if 0 < _span(one)[1] < _span(run[0])[0]), len(kept))
        grown = _grow_range(kept[at], run) if at < len(kept) else ""
        if grown:
            kept[at] = grown
        else:
            kept.insert(at, _range(run))
    return with_section(text, HISTORY, head + "".join(kept))


def _runs(entries: Sequence[str]) -> list[list[str]]:
    """Groups entries with consecutive numbers, the oldest first, as many as fit on a line."""
    ordered = sorted(entries, key=_span)
    runs = [[ordered[0]]]
    for before, one in pairwise(ordered):
        said = sum(len(_change(other)) for other in runs[-1])
        if _span(one)[0] == _span(before)[0] + 1 and said + len(_change(one)) < LONGEST_RANGE - 100:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _range(run: Sequence[str]) -> str:
    metrics = [said for one in run if (said := _metric_of(one))] or ["—"]
    said = "; ".join(filter(None, map(_change, run)))
    span = f"{_span(run[0])[0]}–{_span(run[-1])[0]}"
    return f"### Iters {span} — {_outcome(run)} (metrics {metrics[0]}→{metrics[-1]}): {said}\n\n"


def _grow_range(text: str, run: Sequence[str]) -> str:
    """Adds entries to a line of several; empty if it would be too long, or its outcome differs."""
    found = _RANGE.match(text)
    more = _RANGE.match(_range(run))
    if not found or not more or int(found[2]) + 1 != int(more[1]) or found[3] != more[3]:
        return ""
    first = more[4] if found[4] == "—" else found[4]
    last = found[5] if more[5] == "—" else more[5]
    said = "; ".join(filter(None, (found[6], more[6])))
    grown = f"### Iters {found[1]}–{more[2]} — {found[3]} (metrics {first}→{last}): {said}\n\n"
    return grown if len(grown) <= LONGEST_RANGE else ""


def _outcome(run: Sequence[str]) -> str:
    statuses = [read_fields(one).get("Status", "").split(" ")[-1] or "untold" for one in run]
    if set(statuses) == {ACCEPTED}:
        return "✅"
    return ", ".join(f"{statuses.count(one)} {one}" for one in dict.fromkeys(statuses))


def _change(entry: str) -> str:
    fields = read_fields(entry)
    return one_line(fields.get("Change") or fields.get("target") or "")[:_CHANGE]


_CHANGE = 80


def _metric_of(entry: str) -> str:
    found = _NUMBER.search(read_fields(entry).get("Metric", ""))
    return found[0] if found else ""


# -- size -------------------------------------------------------------------------------------


def _fit_text(text: str) -> str:
    text = _tighten_text(text, _FULL, MOST)
    if len(text.encode()) > MOST_BYTES * _LARGE:
        text = _tighten_text(text, _FULL_WHEN_LARGE, MOST)
    for full, divided in _TIGHTER:
        if len(text.encode()) > MOST_BYTES:
            text = _tighten_text(text, full, MOST // divided)
    return text


def _tighten_text(text: str, full: int, most: int) -> str:
    text = _collapse_history(text, full)
    entries = read_harness(text)
    kept = collapse_harness(entries, most)
    return with_harness(text, kept) if kept != entries else text


# -- values -----------------------------------------------------------------------------------


def _time(milliseconds: int) -> str:
    if not milliseconds:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _show_number(number: float | None) -> str:
    return "" if number is None else f"{number:.10g}"
