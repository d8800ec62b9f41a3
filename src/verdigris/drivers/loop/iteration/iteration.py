"""One iteration of a program: pick, red, green, refactor, commit, evaluate, accept or reject.

Each phase ends in an event, and the events alone decide the next phase. So an iteration that was killed
goes on where it was, and does nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from verdigris.core.events import Event
from verdigris.drivers.happenings import IterationBegan, PhaseBegan
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import (
    LoopPhase,
    OpenIteration,
    ProgramState,
    choose_iteration,
    next_phase,
)
from verdigris.drivers.loop.iteration.role_phases import RolePhases
from verdigris.drivers.loop.open_program import OpenProgram, is_asked_to_stop
from verdigris.drivers.loop.state_file.view import read_count
from verdigris.storage.log.log import now_ms
from verdigris.storage.repository import head


@dataclass(frozen=True)
class Iteration:
    open: OpenProgram
    text: str
    """The state file, with what people wrote there."""

    def make(self) -> e.IterationEnded | e.ProgramPaused | None:
        """Works until the iteration has ended or is paused; None: a person paused or stopped it meanwhile."""
        state = self.open.state()
        if state.open is None:
            self._begin(state)
        while True:
            state = self.open.state()
            if state.paused or is_asked_to_stop(self.open.home.repo, self.open.name):
                return None
            assert state.open is not None  # noqa: S101 - nothing but its end closes it
            event = self._play(state, state.open)
            if event is None:
                continue
            self.open.record(event)
            if isinstance(event, e.IterationEnded | e.ProgramPaused):
                return event

    def _begin(self, state: ProgramState) -> None:
        project = self.open.project
        choice = choose_iteration(state) if self.open.found.is_test_driven else "new"
        begun = e.IterationBegun(
            program=self.open.name,
            number=max(state.count, read_count(self.text)) + 1,
            commit=head(project.repo).commit or "",
            tree=project.workspace.snapshot(),
            at=now_ms(),
            choice=choice,
        )
        self.open.record(begun)
        target = state.failing[0].target if state.failing and choice != "new" else ""
        self.open.watch(IterationBegan(self.open.name, begun.number, choice, target))

    def _play(self, state: ProgramState, now: OpenIteration) -> Event | None:
        phases = RolePhases(self.open, self.text, state, now)
        phase = next_phase(
            now,
            is_test_driven=self.open.found.is_test_driven,
            committed=phases.is_committed,
            owes=bool(phases.list_owed()),
            attempts=self.open.settings.attempts,
        )
        self.open.watch(PhaseBegan(self.open.name, now.number, str(phase)))
        match phase:
            case LoopPhase.RED:
                return phases.pin()
            case LoopPhase.GREEN:
                return phases.make_green()
            case LoopPhase.RETHINK:
                return phases.rethink()
            case LoopPhase.BLOCK:
                return phases.block()
            case LoopPhase.REFACTOR | LoopPhase.OPTIMIZE:
                return phases.improve(phase)
            case LoopPhase.PAY:
                return phases.pay()
            case LoopPhase.COMMIT:
                return phases.commit()
            case LoopPhase.EVALUATE:
                return phases.evaluate()
            case LoopPhase.ACCEPT:
                return phases.decide()
