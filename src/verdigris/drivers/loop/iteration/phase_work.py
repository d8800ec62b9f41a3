"""What the phases of an iteration share: a role's step in it, what a stop comes to, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.drivers.edits import Bad, forbidden
from verdigris.drivers.judges.refactorer import extent
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import ERROR, REJECTED
from verdigris.drivers.loop.iteration.context import task_of
from verdigris.drivers.loop.iteration.phases import RETRIES, LoopPhase, is_report
from verdigris.drivers.loop.iteration.role_step import RoleStep
from verdigris.drivers.loop.open_program import now_ms
from verdigris.models.roles.answer import Say

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.core.events import Event
    from verdigris.core.state import Red
    from verdigris.drivers.edits import Seen
    from verdigris.drivers.loop.history import Behaviour, OpenIteration, ProgramState
    from verdigris.drivers.loop.open_program import OpenProgram
    from verdigris.models.roles import Role
    from verdigris.models.roles.check import EditPlan, Stop
    from verdigris.models.roles.prompt import Task

_STEPS = 20
"""Numbers of steps that one iteration has for itself."""
_NUMBER = {
    LoopPhase.RED: 1,
    LoopPhase.GREEN: 2,
    LoopPhase.RETHINK: 3,
    LoopPhase.REFACTOR: 5,
    LoopPhase.OPTIMIZE: 6,
    LoopPhase.ACCEPT: 6,
}
_GREEN_AGAIN = 4


@dataclass(frozen=True)
class PhaseWork:
    open: OpenProgram
    text: str
    """The state file as it stands, of which people may have written parts."""
    state: ProgramState
    now: OpenIteration

    @property
    def pinned(self) -> Behaviour:
        assert self.now.pinned is not None  # noqa: S101 - the phase follows from it
        return self.now.pinned

    def step(
        self,
        role: Role,
        phase: LoopPhase,
        most: int,
        judge: Callable[[EditPlan, Seen], Event | Bad],
        *,
        refused: Callable[[int, Bad], None] = lambda _, __: None,
        stand: Callable[[str], Event] | None = None,
    ) -> RoleStep[Event]:
        rethought = phase is LoopPhase.GREEN and self.now.rethought
        number = self.now.number * _STEPS + (_GREEN_AGAIN if rethought else _NUMBER[phase])

        def once(plan: EditPlan, seen: Seen) -> Event | Bad:
            """A report in the place of a lesson is sent back once; after that it is left out."""
            sent_back.append(is_report(plan.lesson))
            return _no_lesson() if sent_back == [True] else judge(plan, seen)

        def heed(stop: Stop) -> Event | Bad:
            sent_back.append(is_report(stop.lesson))
            if sent_back == [True]:
                return _no_lesson()
            return self._heed(phase, stop, stand)

        sent_back: list[bool] = []
        return RoleStep(
            self.open,
            self.open.acting(role),
            role,
            number,
            self.now.rest,
            most,
            once,
            heed,
            refused,
            str(phase),
        )

    def _heed(self, phase: LoopPhase, stop: Stop, stand: Callable[[str], Event] | None) -> Event | Bad:
        match stop.say:
            case Say.PROGRAM_IS_WRONG:
                return self.pause(f"the program is wrong: {stop.reason}")
            case Say.TEST_IS_WRONG if self.now.rethought:
                return forbidden("the test was rethought in this iteration and stands: find another way")
            case Say.TEST_IS_WRONG:
                return self.failed(max(RETRIES, self.now.attempts + 1), (f"test-is-wrong: {stop.reason}",))
            case Say.TEST_IS_RIGHT if stand is not None:
                return stand(stop.reason)
            case Say.NOTHING_TO_DO if phase is LoopPhase.REFACTOR:
                return self.chosen(self.now.rest, why=stop.reason, lesson=stop.lesson)
            case _:
                return self.end(REJECTED, str(phase), stop.reason)

    def task(self, step: RoleStep[Event], reds: tuple[Red, ...] = (), note: str = "") -> Task:
        found = task_of(step.role, step.number, self.open.found, self.state, self.text, reds)
        return replace(found, notes=(*found.notes, note)) if note else found

    def count_lines(self, before: str, after: str) -> int:
        workspace = self.open.project.workspace
        paths = [change.path for change in workspace.changes(before, after)] if before != after else []
        return extent(workspace.read_many(before, paths), workspace.read_many(after, paths)).lines

    def pause(self, reason: str) -> e.ProgramPaused:
        return e.ProgramPaused(program=self.open.name, reason=self.open.casting.scrub(reason), at=now_ms())

    def error(self, phase: str, why: str) -> e.IterationEnded:
        return self.end(ERROR, phase, why)

    def end(self, status: str, phase: str, why: str, *, commit: str = "") -> e.IterationEnded:
        return e.IterationEnded(
            program=self.open.name,
            number=self.now.number,
            status=status,
            at=now_ms(),
            target=self.now.pinned.target if self.now.pinned else "",
            change=self.now.pinned.behaviour if self.now.pinned else "",
            phase=phase,
            commit=commit,
            notes=(self.open.casting.scrub(why),),
        )

    def failed(self, attempt: int, reasons: tuple[str, ...]) -> e.GreenFailed:
        told = tuple(map(self.open.casting.scrub, reasons))
        return e.GreenFailed(program=self.open.name, iteration=self.now.number, attempt=attempt, reasons=told)

    def chosen(self, tree: str, improvement: str = "", why: str = "", lesson: str = "") -> e.RefactorChosen:
        return e.RefactorChosen(
            program=self.open.name,
            iteration=self.now.number,
            tree=tree,
            improvement=improvement,
            why=self.open.casting.scrub(why),
            lesson="" if is_report(lesson) else self.open.casting.scrub(lesson),
        )


def _no_lesson() -> Bad:
    return forbidden(
        "`lesson` reports what was done. Say a rule that holds for later iterations, or leave it empty"
    )
