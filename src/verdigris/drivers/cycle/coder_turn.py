"""Freezes validated tests with their spec, and opens the coder's turn on them; also after an interruption."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.core.actions import Deny
from verdigris.core.cycle import ABORTED, PASS, next_step
from verdigris.core.events import (
    CycleAdvanced,
    CycleEnded,
    CycleFrozen,
    CycleResumed,
    LayingAside,
    TestBugClosed,
)
from verdigris.core.state import Stage
from verdigris.core.verdict.turn_events import next_aside
from verdigris.drivers.cycle.frame import (
    CycleStep,
    commit_stage,
    deny_misplaced,
    deny_same,
    now_ms,
    open_cycle,
    refuse,
    report_step,
    spec_of,
)
from verdigris.drivers.cycle.settings import load_cycle
from verdigris.turns import aside
from verdigris.turns.claim_check import ALL_SOURCE, claim_within
from verdigris.turns.operation import operation
from verdigris.turns.test import run_tests

if TYPE_CHECKING:
    from verdigris.core.state import Cycle
    from verdigris.runners.protocol import Progress
    from verdigris.storage.project import Project


def freeze(project: Project) -> CycleStep | Deny:
    """Pins spec, tests and commit, and opens the coder's turn on them."""
    cycle = open_cycle(project, "cycle freeze")
    if isinstance(cycle, Deny):
        return cycle
    denial = deny_misplaced(project, cycle) or _deny_freezing(project, cycle)
    if denial is not None:
        return refuse(project, denial, "cycle freeze")
    tests = tuple(sorted(_validated_tests(project, cycle)))
    subject = f"test: the scenarios of {cycle.spec_id}"
    trailers = (("TDD-Verdict", PASS), *(("TDD-Test", test) for test in tests))
    made = commit_stage(project, cycle, load_cycle(project.root), subject, trailers)
    with operation(project):
        event = CycleFrozen(
            cycle=cycle.id,
            spec_hash=spec_of(project, cycle).digest,
            tree=project.workspace.snapshot(),
            commit=made,
            tests=tests,
            at=now_ms(),
            by=project.actor,
        )
        project.record(event, sync=True)
    return _open_turn(project, f"frozen: {len(tests)} tests at {made[:12]}; stage green")


def _deny_freezing(project: Project, cycle: Cycle) -> Deny | None:
    if cycle.stage is not Stage.VALIDATE or cycle.verdict != PASS:
        why = f"Tests are frozen after a PASS, and there is none (stage {cycle.stage})."
        return Deny("cycle-freeze", why, next_step(cycle))
    if cycle.judged != project.workspace.snapshot():
        why = "The tree changed since the tests were validated."
        return Deny("cycle-freeze", why, "put it back, or `tdd cycle validate` again")
    reds = {red.test_id for red in project.state().valid_reds}
    if gone := _validated_tests(project, cycle) - reds:
        why = f"{min(gone)} was validated, and is not red any more."
        return Deny("cycle-freeze", why, "`tdd cycle validate` runs the tests again")
    for validator in cycle.workers.get(Stage.VALIDATE, ()):
        if same := deny_same(cycle, validator):
            return same
    return None


def _validated_tests(project: Project, cycle: Cycle) -> frozenset[str]:
    """The tests that were validated, from the validation's record."""
    data = project.workspace.blob_bytes(cycle.record)
    return frozenset(json.loads(data or b"{}").get("tests", ()))


def _open_turn(project: Project, said: str) -> CycleStep | Deny:
    with operation(project) as state:
        cycle = state.open_cycle
        assert cycle is not None  # noqa: S101 - the caller holds it
        left = [test for test in cycle.tests if test not in cycle.green]
        claimed = claim_within(project, state, left, (ALL_SOURCE,))
        if isinstance(claimed, Deny):
            return claimed
        for laid in state.aside.values():
            if laid.back_at_claim:
                aside.lay_on(project, laid)
    return report_step(project, said)


def resume(project: Project, why: str, progress: Progress | None = None) -> CycleStep | Deny:
    """Goes on after a stop, a kill, or edits that were set aside."""
    cycle = open_cycle(project, "cycle resume")
    if isinstance(cycle, Deny):
        return cycle
    if cycle.stopped:
        event = CycleResumed(cycle=cycle.id, at=now_ms(), by=project.actor, why=why)
        back = _back_to_red(project, cycle, why) if cycle.stage is Stage.VALIDATE and cycle.verdict else ()
        project.record(event, *back, sync=True)
        cycle = project.state().open_cycle or cycle
    if denial := deny_misplaced(project, cycle):
        return refuse(project, denial, "cycle resume")
    state = project.state()
    if cycle.stage is not Stage.GREEN or cycle.proven or state.turn is not None:
        return report_step(project, f"cycle {cycle.id} on {cycle.spec_id}; stage {cycle.stage}")
    left = [test for test in cycle.tests if test not in cycle.green]
    run_tests(project, left, cwd=project.root, progress=progress)
    opened = _open_turn(project, f"the coder's turn is open again; stage {cycle.stage}")
    return refuse(project, opened, "cycle resume") if isinstance(opened, Deny) else opened


def _back_to_red(project: Project, cycle: Cycle, why: str) -> tuple[CycleAdvanced, ...]:
    tree = project.workspace.snapshot()
    return (
        CycleAdvanced(cycle=cycle.id, stage=Stage.RED, tree=tree, at=now_ms(), by=project.actor, why=why),
    )


def abort(project: Project, why: str) -> CycleStep | Deny:
    """Ends the cycle; the coder's edits are set aside, tests and stubs stay where they are."""
    cycle = open_cycle(project, "cycle abort")
    if isinstance(cycle, Deny):
        return cycle
    with operation(project) as state:
        tree = project.workspace.snapshot()
        turn = state.turn
        edited = tuple(c.path for c in difference(project, turn.tree, tree).source) if turn else ()
        if turn is not None and edited:
            intent = LayingAside(
                aside=next_aside(state),
                paths=edited,
                edited=tree,
                start=turn.tree,
                why=f"the cycle {cycle.id} was aborted",
                test_ids=tuple(state.claims),
            )
            project.record(intent, sync=True)
            aside.carry_out(project, intent)
        ended = CycleEnded(cycle=cycle.id, outcome=ABORTED, at=now_ms(), by=project.actor, why=why)
        project.record(ended, sync=True)
    return CycleStep(
        (f"cycle {cycle.id} on {cycle.spec_id} aborted in stage {cycle.stage}",), None, "`tdd status`"
    )


def rule_on_bug(project: Project, why: str, *, uphold: bool) -> CycleStep | Deny:
    """On a test-bug of the coder: the tests are open again, or the coder goes on."""
    cycle = open_cycle(project, "cycle test-bug")
    if isinstance(cycle, Deny):
        return cycle
    if not cycle.bug:
        denial = Deny("no-test-bug", "No test-bug waits for a ruling.", next_step(cycle))
        return refuse(project, denial, "cycle test-bug")
    if project.actor.role == "agent" and project.actor not in cycle.workers.get(Stage.VALIDATE, ()):
        denial = Deny(
            "persons-verb",
            "A person or the validator rules on a test-bug, not the coder.",
            next_step(cycle),
        )
        return refuse(project, denial, "cycle test-bug")
    bug = cycle.bug
    if uphold:
        with operation(project):
            project.record(*_back_to_red(project, cycle, f"{bug} upheld: {why}"), sync=True)
        return report_step(project, f"{bug} is upheld: {why}; stage red")
    with operation(project):
        resumed = CycleResumed(cycle=cycle.id, at=now_ms(), by=project.actor, why=f"{bug} dismissed: {why}")
        project.record(TestBugClosed(bug=bug, test_id=""), resumed, sync=True)
    return resume(project, why)
