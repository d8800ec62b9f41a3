"""Improves what is there: a refactor that is smaller than the green change, or the one idea of a ratchet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.drivers.attempts import Exhausted
from verdigris.drivers.edits import Bad, forbidden
from verdigris.drivers.judges.refactorer import extent, judge_refactoring
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.iteration.phase_work import PhaseWork
from verdigris.drivers.loop.iteration.phases import LoopPhase
from verdigris.drivers.loop.roles import IMPROVER, OPTIMIZER

if TYPE_CHECKING:
    from verdigris.core.events import Event
    from verdigris.drivers.edits import Seen
    from verdigris.models.roles.check import EditPlan

_ATTEMPTS = 3


class Improvement(PhaseWork):
    def improve(self, phase: LoopPhase) -> Event:
        role = IMPROVER if phase is LoopPhase.REFACTOR else OPTIMIZER
        project = self.open.acting(role)
        if self.now.made is not None and not self.now.made.lines:
            return self.chosen(self.now.rest, why="nothing was written that could be improved")

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            if large := self._too_large(plan):
                return large
            measured = role is OPTIMIZER
            found = judge_refactoring(project, self.open.settings, plan.changes, seen, optimizes=measured)
            return found or accepted()

        def accepted() -> Event:
            said = step.proposal()
            return self.chosen(project.workspace.snapshot(), said.improvement, said.rationale, said.lesson)

        step = self.step(role, phase, _ATTEMPTS, judge)
        got = step.take(self.task(step), taken=accepted)
        if isinstance(got, Exhausted):
            why = f"no change was accepted: {got.why}"
            return self.chosen(self.now.rest, why=why) if role is IMPROVER else self.error(str(phase), why)
        if isinstance(got, e.RefactorChosen):
            step.tell_end(str(phase), got.improvement or got.why)
        return got

    def _too_large(self, plan: EditPlan) -> Bad | None:
        if self.now.made is None:
            return None
        before = self.open.project.workspace.read_many(self.now.rest, list(plan.changes))
        found = extent(before, plan.changes)
        if found.lines < self.now.made.lines:
            return None
        return forbidden(
            f"it changes {found.lines} lines, and what made the test pass has {self.now.made.lines}:"
            " a refactor is smaller than that, or wants an iteration of its own"
        )
