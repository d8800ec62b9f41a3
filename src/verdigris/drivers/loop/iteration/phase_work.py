"""What the phases of an iteration share: a role's step, its answers without edits, and the phase's events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from verdigris.core.events import Event
from verdigris.core.fold import ACCEPTED
from verdigris.core.state import Red
from verdigris.drivers.commits import Proposal
from verdigris.drivers.edits import Bad, Seen, forbid
from verdigris.drivers.judges.refactorer import extent
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import (
    REJECTED,
    RETRIES,
    Behaviour,
    LoopPhase,
    OpenIteration,
    ProgramState,
    attempts_left,
)
from verdigris.drivers.loop.open_program import OpenProgram
from verdigris.drivers.loop.tasks import DRIVER, task_of
from verdigris.drivers.play import Exhausted, Play, begin_step, read_proposal
from verdigris.models.roles import Role
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.models.roles.context import Material
from verdigris.models.roles.prompt import Task
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project
from verdigris.turns.aside import lay_back

EXHAUSTED, STOPPED = "not-accepted", "stopped"
"""The outcome of a step without an accepted attempt, and of one whose role stopped instead of editing."""
_STEPS = 20
"""The numbers of steps that belong to one iteration."""
_NUMBER = {
    LoopPhase.RED: 1,
    LoopPhase.GREEN: 2,
    LoopPhase.RETHINK: 3,
    LoopPhase.REFACTOR: 5,
    LoopPhase.OPTIMIZE: 6,
    LoopPhase.ACCEPT: 6,
    LoopPhase.PAY: 12,
}
_GREEN_AGAIN = 4
_ATTEMPTS = 3
Own = TypeVar("Own", bound=e.IterationEvent)


def proposal_of(project: Project) -> Proposal:
    return read_proposal(project) or Proposal()


@dataclass(frozen=True)
class PhaseWork:
    open: OpenProgram
    text: str
    """The state file, with what people wrote there."""
    state: ProgramState
    now: OpenIteration

    @property
    def pinned(self) -> Behaviour:
        assert self.now.pinned is not None  # noqa: S101 - the phase follows from it
        return self.now.pinned

    def play(
        self,
        role: Role,
        phase: LoopPhase,
        judge: Callable[[EditPlan, Seen], Event | Bad],
        *,
        refused: Callable[[int, Bad], None] = lambda _, __: None,
        stand: Callable[[str], Event] | None = None,
        more: int = 0,
    ) -> Play[Event]:
        """`more`: of the step's number, where a phase has several."""
        reports: list[bool] = []

        def answer(reply: EditPlan | RoleStop, seen: Seen) -> Event | Bad:
            """A report in place of a lesson is sent back once; after that the lesson is left out."""
            reports.append(is_report(reply.lesson))
            if reports == [True]:
                return forbid(_NO_LESSON)
            if isinstance(reply, RoleStop):
                return self._answer_stop(phase, reply, stand)
            return judge(reply, seen)

        def carry_out(reply: EditPlan | RoleStop, attempt: int, seen: Seen) -> Event | Bad:
            if isinstance(reply, EditPlan):
                words = (reply.type, reply.subject, reply.rationale)
                proposal = Proposal(*words, improvement=reply.improvement, lesson=reply.lesson)
                self.open.propose(project, number, attempt, proposal)
            done = answer(reply, seen)
            if isinstance(done, Bad):
                refused(attempt, done)
            return done

        rethought = phase is LoopPhase.GREEN and self.now.rethought
        number = self.now.number * _STEPS + (_GREEN_AGAIN if rethought else _NUMBER[phase]) + more
        project = self.open.project_for(role)

        def set_back(why: str) -> None:
            lay_back(project, self.now.rest, f"step {number}, {role}: {why}")

        settings = self.open.settings
        most = {
            LoopPhase.RED: settings.picks,
            LoopPhase.GREEN: attempts_left(self.now, settings.attempts),
        }.get(phase, _ATTEMPTS)
        return self.open.play(project, role, number, most, carry_out, set_back)

    def take(
        self,
        play: Play[Event],
        phase: LoopPhase,
        *,
        taken: Callable[[], Event],
        reds: tuple[Red, ...] = (),
        note: str = "",
    ) -> Event | Exhausted:
        """`taken`: makes the result if the kernel had accepted the edits before a kill."""
        step = begin_step(play.project, DRIVER, play.step, play.role, self.now.rest)
        if step.verdict == ACCEPTED:
            return taken()
        task = task_of(play.role, play.step, self.open.found, self.state, self.text, reds)
        task = replace(task, notes=(*task.notes, note)) if note else task

        def show() -> tuple[Material, Task]:
            play.tell_beginning(str(phase))
            return self.open.material(self.now.rest), task

        result = play.take(show)
        if isinstance(result, Exhausted):
            play.tell_end(EXHAUSTED, result.why)
        return result

    def _answer_stop(
        self, phase: LoopPhase, stop: RoleStop, stand: Callable[[str], Event] | None
    ) -> Event | Bad:
        match stop.say:
            case Say.PROGRAM_IS_WRONG:
                return self.pause(f"the program is wrong: {stop.reason}")
            case Say.TEST_IS_WRONG if self.now.rethought:
                return forbid("the test was rethought in this iteration and stands: find another way")
            case Say.TEST_IS_WRONG:
                return self.doubt_event(f"test-is-wrong: {stop.reason}")
            case Say.TEST_IS_RIGHT if stand is not None:
                return stand(stop.reason)
            case Say.NOTHING_TO_DO if phase is LoopPhase.REFACTOR:
                return self.choice_event(self.now.rest, stop.reason, stop.lesson)
            case _:
                return self.end(REJECTED, str(phase), stop.reason)

    def count_lines(self, before: str, after: str) -> int:
        workspace = self.open.project.workspace
        paths = [change.path for change in workspace.changes(before, after)] if before != after else []
        return extent(workspace.read_many(before, paths), workspace.read_many(after, paths)).lines

    def pause(self, reason: str) -> e.ProgramPaused:
        return e.ProgramPaused(program=self.open.name, reason=reason, at=now_ms())

    def end(self, status: str, phase: str, *notes: str, commit: str = "") -> e.IterationEnded:
        return e.IterationEnded(
            program=self.open.name,
            number=self.now.number,
            status=status,
            at=now_ms(),
            target=self.now.pinned.target if self.now.pinned else "",
            change=self.now.pinned.behaviour if self.now.pinned else "",
            phase=phase,
            commit=commit,
            notes=notes,
        )

    def event(self, kind: type[Own], **facts: Any) -> Own:
        return kind(program=self.open.name, iteration=self.now.number, **facts)

    def doubt_event(self, reason: str) -> e.GreenFailed:
        """Counts as so many failed attempts that the test is rethought next."""
        attempt = max(RETRIES, self.now.attempts + 1)
        return self.event(e.GreenFailed, attempt=attempt, reasons=(reason,))

    def choice_event(self, tree: str, why: str, lesson: str = "", improvement: str = "") -> e.RefactorChosen:
        lesson = "" if is_report(lesson) else lesson
        return self.event(e.RefactorChosen, tree=tree, improvement=improvement, why=why, lesson=lesson)

    def improvement_event(self, project: Project) -> e.RefactorChosen:
        """An accepted improvement, in the words with which the role proposed it."""
        proposal, tree = proposal_of(project), project.workspace.snapshot()
        return self.choice_event(tree, proposal.rationale, proposal.lesson, proposal.improvement)


_NO_LESSON = "`lesson` reports what was done. Say a rule that holds for later iterations, or leave it empty"
_REPORTING = {
    *("added", "implemented", "fixed", "wrote", "refactored"),
    *("made", "changed", "created", "updated", "i", "we"),
}
_REPORTED = ("this iteration", "in iteration", "the test passes", "all tests pass", "now passes")


def is_report(lesson: str) -> bool:
    """Whether a lesson reports what was done, instead of stating a rule."""
    words = lesson.casefold().split()
    return bool(words) and (
        not _REPORTING.isdisjoint(words[:3])
        or any(f" {phrase} " in f" {' '.join(words)} " for phrase in _REPORTED)
    )
