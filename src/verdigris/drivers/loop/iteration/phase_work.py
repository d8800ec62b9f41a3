"""What the phases of an iteration share: a role's step, its answers without edits, and the phase's events."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.core.events import StepBegun, StepProposed
from verdigris.core.fold import ACCEPTED
from verdigris.core.records import from_json, to_json
from verdigris.core.value import replace, value
from verdigris.drivers.budget import as_tokens
from verdigris.drivers.edits import Bad, forbid
from verdigris.drivers.happenings import Attempted, Refused, StepBegan, StepEnded
from verdigris.drivers.judges.refactorer import extent
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import ERROR, REJECTED, RETRIES, LoopPhase
from verdigris.drivers.loop.tasks import DRIVER, task_of
from verdigris.drivers.play import Exhausted, undo_when_interrupted
from verdigris.models.protocol import Usage
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.storage.log.log import now_ms
from verdigris.storage.repository import head
from verdigris.turns.aside import lay_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.core.events import Event
    from verdigris.core.state import OpenStep, Red
    from verdigris.drivers.budget import Metered
    from verdigris.drivers.edits import Seen
    from verdigris.drivers.happenings import Happening
    from verdigris.drivers.loop.history import Behaviour, OpenIteration, ProgramState
    from verdigris.drivers.loop.open_program import OpenProgram
    from verdigris.models.roles import Role
    from verdigris.models.roles.prompt import Task
    from verdigris.storage.project import Project


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
}
_GREEN_AGAIN = 4


@value
class LoopProposal:
    """A role's words about its edits."""

    subject: str = ""
    rationale: str = ""
    improvement: str = ""
    lesson: str = ""


@dataclass(frozen=True)
class RoleStep:
    """One conversation with a role. `number` stays the same after a kill, so that a recording still fits."""

    open: OpenProgram
    project: Project
    """The project as the role acts in it."""
    role: Role
    number: int
    rest: str
    """The tree at its start; a refused attempt goes back to it."""
    most: int
    """How many attempts it has."""
    judge: Callable[[EditPlan, Seen], Event | Bad]
    heed: Callable[[RoleStop], Event | Bad]
    """Answers a role that stops instead of editing."""
    refused: Callable[[int, Bad], None] = lambda _, __: None
    phase: str = ""
    earlier: int = 0
    """Attempts of an earlier step at the same task; watchers count on from them."""
    asked: list[Metered] = field(default_factory=list)
    """Its model, once it was asked, for the tokens it used."""

    def take(self, task: Task, *, taken: Callable[[], Event]) -> Event | Exhausted:
        """`taken`: makes the result if the kernel had accepted the edits before a kill."""
        step = self._begin()
        if step.verdict == ACCEPTED:
            return taken()
        with undo_when_interrupted(lambda: self._set_back("the step was interrupted")):
            got = self._ask(task)
        if isinstance(got, Exhausted):
            self.tell_end(EXHAUSTED, got.why)
        return got

    def _begin(self) -> OpenStep:
        """Begins on the tree that the last step left, and sets aside what a killed attempt wrote."""
        open_ = self.project.state().machine.step
        if open_ is None or (open_.driver, open_.step, open_.role) != (DRIVER, self.number, self.role.name):
            commit = head(self.project.repo).commit or ""
            begun = StepBegun(
                step=self.number, role=self.role.name, commit=commit, tree=self.rest, driver=DRIVER
            )
            self.project.record(begun, sync=True)
        step = self.project.state().machine.step
        assert step is not None  # noqa: S101 - it was begun just now
        if step.verdict != ACCEPTED:
            self._set_back("the step was interrupted")
        return step

    def _ask(self, task: Task) -> Event | Exhausted:
        attempts = self.open.attempts(self.project, self.role, self.number, self.most)
        most = self.earlier + self.most
        self.open.watch(StepBegan(self.number, self.role.name, attempts.model.name, most, self.phase))
        self.asked.append(attempts.model)
        reports: list[bool] = []

        def answer(got: EditPlan | RoleStop, seen: Seen) -> Event | Bad:
            """A report in place of a lesson is sent back once; after that the lesson is left out."""
            reports.append(is_report(got.lesson))
            if reports == [True]:
                return forbid(_NO_LESSON)
            return self.heed(got) if isinstance(got, RoleStop) else self.judge(got, seen)

        def carry_out(got: EditPlan | RoleStop, attempt: int, seen: Seen) -> Event | Bad:
            if isinstance(got, EditPlan):
                self._propose(got, attempt)
            done = answer(got, seen)
            if isinstance(done, Bad):
                self.refused(attempt, done)
            return done

        told = replace(attempts, watch=self._tell)
        return told.make(self.open.material(self.rest), task, carry_out, self._set_back)

    def _tell(self, happening: Happening) -> None:
        if isinstance(happening, Attempted | Refused):
            happening = replace(happening, attempt=happening.attempt + self.earlier)
        self.open.watch(happening)

    def _propose(self, plan: EditPlan, attempt: int) -> None:
        """Records the proposal before any edit is written, without keys that a model may have repeated."""
        said = LoopProposal(plan.subject, plan.rationale, plan.improvement, plan.lesson)
        document = self.open.role_models.scrub.document(to_json(said))
        blob = self.project.workspace.blob(json.dumps(document, sort_keys=True).encode())
        self.project.record(StepProposed(step=self.number, attempt=attempt, proposal=blob), sync=True)

    def _set_back(self, why: str) -> None:
        lay_back(self.project, self.rest, f"step {self.number}, {self.role}: {why}")

    def proposal(self) -> LoopProposal:
        """The role's words about the edits that are judged or accepted now."""
        step = self.project.state().machine.step
        data = self.project.workspace.blob_bytes(step.proposal) if step and step.proposal else None
        return from_json(LoopProposal, json.loads(data)) if data else LoopProposal()

    def tell_end(self, outcome: str, why: str = "") -> None:
        """Tells watchers the outcome; the event of the phase records it."""
        used = sum((metered.usage for metered in self.asked), Usage())
        self.open.watch(StepEnded(self.number, self.role.name, outcome, why, **as_tokens(used)))


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

    def step(
        self,
        role: Role,
        phase: LoopPhase,
        most: int,
        judge: Callable[[EditPlan, Seen], Event | Bad],
        *,
        refused: Callable[[int, Bad], None] = lambda _, __: None,
        stand: Callable[[str], Event] | None = None,
    ) -> RoleStep:
        rethought = phase is LoopPhase.GREEN and self.now.rethought
        number = self.now.number * _STEPS + (_GREEN_AGAIN if rethought else _NUMBER[phase])
        return RoleStep(
            self.open,
            self.open.project_for(role),
            role,
            number,
            self.now.rest,
            most,
            judge,
            lambda stop: self._answer_stop(phase, stop, stand),
            refused,
            str(phase),
        )

    def _answer_stop(
        self, phase: LoopPhase, stop: RoleStop, stand: Callable[[str], Event] | None
    ) -> Event | Bad:
        match stop.say:
            case Say.PROGRAM_IS_WRONG:
                return self.pause(f"the program is wrong: {stop.reason}")
            case Say.TEST_IS_WRONG if self.now.rethought:
                return forbid("the test was rethought in this iteration and stands: find another way")
            case Say.TEST_IS_WRONG:
                return self.failure_event(
                    max(RETRIES, self.now.attempts + 1), (f"test-is-wrong: {stop.reason}",)
                )
            case Say.TEST_IS_RIGHT if stand is not None:
                return stand(stop.reason)
            case Say.NOTHING_TO_DO if phase is LoopPhase.REFACTOR:
                return self.choice_event(self.now.rest, why=stop.reason, lesson=stop.lesson)
            case _:
                return self.end(REJECTED, str(phase), stop.reason)

    def task(self, step: RoleStep, reds: tuple[Red, ...] = (), note: str = "") -> Task:
        found = task_of(step.role, step.number, self.open.found, self.state, self.text, reds)
        return replace(found, notes=(*found.notes, note)) if note else found

    def count_lines(self, before: str, after: str) -> int:
        workspace = self.open.project.workspace
        paths = [change.path for change in workspace.changes(before, after)] if before != after else []
        return extent(workspace.read_many(before, paths), workspace.read_many(after, paths)).lines

    def pause(self, reason: str) -> e.ProgramPaused:
        return e.ProgramPaused(
            program=self.open.name, reason=self.open.role_models.scrub(reason), at=now_ms()
        )

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
            notes=(self.open.role_models.scrub(why),),
        )

    def failure_event(self, attempt: int, reasons: tuple[str, ...]) -> e.GreenFailed:
        told = tuple(map(self.open.role_models.scrub, reasons))
        return e.GreenFailed(program=self.open.name, iteration=self.now.number, attempt=attempt, reasons=told)

    def choice_event(
        self, tree: str, improvement: str = "", why: str = "", lesson: str = ""
    ) -> e.RefactorChosen:
        return e.RefactorChosen(
            program=self.open.name,
            iteration=self.now.number,
            tree=tree,
            improvement=improvement,
            why=self.open.role_models.scrub(why),
            lesson="" if is_report(lesson) else self.open.role_models.scrub(lesson),
        )


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
