"""Renders how programs and the machine stand, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from verdigris.core.records import to_json
from verdigris.views.lines import Dot, Line, count_of

if TYPE_CHECKING:
    from verdigris.drivers.loop.events import IterationEnded
    from verdigris.drivers.loop.survey import OpenWork, ProgramSurvey
    from verdigris.drivers.machine.history import MachineSurvey

_CONDITION_DOTS: dict[str, Dot] = {
    "ready": "green",
    "running": "green",
    "completed": "green",
    "waiting": "green",
    "paused": "yellow",
    "not-ready": "red",
}
HARNESS_MARKS = {"passing": "●", "failing": "○", "blocked": "✗"}
HARNESS_COLOURS = {"passing": "green", "failing": "red", "blocked": "yellow"}
_BARS = "▁▂▃▄▅▆▇█"
MOST_MARKS = 40
_SHORT = 9
"""Letters of a commit's id."""


def harness_marks(statuses: Sequence[str], most: int = MOST_MARKS) -> str:
    """A mark for each behaviour, the oldest first; only the newest if there are many."""
    marks = "".join(HARNESS_MARKS.get(status, "·") for status in statuses[-most:])
    return f"…{marks}" if len(statuses) > most else marks


def sparkline(metrics: Sequence[float], most: int = 20) -> str:
    """The last values as bars, scaled from the smallest to the largest."""
    shown = metrics[-most:]
    low, high = (min(shown), max(shown)) if shown else (0.0, 0.0)
    if low == high:
        return _BARS[3] * len(shown)
    return "".join(_BARS[round((one - low) / (high - low) * (len(_BARS) - 1))] for one in shown)


def count_harness(statuses: Sequence[str]) -> str:
    """`3 passing, 1 blocked`; an unknown status is shown as it is."""
    order = dict.fromkeys((*HARNESS_MARKS, *statuses))
    return ", ".join(f"{statuses.count(one)} {one}" for one in order if one in statuses)


def status_lines(found: Sequence[ProgramSurvey]) -> list[Line]:
    if not found:
        return [Line("there is no program; `tdd loop new NAME` writes one to fill in")]
    return [line for one in found for line in _program_lines(one)]


def _program_lines(one: ProgramSurvey) -> Iterator[Line]:
    said = {
        "waiting": f"due at {one.next_due}",
        "running": f"running (process {one.pid})",
        "ready": "due",
        "not-ready": f"does not run: {one.why}",
    }.get(one.condition, f"{one.condition}: {one.why}")
    yield Line(f"{one.name} ({one.strategy}) {said}", _CONDITION_DOTS[one.condition])
    if one.open is not None:
        attempt = f", attempt {one.open.attempt}" if one.open.attempt else ""
        about = f" ({one.open.target})" if one.open.target else ""
        yield Line(f"  iteration {one.open.number}{about}: {one.open.phase}{attempt}")
    else:
        yield Line(f"  {count_of(one.iterations, 'iteration')}" if one.iterations else "  never run")
    if one.harness:
        yield Line(f"  harness {harness_marks(one.harness)}  {count_harness(one.harness)}")
    if one.best is not None or one.target_metric is not None:
        best = "not measured" if one.best is None else f"{one.best:g}"
        if one.target_metric is not None:
            best += f" of {one.target_metric:g} ({one.direction} is better)"
        yield Line(f"  best {best}  {sparkline(one.metrics)}".rstrip())
    yield Line(f"  branch {one.branch}")
    for ended in one.history:
        metric = "" if ended.metric is None else f", metric {ended.metric:g}"
        what = ended.change or "; ".join(ended.notes)
        yield Line(f"  {ended.number}: {ended.status}: {what}{metric}")
    if one.condition in {"paused", "completed"}:
        yield Line(f"next: `tdd loop resume {one.name}`")


def status_document(found: Sequence[ProgramSurvey]) -> dict[str, Any]:
    return {"programs": [_program_document(one) for one in found]}


def _program_document(one: ProgramSurvey) -> dict[str, Any]:
    """The fields of the survey; where there is nothing to say, null."""
    return {
        **{field.name: getattr(one, field.name) for field in fields(one)},
        "next_due": one.next_due or None,
        "pid": one.pid or None,
        "open": one.open and _document(one.open, "choice", "phase", "attempt", "target"),
        "harness": {status: one.harness.count(status) for status in dict.fromkeys(one.harness)},
        "metrics": list(one.metrics),
        "history": [
            _document(ended, "status", "at", "change", "target", "metric", "commit", "notes")
            for ended in one.history
        ],
    }


def _document(iteration: OpenWork | IterationEnded, *names: str) -> dict[str, Any]:
    return {"iteration": iteration.number, **{name: to_json(getattr(iteration, name)) for name in names}}


# -- the machine ------------------------------------------------------------------------------


def machine_lines(found: MachineSurvey) -> Iterator[Line]:
    run = "; it is at work" if found.running else ""
    if found.last and not found.running:
        run = f"; a run to step {found.last} was interrupted: `tdd run` goes on"
    yield Line(f"machine: step {found.step} is the {found.role}'s{run}  (in {found.root})")
    if found.commit:
        yield Line(f"  last commit {found.commit[:_SHORT]} {found.subject}")
    if found.stopped is not None:
        at = f"step {found.stopped.step}, {found.stopped.role}"
        yield Line(f"  {at}: {found.stopped.outcome}: {found.stopped.why}", "yellow")
    for red in found.reds:
        place = f" at {red.place}" if red.place else ""
        yield Line(f"  red {red.test_id}{place}: {red.failure}", "red")
    if found.running:
        yield Line(f"next: the {found.role} is at it; wait, or end the run with Ctrl-C where it was started")


def machine_document(found: MachineSurvey | None) -> dict[str, Any] | None:
    if found is None:
        return None
    stopped = found.stopped
    return {
        **{field.name: getattr(found, field.name) for field in fields(found)},
        "stopped": stopped
        and {"step": stopped.step, "role": stopped.role, "outcome": stopped.outcome, "why": stopped.why},
        "reds": [{"id": red.test_id, "failure": red.failure, "place": red.place} for red in found.reds],
    }
