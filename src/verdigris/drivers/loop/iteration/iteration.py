"""One iteration of a program: pick, red, green, refactor, commit, evaluate, accept or reject.

Each phase ends in an event, and the next phase follows from the events alone. So an iteration that was
killed goes on where it was, and does nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdigris.drivers.happenings import IterationBegan, PhaseBegan
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.iteration.candidate import CandidateCommit
from verdigris.drivers.loop.iteration.ci_check import CiCheck
from verdigris.drivers.loop.iteration.phases import LoopPhase, choose_iteration, next_phase
from verdigris.drivers.loop.iteration.role_phases import Improvement, Pinning
from verdigris.drivers.loop.occupancy import is_asked_to_stop
from verdigris.drivers.loop.open_program import now_ms
from verdigris.drivers.loop.state_file.view import read_count
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from verdigris.core.events import Event
    from verdigris.drivers.loop.history import OpenIteration, ProgramState
    from verdigris.drivers.loop.open_program import OpenProgram


@dataclass(frozen=True)
class Iteration:
    open: OpenProgram
    text: str
    """The state file as it stands, of which people may have written parts."""

    def make(self) -> e.IterationEnded | e.ProgramPaused | None:
        """From wherever it is to its end, or to a pause; None: a person paused or stopped it meanwhile."""
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
        candidate = CandidateCommit(self.open, state, now)
        phase = next_phase(
            now,
            is_test_driven=self.open.found.is_test_driven,
            committed=candidate.is_committed,
            attempts=self.open.settings.attempts,
        )
        self.open.watch(PhaseBegan(self.open.name, now.number, str(phase)))
        work = (self.open, self.text, state, now)
        match phase:
            case LoopPhase.RED:
                return Pinning(*work).pin()
            case LoopPhase.GREEN:
                return Pinning(*work).make_green()
            case LoopPhase.RETHINK:
                return Pinning(*work).rethink()
            case LoopPhase.BLOCK:
                return Pinning(*work).block(candidate)
            case LoopPhase.REFACTOR | LoopPhase.OPTIMIZE:
                return Improvement(*work).improve(phase)
            case LoopPhase.COMMIT:
                return candidate.commit()
            case LoopPhase.EVALUATE:
                return candidate.evaluate()
            case LoopPhase.ACCEPT:
                return CiCheck(*work).conclude(candidate)
