"""What `tdd status` says of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.drivers.machine.survey import MachineSurvey

_SHORT = 9


def lines(found: MachineSurvey) -> list[Line]:
    return list(_lines(found))


def _lines(found: MachineSurvey) -> Iterator[Line]:
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


def document(found: MachineSurvey | None) -> dict[str, Any] | None:
    if found is None:
        return None
    stopped = found.stopped
    return {
        "step": found.step,
        "role": found.role,
        "last": found.last,
        "running": found.running,
        "root": found.root,
        "commit": found.commit,
        "subject": found.subject,
        "stopped": None
        if stopped is None
        else {"step": stopped.step, "role": stopped.role, "outcome": stopped.outcome, "why": stopped.why},
        "reds": [{"id": red.test_id, "failure": red.failure, "place": red.place} for red in found.reds],
    }
