"""`tdd loop run`: makes iterations until the program is completed or paused, or a limit is reached."""

from __future__ import annotations

import time
from dataclasses import replace

from verdigris.core.errors import ModelUnavailable
from verdigris.core.value import take_fields
from verdigris.drivers.budget import Limits, Spent, reached_limit
from verdigris.drivers.happenings import IterationDone, Noted, ProgramBegan, RunEnded
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.branches.remote import Pushed
from verdigris.drivers.loop.branches.work import BRANCHES, BranchStuck, push_branch
from verdigris.drivers.loop.evaluation import hash_oracle, measure
from verdigris.drivers.loop.history import (
    LoopOutcome,
    ProgramState,
    accepted_metrics,
    end_of_pause,
    pause_reason,
)
from verdigris.drivers.loop.iteration.candidate import OutOfReach, as_measured
from verdigris.drivers.loop.iteration.iteration import Iteration
from verdigris.drivers.loop.measurement import EvaluationFailed, must_measure_again
from verdigris.drivers.loop.open_program import OpenProgram, follow_base, is_asked_to_stop
from verdigris.drivers.loop.state_file.view import read_target
from verdigris.drivers.loop.state_keeper import StateKeeper
from verdigris.drivers.loop.tasks import RATCHET, TEST_DRIVEN
from verdigris.drivers.play import RunEnd, play_out, prove_end
from verdigris.storage.log.log import now_ms
from verdigris.turns.completion import begin_session

ITERATION = "iteration"
"""What the limits of a run count."""
STOPPED = "stopped by a person"
"""Ends the run, not the program: the next run goes on."""


class LoopRun:
    def __init__(self, open_: OpenProgram, limits: Limits, clock: float | None = None) -> None:
        self._open, self._limits = open_, limits
        self._program = open_.found.program
        """As program.md has it: a person may have set another target in the state file."""
        self._began = time.monotonic() if clock is None else clock
        self._keeper = StateKeeper(open_.home, open_.found, open_.settings, open_.watch)
        self._made = 0
        self._commits: list[str] = []
        self._session = f"loop-{open_.name}-{now_ms()}"

    def make(self) -> RunEnded:
        self._tell_beginning()
        begin_session(self._open.project, self._session)
        if self._limits.money and (roles := self._open.settings.unpriced_roles):
            lacking = f"tdd.yaml has no `llm.prices`, and no prices for {', '.join(roles)}"
            self._open.watch(Noted(f"the cost is unknown, so its limit is not checked: {lacking}"))
        try:
            ended = play_out(self._turn, RunEnd(LoopOutcome.LIMIT, next=self._again))
        except BranchStuck as stuck:
            ended = RunEnd(LoopOutcome.BLOCKED, stuck.message, stuck.hint or self._again)
        except (OutOfReach, ModelUnavailable) as gone:
            ended = RunEnd(LoopOutcome.INFRASTRUCTURE, str(gone), self._again)
        self._keeper.write()
        if ended.outcome in {LoopOutcome.COMPLETED, LoopOutcome.LIMIT} and self._commits:
            following = "put back what is lost; only a person gives a test up: `tdd revise`"
            ended = prove_end(ended, self._open.project, self._session, finished=False, following=following)
        return self._tell_end(ended)

    @property
    def _again(self) -> str:
        return f"`tdd loop run {self._open.name}` goes on from here"

    def _turn(self) -> RunEnd | None:
        """An iteration, unless the program's state, a request to stop, or a limit ends the run."""
        self._keeper.read()
        wanted = replace(self._program, target_metric=read_target(self._keeper.text, self._program))
        self._open = replace(self._open, found=replace(self._open.found, program=wanted))
        state = self._open.state()
        if state.completed:
            again = f"`tdd loop resume {state.name}` opens it again"
            return RunEnd(LoopOutcome.COMPLETED, state.completed, again)
        if state.paused:
            return end_of_pause(state.name, state.paused)
        if is_asked_to_stop(self._open.home.repo, state.name):
            return RunEnd(LoopOutcome.PAUSED, STOPPED, self._again)
        meter = self._open.meter
        spent = Spent(self._made, meter.tokens, meter.cost, time.monotonic() - self._began)
        if limit := reached_limit(self._limits, spent, ITERATION):
            return RunEnd(LoopOutcome.LIMIT, limit, self._again)
        self._iterate()
        return None

    # -- one iteration ------------------------------------------------------------------------

    def _iterate(self) -> None:
        open_ = self._open
        if open_.state().open is None:
            self._open = open_ = follow_base(open_)
            self._measure_base()
        ended = Iteration(open_, self._keeper.text).make()
        state = open_.state()
        if isinstance(ended, e.IterationEnded):
            self._made += 1
            self._commits += [ended.commit] if ended.commit else []
            self._tell_iteration(state, ended)
            if reason := pause_reason(state):
                open_.record(e.ProgramPaused(program=state.name, reason=reason, at=now_ms()))
        self._push()
        self._keeper.write()

    def _measure_base(self) -> None:
        """Measures the base if it or its evaluator changed, and for a new ratchet."""
        open_, state = self._open, self._open.state()
        program, project = open_.found.program, open_.project
        tree, best = project.workspace.snapshot(), state.best
        if best is None and open_.found.is_test_driven:
            return
        why = (
            must_measure_again(best, open_.base, hash_oracle(project, tree, program)) if best else "it is new"
        )
        if not why:
            return
        found = measure(project, tree, tree, program)
        if isinstance(found, EvaluationFailed):
            if found.kind == "infrastructure":
                raise OutOfReach(found.why)
            open_.watch(Noted(f"the base cannot be measured: {found.why}"))
            return
        open_.record(as_measured(open_, found, 0, tree))
        open_.watch(Noted(f"the base measures {found.metric:g} ({why})"))

    def _push(self) -> None:
        remote = self._open.remote
        if remote is None:
            return
        pushed = push_branch(self._open.home, self._open.name, remote)
        if not isinstance(pushed, Pushed):
            branch = f"{BRANCHES}{self._open.name}"
            self._open.watch(Noted(f"{branch} is not pushed: {pushed.why}; the next run tries again"))

    # -- happenings -------------------------------------------------------------------------

    def _tell_beginning(self) -> None:
        open_ = self._open
        roles = TEST_DRIVEN if open_.found.is_test_driven else RATCHET
        models = tuple((role, open_.settings.player(role).model) for role in roles)
        state = open_.state()
        open_.watch(
            ProgramBegan(
                open_.name,
                "test-driven" if open_.found.is_test_driven else "ratchet",
                f"{BRANCHES}{open_.name}",
                str(open_.project.root),
                state.open is not None,
                models,
                bool(open_.role_models.recordings),
                tuple(one.status for one in state.harness),
                accepted_metrics(state),
                self._program.target_metric,
            )
        )

    def _tell_iteration(self, state: ProgramState, ended: e.IterationEnded) -> None:
        harness = tuple(one.status for one in state.harness)
        done = take_fields(IterationDone, ended, harness=harness, metrics=accepted_metrics(state))
        self._open.watch(done)

    def _tell_end(self, ended: RunEnd) -> RunEnded:
        commits, name = tuple(self._commits), self._open.name
        return self._open.tell_end(
            RunEnded(ended.outcome, ended.why, self._made, commits, following=ended.next, program=name)
        )
