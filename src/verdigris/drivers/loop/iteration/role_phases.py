"""The phases of an iteration that roles play: pin a behaviour, make it green, rethink it, improve, mend."""

from __future__ import annotations

import time
from dataclasses import replace

from verdigris.core.actions import Deny
from verdigris.core.debts import is_there
from verdigris.core.events import Event
from verdigris.core.fold import ACCEPTED
from verdigris.core.report import Status
from verdigris.core.test_ids import split_id
from verdigris.drivers.commits import flat
from verdigris.drivers.edits import Bad, Seen, forbid
from verdigris.drivers.happenings import Noted
from verdigris.drivers.judges.implementor import judge_implementation, open_reds
from verdigris.drivers.judges.refactorer import extent, judge_refactoring
from verdigris.drivers.judges.tester import judge_tests
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
from verdigris.drivers.loop.history import BLOCKED, CI_EXHAUSTED, ERROR, REJECTED, LoopPhase
from verdigris.drivers.loop.iteration.candidate import CandidateCommit, OutOfReach
from verdigris.drivers.loop.iteration.phase_work import STOPPED, proposal_of
from verdigris.drivers.loop.tasks import CODER, OPTIMIZER, REFACTORER, TESTER
from verdigris.drivers.play import Exhausted
from verdigris.languages.tests import text_of_test
from verdigris.models.roles import read_prompts
from verdigris.models.roles.check import EditPlan
from verdigris.models.roles.prompt import clip, put_fences
from verdigris.storage.project import Project, texts_at
from verdigris.storage.repository import head
from verdigris.turns.completion import list_owed
from verdigris.turns.skip import skip_blocked
from verdigris.turns.test import run_tests
from verdigris.turns.test_bug import close_bug, report_bug

_OUTPUT = 1_500
"""Tokens of CI's output that a role is shown."""
_MOST_PAYMENTS = 7
"""Tests that an iteration adds because it owes them; more would need numbers of the next one's steps."""
_PASSES = "the test fails, and a test is asked for that passes at once and notices what no other notices"


class RolePhases(CandidateCommit):
    def pin(self) -> Event:
        project = self.open.project_for(TESTER)

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            judged = judge_tests(project, self.open.settings, plan, self.now.rest, seen)
            if isinstance(judged, Bad):
                return judged
            pin = plan.pin
            assert pin is not None  # noqa: S101 - no answer without it is let through
            return self.event(
                e.BehaviourPinned,
                tests=judged.tests,
                target=pin.target,
                behaviour=pin.behaviour,
                source=pin.source,
                tree=project.workspace.snapshot(),
                assertions=pin.assertions,
                included=pin.included,
                excluded=pin.excluded,
            )

        def record_refusal(_: int, bad: Bad) -> None:
            for name in bad.passing[:1]:
                self.open.record(self.event(e.AlreadyPassing, target=name))

        play = self.play(TESTER, LoopPhase.RED, judge, refused=record_refusal)
        result = self.take(play, LoopPhase.RED, taken=lambda: self.end(ERROR, "red", "no test is on record"))
        if isinstance(result, Exhausted):
            picked = self.open.state().open
            if picked is not None and picked.picks >= play.most:
                return self.end(REJECTED, "red", f"every test that was picked passes already: {result.why}")
            return self.end(ERROR, "red", result.why)
        play.tell_end(*(("red", result.behaviour) if isinstance(result, e.BehaviourPinned) else (STOPPED,)))
        return result

    # -- green --------------------------------------------------------------------------------

    def make_green(self) -> Event:
        pinned, project = self.pinned, self.open.project_for(CODER)
        left = [flat(test) for test in pinned.tests]

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            brief = self.open.found.brief
            refusal = judge_implementation(project, self.open.settings, brief, plan, left, seen)
            return refusal or made_event()

        def made_event() -> Event:
            tree, proposal = project.workspace.snapshot(), proposal_of(project)
            return self.event(
                e.BehaviourMade,
                tests=pinned.tests,
                tree=tree,
                lines=self.count_lines(self.now.rest, tree),
                subject=proposal.subject,
                rationale=proposal.rationale,
            )

        def record_refusal(attempt: int, bad: Bad) -> None:
            count = self.now.attempts + attempt
            self.open.record(self.event(e.GreenFailed, attempt=count, reasons=bad.reasons))

        play = self.play(CODER, LoopPhase.GREEN, judge, refused=record_refusal)
        play = replace(play, earlier=self.now.attempts)
        opened = project.state().machine.step
        accepted = opened is not None and opened.step == play.step and opened.verdict == ACCEPTED
        reds = () if accepted else open_reds(project, left)
        if not accepted and not reds:
            return self._without_red(pinned.tests) or made_event()
        result = self.take(play, LoopPhase.GREEN, taken=made_event, reds=reds)
        if isinstance(result, Exhausted):
            return self.event(e.GreenFailed, attempt=self.now.attempts + play.most, reasons=(result.why,))
        play.tell_end(*(("green", result.subject) if isinstance(result, e.BehaviourMade) else (STOPPED,)))
        return result

    def _without_red(self, tests: tuple[str, ...]) -> Event | None:
        """None: the test passes already. Else it is not red for the right reason, which no code can mend."""
        runs = run_tests(self.open.project, tests, cwd=self.open.project.root).tests
        if runs and all(run.status is Status.PASS for run in runs):
            return None
        ended = "; ".join(f"{run.test_id}: {run.failure or run.status}" for run in runs) or "it is not found"
        return self.doubt_event(f"the test is not red for the right reason: {ended}")

    # -- a test in doubt ----------------------------------------------------------------------

    def rethink(self) -> Event:
        """Reports the test as wrong, so that the test writer may revise it or keep it."""
        pinned, project = self.pinned, self.open.project_for(TESTER)
        if not project.state().test_bugs:
            last = "; ".join(self.now.reasons) or "three iterations ended with an error"
            why = f"{self.now.attempts} attempts to make it pass failed: {last}"
            report_bug(project, list(pinned.tests), why, cwd=project.root)

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            judged = judge_tests(project, self.open.settings, plan, self.now.rest, seen)
            if isinstance(judged, Bad):
                return judged
            tree = project.workspace.snapshot()
            before, after = self._text(pinned.tests, self.now.rest), self._text(judged.tests, tree)
            facts = {"tests": judged.tests, "why": plan.rationale, "tree": tree}
            return self.event(e.TestRethought, before=before, after=after, **facts)

        def stand(why: str) -> Event:
            for bug in tuple(project.state().test_bugs):
                close_bug(project, bug)
            return self.event(e.TestRethought, tests=pinned.tests, why=why, tree=self.now.rest)

        play = self.play(TESTER, LoopPhase.RETHINK, judge, stand=stand)
        result = self.take(play, LoopPhase.RETHINK, taken=lambda: stand("the revision was interrupted"))
        if isinstance(result, Exhausted):
            result = stand(f"no revision was accepted: {result.why}")
        play.tell_end("rethink-test", result.why if isinstance(result, e.TestRethought) else "")
        return result

    def _text(self, tests: tuple[str, ...], tree: str) -> str:
        """The text of the tests in a tree."""
        ids = [split_id(test) for test in tests]
        files = texts_at(self.open.project, tree, {test.path: None for test in ids})
        texts = (text_of_test(test.path, files.get(test.path, ""), test.function) for test in ids)
        return "\n\n".join(filter(None, texts))

    def block(self) -> Event | None:
        """Lets the kernel mark the test as skipped, and ends the iteration: a person has to look."""
        pinned, project = self.pinned, self.open.project
        why = f"{self.now.attempts} attempts failed: {'; '.join(self.now.reasons)}"
        if not self.is_committed:
            open_reds(project, [flat(test) for test in pinned.tests])
            denied = skip_blocked(project, pinned.tests, f"{pinned.target}: {why}")
            if isinstance(denied, Deny):
                return self.pause(f"td-stuck: {pinned.target}; its test cannot be skipped: {denied.reason}")
            if refused := self.commit(f"blocked: {pinned.behaviour}"):
                return refused
        skipped = all(test in project.state().blocked for test in pinned.tests)
        self.open.record(self.event(e.BehaviourBlocked, tests=pinned.tests, why=why, skipped=skipped))
        return self.end(BLOCKED, "green", why, commit=head(project.repo).commit or "")

    # -- improvement --------------------------------------------------------------------------

    def improve(self, phase: LoopPhase) -> Event:
        role = REFACTORER if phase is LoopPhase.REFACTOR else OPTIMIZER
        project = self.open.project_for(role)
        if self.now.made is not None and not self.now.made.lines:
            return self.choice_event(self.now.rest, "nothing was written that could be improved")

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            if large := self._too_large(plan):
                return large
            optimizes = role is OPTIMIZER
            refusal = judge_refactoring(project, self.open.settings, plan.changes, seen, optimizes=optimizes)
            return refusal or self.improvement_event(project)

        play = self.play(role, phase, judge)
        result = self.take(play, phase, taken=lambda: self.improvement_event(project))
        if isinstance(result, Exhausted):
            why = f"no change was accepted: {result.why}"
            optimizing = role is OPTIMIZER
            return self.end(ERROR, str(phase), why) if optimizing else self.choice_event(self.now.rest, why)
        if isinstance(result, e.RefactorChosen):
            play.tell_end(str(phase), result.improvement or result.why)
        return result

    def _too_large(self, plan: EditPlan) -> Bad | None:
        if self.now.made is None:
            return None
        before = self.open.project.workspace.read_many(self.now.rest, list(plan.changes))
        size = extent(before, plan.changes)
        if size.lines < self.now.made.lines:
            return None
        return forbid(
            f"it changes {size.lines} lines, and what made the test pass has {self.now.made.lines}:"
            " a refactor is smaller than that, or wants an iteration of its own"
        )

    def list_owed(self) -> tuple[str, ...]:
        """What code of this iteration owes."""
        project, before = self.open.project, self.now.tree
        return list_owed(project, lambda debt: not is_there(debt, _text_at(project, before, debt.path)))

    def pay(self) -> Event:
        """Asks the test writer for a test that notices what the code decides, or takes the code back."""
        project, owed = self.open.project_for(TESTER), self.list_owed()

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            judged = judge_tests(project, self.open.settings, plan, self.now.rest, seen)
            if isinstance(judged, Bad):
                return judged
            return forbid(_PASSES) if judged.reds else paid(judged.tests)

        def paid(tests: tuple[str, ...] = ()) -> Event:
            return self.event(e.DebtsPaid, tests=tests, tree=project.workspace.snapshot())

        play = self.play(TESTER, LoopPhase.PAY, judge, more=self.now.payments)
        note = "\n".join((read_prompts("loop")["what is owed"], *(f"- {debt}" for debt in owed)))
        result = None
        if self.now.payments < _MOST_PAYMENTS:
            result = self.take(play, LoopPhase.PAY, taken=paid, note=note)
        if isinstance(result, e.DebtsPaid):
            play.tell_end(str(LoopPhase.PAY), ", ".join(result.tests))
            return result
        return result if isinstance(result, e.ProgramPaused) else self.take_back(REJECTED, "; ".join(owed))

    # -- acceptance ---------------------------------------------------------------------------

    def decide(self) -> Event | None:
        """Judges the commit by metric and CI; None: the iteration goes on."""
        if (rejected := self.judge()) is not None:
            return rejected
        if not self.open.settings.ci:
            return self.accept()
        commit = head(self.open.project.repo).commit or ""
        answer = self._ask_ci(commit)
        before = [check for check in self.now.ci if check.commit != commit or check.outcome == UNREACHABLE]
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
                notes = {told for ended in self.state.iterations for told in ended.notes}
                return self.accept("" if note in notes else note)
            case Pause(reason):
                return self.conclude(CI_EXHAUSTED, reason)
            case Fix(attempt):
                return self._mend(attempt, answer)
            case AskAgain(seconds):
                self.open.watch(Noted(f"CI is asked again in {seconds:g} s"))
                time.sleep(seconds)
                return None
            case AskLater(why):
                raise OutOfReach(why)

    def _ask_ci(self, commit: str) -> CiAnswer:
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

    def _mend(self, attempt: int, failed: CiAnswer) -> Event | None:
        """Lets the improver mend it as a refactor: a change of behaviour would need a red."""
        project = self.open.project_for(REFACTORER)

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            return judge_refactoring(project, self.open.settings, plan.changes, seen) or mend_event()

        def mend_event() -> Event:
            return replace(self.improvement_event(project), lesson="")

        play = self.play(REFACTORER, LoopPhase.ACCEPT, judge, more=attempt)
        shown = put_fences(clip(failed.output, _OUTPUT))
        note = f"CI fails on this commit. Mend it and keep the behaviour; `improvement` names it:\n{shown}"
        result = self.take(play, LoopPhase.ACCEPT, taken=mend_event, note=note)
        if not isinstance(result, e.RefactorChosen) or not result.improvement:
            why = result.why if isinstance(result, Exhausted | e.RefactorChosen) else "a role stopped"
            return self.conclude(CI_EXHAUSTED, f"ci-fix-exhausted: {failed.signature}", why)
        play.tell_end("ci-fix")
        self.open.record(result)
        return self.commit(f"CI fix {attempt}: {result.improvement}") or self.evaluate()


def _text_at(project: Project, tree: str, path: str) -> str:
    return texts_at(project, tree, [path]).get(path, "")
