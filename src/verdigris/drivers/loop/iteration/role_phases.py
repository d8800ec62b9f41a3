"""The phases of an iteration that roles play: pin a behaviour, make it green, rethink its test, improve."""

from __future__ import annotations

from dataclasses import replace

from verdigris.core.actions import Deny
from verdigris.core.events import Event
from verdigris.core.fold import ACCEPTED
from verdigris.core.report import Status
from verdigris.core.test_ids import split_id
from verdigris.drivers.commits import flat
from verdigris.drivers.edits import Bad, Seen, forbid
from verdigris.drivers.judges.implementor import judge_implementation, open_reds
from verdigris.drivers.judges.refactorer import extent, judge_refactoring
from verdigris.drivers.judges.tester import judge_tests
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import BLOCKED, REJECTED, RETRIES, Behaviour, LoopPhase
from verdigris.drivers.loop.iteration.candidate import CandidateCommit
from verdigris.drivers.loop.iteration.phase_work import STOPPED, PhaseWork, proposal_of
from verdigris.drivers.loop.tasks import CODER, OPTIMIZER, REFACTORER, TESTER
from verdigris.drivers.play import Exhausted
from verdigris.languages.tests import text_of_test
from verdigris.models.roles.check import EditPlan
from verdigris.storage.project import texts_at
from verdigris.storage.repository import head
from verdigris.turns.skip import skip_blocked
from verdigris.turns.test import run_tests
from verdigris.turns.test_bug import close_bug, report_bug


class Pinning(PhaseWork):
    def pin(self) -> Event:
        project = self.open.project_for(TESTER)

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            found = judge_tests(project, self.open.settings, plan, self.now.rest, seen)
            if isinstance(found, Bad):
                return found
            pin = plan.pin
            assert pin is not None  # noqa: S101 - no answer without it is let through
            return e.BehaviourPinned(
                program=self.open.name,
                iteration=self.now.number,
                tests=found.tests,
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
                again = e.AlreadyPassing(program=self.open.name, iteration=self.now.number, target=name)
                self.open.record(again)

        play = self.play(TESTER, LoopPhase.RED, judge, refused=record_refusal)
        got = self.take(play, LoopPhase.RED, taken=lambda: self.error("red", "no test is on record"))
        if isinstance(got, Exhausted):
            picked = self.open.state().open
            if picked is not None and picked.picks >= play.most:
                return self.end(REJECTED, "red", f"every test that was picked passes already: {got.why}")
            return self.error("red", got.why)
        play.tell_end(*(("red", got.behaviour) if isinstance(got, e.BehaviourPinned) else (STOPPED,)))
        return got

    # -- green --------------------------------------------------------------------------------

    def make_green(self) -> Event:
        pinned, project = self.pinned, self.open.project_for(CODER)
        left = [flat(test) for test in pinned.tests]

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            brief = self.open.found.brief
            refusal = judge_implementation(project, self.open.settings, brief, plan, left, seen)
            return refusal or made_event()

        def made_event() -> Event:
            tree, said = project.workspace.snapshot(), proposal_of(project)
            return e.BehaviourMade(
                program=self.open.name,
                iteration=self.now.number,
                tests=pinned.tests,
                tree=tree,
                lines=self.count_lines(self.now.rest, tree),
                subject=said.subject,
                rationale=said.rationale,
            )

        def record_refusal(attempt: int, bad: Bad) -> None:
            self.open.record(self.failure_event(self.now.attempts + attempt, bad.reasons))

        play = self.play(CODER, LoopPhase.GREEN, judge, refused=record_refusal)
        play = replace(play, earlier=self.now.attempts)
        opened = project.state().machine.step
        accepted = opened is not None and opened.step == play.step and opened.verdict == ACCEPTED
        reds = () if accepted else open_reds(project, left)
        if not accepted and not reds:
            return self._without_red(pinned) or made_event()
        got = self.take(play, LoopPhase.GREEN, taken=made_event, reds=reds)
        if isinstance(got, Exhausted):
            return self.failure_event(self.now.attempts + play.most, (got.why,))
        play.tell_end(*(("green", got.subject) if isinstance(got, e.BehaviourMade) else (STOPPED,)))
        return got

    def _without_red(self, pinned: Behaviour) -> Event | None:
        """None: the test passes already. Else it is not red for the right reason, which no code can mend."""
        project = self.open.project
        ran = run_tests(project, pinned.tests, cwd=project.root).tests
        if ran and all(one.status is Status.PASS for one in ran):
            return None
        ended = "; ".join(f"{one.test_id}: {one.failure or one.status}" for one in ran) or "it is not found"
        attempt = max(RETRIES, self.now.attempts + 1)
        return self.failure_event(attempt, (f"the test is not red for the right reason: {ended}",))

    # -- a test in doubt ----------------------------------------------------------------------

    def rethink(self) -> Event:
        """Reports the test as wrong, so that the test writer may revise it or keep it."""
        pinned, project = self.pinned, self.open.project_for(TESTER)
        if not project.state().test_bugs:
            last = "; ".join(self.now.reasons) or "three iterations ended with an error"
            why = f"{self.now.attempts} attempts to make it pass failed: {last}"
            report_bug(project, list(pinned.tests), why, cwd=project.root)

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            found = judge_tests(project, self.open.settings, plan, self.now.rest, seen)
            if isinstance(found, Bad):
                return found
            tree = project.workspace.snapshot()
            before, after = self._text(pinned.tests, self.now.rest), self._text(found.tests, tree)
            return self._rethink_event(found.tests, plan.rationale, tree, before, after)

        def stand(why: str) -> Event:
            for bug in tuple(project.state().test_bugs):
                close_bug(project, bug)
            return self._rethink_event(pinned.tests, why, self.now.rest)

        play = self.play(TESTER, LoopPhase.RETHINK, judge, stand=stand)
        got = self.take(play, LoopPhase.RETHINK, taken=lambda: stand("the revision was interrupted"))
        if isinstance(got, Exhausted):
            got = stand(f"no revision was accepted: {got.why}")
        play.tell_end("rethink-test", got.why if isinstance(got, e.TestRethought) else "")
        return got

    def _rethink_event(
        self,
        tests: tuple[str, ...],
        why: str,
        tree: str,
        before: str = "",
        after: str = "",
    ) -> e.TestRethought:
        return e.TestRethought(
            program=self.open.name,
            iteration=self.now.number,
            tests=tests,
            why=why,
            tree=tree,
            before=before,
            after=after,
        )

    def _text(self, tests: tuple[str, ...], tree: str) -> str:
        """The text of the tests in a tree."""
        found = []
        for test in tests:
            named = split_id(test)
            text = texts_at(self.open.project, tree, [named.path]).get(named.path, "")
            found.append(text_of_test(named.path, text, named.function) or "")
        return "\n\n".join(filter(None, found))

    def block(self, candidate: CandidateCommit) -> Event | None:
        """Lets the kernel mark the test as skipped, and ends the iteration: a person has to look."""
        pinned, project = self.pinned, self.open.project
        why = f"{self.now.attempts} attempts failed: {'; '.join(self.now.reasons)}"
        if not candidate.is_committed:
            open_reds(project, [flat(test) for test in pinned.tests])
            skipped = skip_blocked(project, pinned.tests, f"{pinned.target}: {why}")
            if isinstance(skipped, Deny):
                return self.pause(f"td-stuck: {pinned.target}; its test cannot be skipped: {skipped.reason}")
            if refused := candidate.commit(f"blocked: {pinned.behaviour}"):
                return refused
        blocked = e.BehaviourBlocked(
            program=self.open.name,
            iteration=self.now.number,
            tests=pinned.tests,
            why=why,
            skipped=all(test in project.state().blocked for test in pinned.tests),
        )
        self.open.record(blocked)
        return self.end(BLOCKED, "green", why, commit=head(self.open.project.repo).commit or "")


class Improvement(PhaseWork):
    def improve(self, phase: LoopPhase) -> Event:
        role = REFACTORER if phase is LoopPhase.REFACTOR else OPTIMIZER
        project = self.open.project_for(role)
        if self.now.made is not None and not self.now.made.lines:
            return self.choice_event(self.now.rest, why="nothing was written that could be improved")

        def judge(plan: EditPlan, seen: Seen) -> Event | Bad:
            if large := self._too_large(plan):
                return large
            measured = role is OPTIMIZER
            found = judge_refactoring(project, self.open.settings, plan.changes, seen, optimizes=measured)
            return found or accepted_event()

        def accepted_event() -> Event:
            said = proposal_of(project)
            return self.choice_event(
                project.workspace.snapshot(), said.improvement, said.rationale, said.lesson
            )

        play = self.play(role, phase, judge)
        got = self.take(play, phase, taken=accepted_event)
        if isinstance(got, Exhausted):
            why = f"no change was accepted: {got.why}"
            if role is OPTIMIZER:
                return self.error(str(phase), why)
            return self.choice_event(self.now.rest, why=why)
        if isinstance(got, e.RefactorChosen):
            play.tell_end(str(phase), got.improvement or got.why)
        return got

    def _too_large(self, plan: EditPlan) -> Bad | None:
        if self.now.made is None:
            return None
        before = self.open.project.workspace.read_many(self.now.rest, list(plan.changes))
        found = extent(before, plan.changes)
        if found.lines < self.now.made.lines:
            return None
        return forbid(
            f"it changes {found.lines} lines, and what made the test pass has {self.now.made.lines}:"
            " a refactor is smaller than that, or wants an iteration of its own"
        )
