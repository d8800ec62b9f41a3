"""One step of one role: ask, write, judge, and try again with the reason."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.errors import VerdigrisError
from verdigris.core.fold import ACCEPTED
from verdigris.core.value import replace
from verdigris.drivers.attempts import Attempts, Exhausted
from verdigris.drivers.edits import Bad, describe_reds, join_reasons
from verdigris.drivers.judges.implementor import judge_implementation, open_reds
from verdigris.drivers.judges.refactorer import judge_refactoring, mending
from verdigris.drivers.judges.step import standing
from verdigris.drivers.judges.tester import judge_tests
from verdigris.drivers.machine.commit import StepCommit, commit_step, open_step, propose
from verdigris.drivers.machine.roles import IMPLEMENTOR, TESTER
from verdigris.drivers.message import Proposal, Verified, told_red
from verdigris.drivers.step_records import StepLog
from verdigris.models.roles import feedback
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import EditPlan, Stop
from verdigris.models.roles.prompt import Task
from verdigris.turns.aside import lay_back

if TYPE_CHECKING:
    from verdigris.drivers.edits import Seen
    from verdigris.drivers.machine.history import Position
    from verdigris.drivers.machine.open_machine import Machine
    from verdigris.models.roles.context import Material
    from verdigris.storage.project import Project
    from verdigris.turns.git import commit

HOOK = "git commit"


Outcome: TypeAlias = StepCommit | Stop | Exhausted


class Step:
    """A step of a role that a model plays."""

    def __init__(
        self, machine: Machine, position: Position, material: Material, notes: tuple[str, ...]
    ) -> None:
        self._machine, self._position, self._role = machine, position, position.role
        self._project = machine.acting(position.role)
        model = machine.casting.model(position.role.name, position.step)
        metered = machine.meter.metered(model, position.step, position.role)
        self._log = StepLog(machine.keeper, position.step, position.role, metered)
        self._attempts = Attempts(
            self._project,
            metered,
            self._log,
            machine.settings.attempts,
            machine.watch,
            machine.casting.scrub,
        )
        self._material, self._notes = material, notes

    def take(self) -> Outcome:
        try:
            return self._make_step()
        except BaseException:
            # Ctrl-C too: what is not accepted is set aside, and the step can be taken again.
            with suppress(VerdigrisError):
                self._back("the step was interrupted")
            raise

    def _make_step(self) -> Outcome:
        if self._is_accepted():
            done = self._commit(None)
            if isinstance(done, StepCommit):
                return done
            self._notes = (*self._notes, done.said)
        else:
            self._back("the step was interrupted")
        return self._converse()

    def _is_accepted(self) -> bool:
        return open_step(self._project).verdict == ACCEPTED

    def _converse(self) -> Outcome:
        return self._attempts.make(self._material, self._task(), self._judge_answer)

    def _judge_answer(self, got: EditPlan | Stop, attempt: int) -> StepCommit | Stop | Bad:
        if isinstance(got, EditPlan):
            return self._carry_out(got, attempt)
        red = refuse_unfinished(self._project, got)
        if red is None:
            return self._log_stop(got)
        self._log.attempt(attempt, reasons=red.reasons)
        return red

    def _task(self) -> Task:
        now = self._position
        if self._role is IMPLEMENTOR:
            return Task(self._role, now.step, describe_reds(open_reds(self._project, now.tests)), self._notes)
        words = standing(self._project).words
        returned = self._role is TESTER and bool(now.finding)
        return Task(self._role, now.step, (), self._notes, words, returned)

    # -- the edits ----------------------------------------------------------------------------

    def _carry_out(self, plan: EditPlan, attempt: int) -> StepCommit | Bad:
        reds = (
            dict(map(told_red, open_reds(self._project, self._position.tests)))
            if self._role is IMPLEMENTOR
            else {}
        )
        because = self._position.finding if self._role is TESTER else ""
        intents = dict(plan.intents)
        said = Proposal(plan.type, plan.subject, plan.rationale, intents, reds, because, plan.points)
        propose(self._machine, self._project, attempt, said)
        seen: Seen = []
        found = self._judge_edits(plan, seen)
        done = found if isinstance(found, Bad) else self._commit(found)
        paths = tuple(plan.changes)
        if isinstance(done, Bad):
            self._log.attempt(attempt, paths=paths, reasons=done.reasons, output=done.output, runs=seen)
            self._back(join_reasons(self._attempts.shorten(done.reasons)))
            return done
        self._log.attempt(attempt, paths=paths, runs=seen)
        return done

    def _judge_edits(self, plan: EditPlan, seen: Seen) -> Verified | Bad | None:
        """None: accepted by the kernel, whose log knows the rest."""
        start = open_step(self._project).tree
        changes = mending(self._project, start, plan.changes)
        if self._is_accepted() or self._role.judge == "refactor":
            return judge_refactoring(self._project, self._machine.settings, changes, seen)
        if self._role.judge == "red":
            settings = self._machine.settings
            return judge_tests(self._project, settings, replace(plan, changes=changes), start, seen)
        meant = replace(plan, changes=changes)
        return judge_implementation(
            self._project, self._machine.settings, self._machine.kata(), meant, self._position.tests, seen
        )

    def _commit(self, found: Verified | None) -> StepCommit | Bad:
        match commit_step(self._machine, self._project, found):
            case StepCommit() as done:
                self._log.ended(
                    outcome="committed",
                    verdict=done.verdict,
                    commit=done.commit,
                    subject=done.subject,
                    concerns=list(done.concerns),
                )
                return done
            case refused:
                return _by_hook(refused)

    def _back(self, why: str) -> None:
        """To the step's start; what was accepted stays, and waits to be committed."""
        step = open_step(self._project)
        lay_back(self._project, step.rest or step.tree, f"step {step.step}, {step.role}: {why}")

    def _log_stop(self, stop: Stop) -> Stop:
        self._log.ended(outcome=stop.say.value, why=stop.reason)
        return replace(stop, reason=self._machine.casting.scrub(stop.reason))


def _by_hook(refused: commit.CommitRefused) -> Bad:
    said = feedback.tool_failed(HOOK, HOOK, f"{refused.why}\n{refused.output}")
    return Bad(said, (refused.why,), refused.output)


def refuse_unfinished(project: Project, stop: Stop) -> Bad | None:
    """A kata is done when every test passes."""
    if stop.say is not Say.KATA_DONE:
        return None
    found = standing(project)
    if found.green:
        return None
    reason = f"kata-done needs tests that all pass, and these fail: {found.named}"
    return Bad(feedback.not_allowed(reason), (reason,))
