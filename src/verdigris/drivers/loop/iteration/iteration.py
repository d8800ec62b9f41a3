"""One iteration of a program: pick, red, green, refactor, commit, evaluate, accept or reject.

Each phase ends in an event, and the events alone decide the next phase. So an iteration that was killed
goes on where it was, and does nothing twice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from verdigris.core.events import Event
from verdigris.drivers.edits import Bad, Seen
from verdigris.drivers.happenings import IterationBegan, Noted, PhaseBegan
from verdigris.drivers.judges.refactorer import judge_refactoring
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.branches.remote import Pushed
from verdigris.drivers.loop.branches.work import BRANCHES, push_branch
from verdigris.drivers.loop.ci.acceptance import (
    GH,
    UNREACHABLE,
    Accept,
    AskAgain,
    AskLater,
    CiAnswer,
    Fix,
    GithubChecks,
    Pause,
    ask_command,
    follow_answer,
)
from verdigris.drivers.loop.history import (
    CI_EXHAUSTED,
    LoopPhase,
    OpenIteration,
    ProgramState,
    choose_iteration,
    next_phase,
)
from verdigris.drivers.loop.iteration.candidate import CandidateCommit, OutOfReach
from verdigris.drivers.loop.iteration.phase_work import PhaseWork
from verdigris.drivers.loop.iteration.role_phases import Improvement, Pinning
from verdigris.drivers.loop.open_program import OpenProgram, is_asked_to_stop
from verdigris.drivers.loop.state_file.view import read_count
from verdigris.drivers.loop.tasks import REFACTORER
from verdigris.drivers.play import Exhausted
from verdigris.models.roles.check import EditPlan
from verdigris.models.roles.prompt import clip, put_fences
from verdigris.storage.log.log import now_ms
from verdigris.storage.repository import head

_OUTPUT = 1_500
"""Tokens of CI's output that a role is shown."""


class CiCheck(PhaseWork):
    def conclude(self, candidate: CandidateCommit) -> Event | None:
        """Judges the commit by metric and CI; None: the iteration goes on."""
        if (rejected := candidate.judge()) is not None:
            return rejected
        if not self.open.settings.ci:
            return candidate.accept()
        commit = head(self.open.project.repo).commit or ""
        answer = self._ask(commit)
        before = [one for one in self.now.ci if one.commit != commit or one.outcome == UNREACHABLE]
        follows = follow_answer(answer, before)
        self.open.record(
            self.event(
                e.CheckedByCi,
                commit=commit,
                outcome=answer.outcome,
                signature=answer.signature,
                attempt=follows.attempt if isinstance(follows, Fix) else 0,
            )
        )
        match follows:
            case Accept(note):
                told = {known for one in self.state.iterations for known in one.notes}
                return candidate.accept("" if note in told else note)
            case Pause(reason):
                return candidate.conclude(CI_EXHAUSTED, reason)
            case Fix(attempt):
                return self._mend(candidate, attempt, answer)
            case AskAgain(seconds):
                self.open.watch(Noted(f"CI is asked again in {seconds:g} s"))
                time.sleep(seconds)
                return None
            case AskLater(why):
                raise OutOfReach(why)

    def _ask(self, commit: str) -> CiAnswer:
        settings, remote = self.open.settings, self.open.remote
        if settings.ci != GH:
            return ask_command(self.open.project, settings.ci, settings.ci_minutes)
        if remote is None:
            return CiAnswer(UNREACHABLE, f"there is no remote {settings.remote or '(none is configured)'}")
        pushed = push_branch(self.open.home, self.open.name, remote)
        if not isinstance(pushed, Pushed):
            return CiAnswer(UNREACHABLE, f"the branch is not pushed: {pushed.why}")
        return GithubChecks(self.open.home.root, settings.ci_minutes).ask(
            commit, f"{BRANCHES}{self.open.name}"
        )

    def _mend(self, candidate: CandidateCommit, attempt: int, failed: CiAnswer) -> Event | None:
        """Lets the improver mend it as a refactor: a change of behaviour would need a red."""
        project = self.open.project_for(REFACTORER)

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            return judge_refactoring(project, self.open.settings, plan.changes, seen) or mend_event()

        def mend_event() -> Event:
            return replace(self.improvement_event(project), lesson="")

        play = self.play(REFACTORER, LoopPhase.ACCEPT, judge, more=attempt)
        shown = put_fences(clip(failed.output, _OUTPUT))
        note = f"CI fails on this commit. Mend it and keep the behaviour; `improvement` names it:\n{shown}"
        got = self.take(play, LoopPhase.ACCEPT, taken=mend_event, note=note)
        if isinstance(got, Exhausted) or not isinstance(got, e.RefactorChosen) or not got.improvement:
            why = got.why if isinstance(got, Exhausted | e.RefactorChosen) else "a role stopped"
            return candidate.conclude(CI_EXHAUSTED, f"ci-fix-exhausted: {failed.signature}", why)
        play.tell_end("ci-fix")
        self.open.record(got)
        return candidate.commit(f"CI fix {attempt}: {got.improvement}") or candidate.evaluate()


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
        work = (self.open, self.text, state, now)
        candidate = CandidateCommit(*work)
        phase = next_phase(
            now,
            is_test_driven=self.open.found.is_test_driven,
            committed=candidate.is_committed,
            attempts=self.open.settings.attempts,
        )
        self.open.watch(PhaseBegan(self.open.name, now.number, str(phase)))
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
