"""Has a commit accepted by CI: asks, lets a role mend what fails there, and stops in the end."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.drivers.attempts import Exhausted
from verdigris.drivers.happenings import Noted
from verdigris.drivers.judges.refactorer import judge_refactoring
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.branches.remote import Pushed, Unreachable
from verdigris.drivers.loop.branches.work import BRANCHES, push_branch
from verdigris.drivers.loop.ci.acceptance import (
    GH,
    UNREACHABLE,
    Accept,
    AskAgain,
    AskLater,
    CiFailed,
    Fix,
    GithubChecks,
    Pause,
    ask_command,
    follow_answer,
    outcome_of,
)
from verdigris.drivers.loop.history import CI_EXHAUSTED
from verdigris.drivers.loop.iteration.candidate import OutOfReach
from verdigris.drivers.loop.iteration.phase_work import PhaseWork
from verdigris.drivers.loop.iteration.phases import LoopPhase
from verdigris.drivers.loop.roles import IMPROVER
from verdigris.models.roles.prompt import clip, put_fences
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from verdigris.core.events import Event
    from verdigris.drivers.edits import Bad, Seen
    from verdigris.drivers.loop.ci.acceptance import CiAnswer
    from verdigris.drivers.loop.iteration.candidate import CandidateCommit
    from verdigris.models.roles.check import EditPlan

_ATTEMPTS = 3
_OUTPUT = 1_500
"""Tokens of what CI printed, that a role is shown."""


class CiCheck(PhaseWork):
    def conclude(self, candidate: CandidateCommit) -> Event | None:
        """None: something was done, and the iteration goes on."""
        if (rejected := candidate.judge()) is not None:
            return rejected
        if not self.open.settings.ci:
            return candidate.accept()
        commit = head(self.open.project.repo).commit or ""
        answer = self._ask(commit)
        before = [one for one in self.now.ci if one.commit != commit or one.outcome == UNREACHABLE]
        follows = follow_answer(answer, before)
        self.open.record(self._checked(commit, answer, follows.attempt if isinstance(follows, Fix) else 0))
        match follows:
            case Accept(note):
                told = {known for one in self.state.iterations for known in one.notes}
                return candidate.accept("" if note in told else note)
            case Pause(reason):
                return candidate.end(CI_EXHAUSTED, reason)
            case Fix(attempt) if isinstance(answer, CiFailed):
                return self._mend(candidate, attempt, answer)
            case AskAgain(seconds):
                self.open.watch(Noted(f"CI is asked again in {seconds:g} s"))
                time.sleep(seconds)
                return None
            case AskLater(why):
                raise OutOfReach(why)
            case _:
                return None

    def _ask(self, commit: str) -> CiAnswer:
        settings, remote = self.open.settings, self.open.remote
        if settings.ci != GH:
            return ask_command(self.open.project, settings.ci, settings.ci_minutes)
        if remote is None:
            return Unreachable(f"there is no remote {settings.remote or '(none is configured)'}")
        pushed = push_branch(self.open.home, self.open.name, remote)
        if not isinstance(pushed, Pushed):
            return Unreachable(f"the branch is not pushed: {pushed.why}")
        return GithubChecks(self.open.home.root, settings.ci_minutes).ask(
            commit, f"{BRANCHES}{self.open.name}"
        )

    def _checked(self, commit: str, answer: CiAnswer, attempt: int) -> e.CheckedByCi:
        return e.CheckedByCi(
            program=self.open.name,
            iteration=self.now.number,
            commit=commit,
            outcome=outcome_of(answer),
            signature=answer.signature if isinstance(answer, CiFailed) else "",
            attempt=attempt,
        )

    def _mend(self, candidate: CandidateCommit, attempt: int, failed: CiFailed) -> Event | None:
        """As a refactor: the tests that pass here keep passing. What needs another behaviour needs a red."""
        project = self.open.acting(IMPROVER)

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            return judge_refactoring(project, self.open.settings, plan.changes, seen) or mended()

        def mended() -> Event:
            said = step.proposal()
            return self.chosen(project.workspace.snapshot(), said.improvement, said.rationale)

        step = self.step(IMPROVER, LoopPhase.ACCEPT, _ATTEMPTS, judge)
        step = replace(step, number=step.number + attempt)
        shown = put_fences(clip(failed.output, _OUTPUT))
        note = f"CI fails on this commit. Mend it and keep the behaviour; `improvement` names it:\n{shown}"
        got = step.take(self.task(step, note=note), taken=mended)
        if isinstance(got, Exhausted) or not isinstance(got, e.RefactorChosen) or not got.improvement:
            why = got.why if isinstance(got, Exhausted | e.RefactorChosen) else "a role stopped"
            return candidate.end(CI_EXHAUSTED, f"ci-fix-exhausted: {failed.signature}", why)
        step.tell_end("ci-fix")
        self.open.record(got)
        return candidate.commit(f"CI fix {attempt}: {got.improvement}") or candidate.evaluate()
