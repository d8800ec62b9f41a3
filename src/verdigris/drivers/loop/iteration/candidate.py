"""The commit of an iteration: makes it, measures it, and keeps it or takes it back."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.errors import HarnessError
from verdigris.core.events import Event
from verdigris.core.value import take_fields
from verdigris.drivers.commits import announce, author_of, changed_paths, compose
from verdigris.drivers.edits import accepted_suite, write_changes
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.discovery import find_crossings
from verdigris.drivers.loop.evaluation import hash_oracle, measure
from verdigris.drivers.loop.history import ACCEPTED, ERROR, REJECTED, OpenIteration
from verdigris.drivers.loop.iteration.phase_work import PhaseWork
from verdigris.drivers.loop.measurement import EvaluationFailed, Measurement, MetricJudgement, judge_metric
from verdigris.drivers.loop.open_program import OpenProgram
from verdigris.drivers.loop.state_file.harness import reconcile
from verdigris.drivers.loop.tasks import DRIVER
from verdigris.drivers.private_worktree import hooks_folder
from verdigris.storage.git import git
from verdigris.storage.log.log import now_ms
from verdigris.storage.repository import find_repository, head, resolve
from verdigris.turns.git import CommitRefused, commit, committed_tree, sync

_ITERATION = "Autoloop-Iteration"


class OutOfReach(Exception):
    """A failure of infrastructure, not of the program: the run ends, and the next one goes on from here."""


class CandidateCommit(PhaseWork):
    # -- the commit ---------------------------------------------------------------------------

    @property
    def is_committed(self) -> bool:
        """Whether the iteration made its commit. Git is asked, so that the answer survives a kill."""
        return has_commit(self.open.project.root, self.now)

    def commit(self, subject: str = "") -> Event | None:
        """None: the commit is made. A refusal pauses the program: no role can mend a hook."""
        project = self.open.project
        tree = project.workspace.snapshot()
        paths = changed_paths(project, committed_tree(project), tree)
        if not paths:
            passes = self.now.made is not None
            return self.conclude(
                *((ACCEPTED, "the test passes already") if passes else (REJECTED, "nothing changed"))
            )
        if crossed := find_crossings(project, self.now.tree, tree):
            why = f"something was written beyond the program's bounds: {crossed[0].reason}"
            return self.pause(why)
        text = self.open.role_models.scrub(self._message(subject))
        made = commit(
            project,
            announce(project, text, paths, step=self.now.number, role=DRIVER, driver=DRIVER),
            author_of(self.open.settings),
            hidden=self.open.role_models.scrub.variables,
            hooks=hooks_folder(self.open.home.root),
        )
        if isinstance(made, CommitRefused):
            return self.pause(f"the commit was refused: {made.why}")
        return None

    def _message(self, subject: str) -> str:
        made, now = self.now.made, self.now
        improvement = now.refactor.improvement if now.refactor else ""
        headline = subject or (made.subject if made else "") or improvement
        parts = [made.rationale if made else now.refactor.why if now.refactor else ""]
        if now.pinned is not None:
            parts.append(f"Pins: {now.pinned.behaviour}\nSource: {now.pinned.source}")
        parts += [f"Run: {run}"] if (run := run_address()) else []
        tests = now.pinned.tests if now.pinned else ()
        trailers = [("TDD-Test", test) for test in tests]
        trailers += [("Autoloop-Program", self.open.name), (_ITERATION, str(now.number))]
        return compose(f"[Autoloop: {self.open.name}] Iteration {now.number}: {headline}", parts, trailers)

    # -- the metric ---------------------------------------------------------------------------

    def evaluate(self) -> Event:
        project, program = self.open.project, self.open.found.program
        measured = measure(project, project.workspace.snapshot(), self.now.tree, program)
        if isinstance(measured, EvaluationFailed):
            if measured.kind == "infrastructure":
                raise OutOfReach(measured.why)
            status = REJECTED if measured.kind in {"rejected", "tampered"} else ERROR
            return self.take_back(status, measured.why)
        return as_measured(self.open, measured, self.now.number, self.now.tree)

    def judge(self) -> Event | None:
        """None if the metric accepts it; else takes the commit back."""
        judged = self._judgement()
        if judged.accepted:
            return None
        said = self.now.measured.said if self.now.measured else ""
        return self.take_back(REJECTED, f"{judged.why} ({said})" if said else judged.why)

    def _judgement(self) -> MetricJudgement:
        measured = self.now.measured
        assert measured is not None  # noqa: S101 - the phase follows from it
        program, ratchet = self.open.found.program, not self.open.found.is_test_driven
        return judge_metric(measured, self.state.best, program, must_improve=ratchet)

    def accept(self, note: str = "") -> Event:
        judged = self._judgement()
        program, measured = self.open.found.program, self.now.measured
        if judged.completed and measured is not None:
            reason = f"the target {program.target_metric:g} is met by {measured.metric:g}"
            self.open.record(e.ProgramCompleted(program=self.open.name, reason=reason, at=now_ms()))
        return self.conclude(ACCEPTED, *filter(None, (judged.why, note, *self._reconcile())))

    def _reconcile(self) -> tuple[str, ...]:
        """Corrects the harness by the suite, and returns a note for each difference."""
        suite = accepted_suite(self.open.project)
        entries, notes = reconcile(self.state.harness, suite, self.now.number)
        for before, after in zip(self.state.harness, entries, strict=True):
            if before.status != after.status:
                self.open.record(e.StatusSet(program=self.open.name, test=after.name, status=after.status))
        return notes

    # -- its end ------------------------------------------------------------------------------

    def take_back(self, status: str, why: str) -> Event:
        """Resets the branch to where the iteration began, and puts back a red that was open then."""
        project = self.open.project
        moved = sync(project, ("reset", "--quiet", "--hard", self.now.commit), quiet=True)
        if isinstance(moved, Deny) or moved.exit_code:
            what = moved.reason if isinstance(moved, Deny) else moved.said
            raise HarnessError(f"a rejected commit cannot be taken back: {what}", hint="`tdd doctor`")
        tree = project.workspace.snapshot()
        left = {
            change.path: project.workspace.read(self.now.tree, change.path)
            for change in project.workspace.changes(tree, self.now.tree)
            if not change.deleted
        }
        if left and (refused := write_changes(project, left)) is not None:
            raise HarnessError(f"a test that was red cannot be put back: {refused.reasons[0]}")
        return self.conclude(status, why)

    def conclude(self, status: str, *notes: str) -> e.IterationEnded:
        """Ends the iteration; a commit that is not accepted is left for a person to look at."""
        now, measured = self.now, self.now.measured
        refactor, pinned = now.refactor, now.pinned
        accepted = status == ACCEPTED
        improvement = refactor.improvement if refactor else ""
        revised = [f"test-revised: {why}" for why in pinned.revisions[-1:]] if pinned else []
        improved = [f"refactor: {improvement}"] if improvement and pinned else []
        phase = "refactor" if improvement else "green"
        return replace(
            self.end(status, phase, *notes, *revised, *improved),
            change=pinned.behaviour if pinned else improvement,
            commit=(head(self.open.project.repo).commit or "") if accepted else "",
            metric=measured.metric if measured else None,
            previous=self.state.best.metric if self.state.best else None,
            new_tests=len(pinned.tests) if pinned and accepted and pinned.added == now.number else 0,
            lessons=(refactor.lesson,) if refactor and refactor.lesson else (),
            ci_attempts=sum(one.outcome == "failed" for one in now.ci),
            run=run_address(),
        )


def has_commit(root: Path, now: OpenIteration, tip: str = "HEAD") -> bool:
    """Whether the iteration made its commit, on the branch whose head is `tip`."""
    repo = find_repository(root)
    if now.commit == (head(repo).commit if tip == "HEAD" else resolve(repo, tip)):
        return False
    keys = f"%(trailers:key={_ITERATION},valueonly)"
    log = git(root, "log", "--format=%H%x00" + keys, f"{now.commit}..{tip}").out
    return any(line.endswith(f"\0{now.number}") for line in log.splitlines())


def run_address() -> str:
    """The address of the CI job that this process runs in; empty if there is none."""
    server, repo, run = (
        os.environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    )
    return f"{server}/{repo}/actions/runs/{run}" if server and repo and run else ""


def as_measured(open_: OpenProgram, measured: Measurement, iteration: int, base: str) -> e.Measured:
    program, project = open_.found.program, open_.project
    return take_fields(
        e.Measured,
        measured,
        program=open_.name,
        iteration=iteration,
        tree=project.workspace.snapshot(),
        noise=measured.noise,
        base=open_.base,
        oracle=hash_oracle(project, base, program),
    )
