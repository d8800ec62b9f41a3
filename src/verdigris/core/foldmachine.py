"""What the events add up to for the machine: the run, the step that is open, and steps without a commit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core import events as e
from verdigris.core.state import MachineState, OpenStep, PassedStep

if TYPE_CHECKING:
    from verdigris.core.events import Event

REMEMBERED_STEPS = 50
ACCEPTED, REPAIRED = "accepted", "repaired"


def machine_after(m: MachineState, event: Event, asides: int = 0) -> MachineState:
    """`asides`: how many things were set aside in the worktree so far."""
    match event:
        case e.MachineStarted():
            return replace(m, runs=m.runs + 1, first=event.first, last=event.last, stopped=None)
        case e.MachineEnded():
            return replace(m, first=0, last=0)
        case e.StepBegun():
            return replace(m, step=OpenStep(event.step, event.role, event.commit, event.tree, asides=asides))
        case e.StepPassed():
            done = PassedStep(event.step, event.role, event.outcome, event.why, event.after)
            return replace(m, step=None, passed=(*m.passed, done)[-REMEMBERED_STEPS:], stopped=None)
        case e.StepStopped():
            stopped = PassedStep(event.step, event.role, event.outcome, event.why, "")
            return replace(m, step=None, stopped=stopped)
        case e.Committed():
            return replace(m, step=None, stopped=None)
        case _ if m.step is not None:
            step = _open(m.step, event)
            return m if step is m.step else replace(m, step=step)
        case _:
            return m


def _open(step: OpenStep, event: Event) -> OpenStep:
    """Once accepted, its message stands: what is mended after that is not what it is about.

    Where only some claims were accepted, they stay, and the step goes on for the others.
    """
    match event:
        case e.StepProposed() if step.verdict != ACCEPTED:
            return replace(step, proposal=event.proposal, verdict="")
        case e.Repair() if step.verdict != ACCEPTED:
            return replace(step, verdict=REPAIRED)
        case e.Settled(verdict="accepted") | e.RefactorEnded(verdict="accepted"):
            whole = step.verdict != REPAIRED
            verdict = ACCEPTED if whole else REPAIRED
            return replace(step, verdict=verdict, rest=event.tree, concerns=event.concerns)
        case e.Accepted():
            return replace(step, tests=(*step.tests, event.test_id))
        case _:
            return step
