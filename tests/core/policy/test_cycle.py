"""A cycle in the core: how its events change the state, and what each stage lets an actor do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verdigris.core import events as e
from verdigris.core.actions import Allow, ClaimTest, Decision, Deny, Do, FileWrite, Target, Write
from verdigris.core.confinement.protection import protected_classes
from verdigris.core.fold import advance
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.cycle import next_step
from verdigris.core.policy.next_move import next_move
from verdigris.core.records import Actor, from_json, to_json
from verdigris.core.report import Status
from verdigris.core.settings import Settings
from verdigris.core.state import BLOCKER, CONCERNS, PASS, Cycle, Phase, Stage, WorktreeState

AUTHOR, JUDGE, PERSON = Actor("agent", "b", "claude"), Actor("agent", "c", "claude"), Actor()
TEST = "tests/test_a.py::test_a"
STARTED = e.CycleStarted(
    cycle="c1",
    spec_id="SPEC-1",
    spec_path="specs/spec-1.md",
    spec_hash="h0",
    plan=".tdd/plans/spec-1.md",
    tree="t0",
    commit="k0",
    on="main",
    at=1000,
    by=PERSON,
)


def advanced(stage: str, tree: str = "t1", workers: tuple[Actor, ...] = (), **more: str) -> e.CycleAdvanced:
    return e.CycleAdvanced(cycle="c1", stage=stage, tree=tree, at=2000, by=PERSON, workers=workers, **more)


def validated(verdict: str, *findings: str) -> e.CycleValidated:
    return e.CycleValidated(
        cycle="c1", verdict=verdict, record="r1", tree="t2", at=3000, by=JUDGE, findings=findings
    )


FROZEN = e.CycleFrozen(cycle="c1", spec_hash="h0", tree="t2", commit="k2", tests=(TEST,), at=4000, by=JUDGE)
OPENED = e.TurnOpened(turn="t1", tree="t2")
CLAIMED = e.EditClaim(test_id=TEST, edit_target=".", red=3)
ACCEPTED = e.Accepted(test_id=TEST, red=3, before="t2", after="t3", paths=("a.py",), green=9)
TO_RED = (STARTED, advanced("red"))
TO_VALIDATE = (*TO_RED, advanced("validate", "t2", (AUTHOR,)))
TO_PASS = (*TO_VALIDATE, validated(PASS))
TO_GREEN = (*TO_PASS, FROZEN, OPENED, CLAIMED)


def after(*events: e.Event) -> WorktreeState:
    state = WorktreeState(ground="t0")
    for seq, event in enumerate(events, 1):
        state = advance(state, event, seq)
    return state


def cycle_of(state: WorktreeState) -> Cycle:
    assert state.cycle is not None
    return state.cycle


def write(state: WorktreeState, path: str, cls: PathClass, *, beyond: str | None = None) -> Decision:
    file = FileWrite(path, cls, b"x = 1\n", b"x = 2\n", path, beyond_stubs=beyond)
    return decide(state, Write((file,)), Settings())


def rule(decision: Decision) -> str | None:
    return decision.rule if isinstance(decision, Deny) else None


def test_every_stage_has_its_phase() -> None:
    phases = [
        after(*events).phase
        for events in ((STARTED,), TO_RED, TO_VALIDATE, TO_PASS, TO_GREEN, (*TO_GREEN, ACCEPTED))
    ]
    assert phases == [Phase.PLAN, Phase.RED, Phase.HELD, Phase.HELD, Phase.GREEN, Phase.HELD]


def test_the_state_of_a_cycle_survives_a_checkpoint() -> None:
    state = after(*TO_GREEN)
    assert from_json(WorktreeState, to_json(state)) == state


def test_who_worked_in_each_stage_is_kept() -> None:
    cycle = cycle_of(after(*TO_GREEN))
    assert cycle.authors == (AUTHOR,)
    assert cycle.workers["validate"] == (JUDGE,)


def test_concerns_send_the_tests_back_and_count_a_round() -> None:
    state = after(*TO_VALIDATE, validated(CONCERNS, "tests/test_a.py:3: weak"), advanced("red"))
    assert (state.phase, cycle_of(state).stage) == (Phase.RED, Stage.RED)
    assert (cycle_of(state).rounds, cycle_of(state).verdict) == (1, "")
    assert cycle_of(state).findings == ("tests/test_a.py:3: weak",)


def test_a_blocker_stops_the_cycle_for_a_person() -> None:
    state = after(*TO_VALIDATE, validated(BLOCKER, "the spec contradicts itself"))
    assert state.phase is Phase.HELD
    assert cycle_of(state).stopped == "the spec contradicts itself"
    assert "tdd cycle resume" in next_move(state)


def test_a_cycle_is_proven_when_every_frozen_test_was_accepted() -> None:
    two = replace(FROZEN, tests=(TEST, "tests/test_a.py::test_b"))
    claim_two = replace(CLAIMED, test_id="tests/test_a.py::test_b")
    state = after(*TO_PASS, two, OPENED, CLAIMED, claim_two, ACCEPTED)
    assert not cycle_of(state).proven
    state = advance(state, replace(ACCEPTED, test_id="tests/test_a.py::test_b"), 20)
    assert cycle_of(state).proven
    assert next_move(state) == "`tdd cycle advance` writes the evidence"


def test_edits_that_were_set_aside_leave_the_tests_frozen() -> None:
    laid = e.LayingAside(aside="a1", paths=("a.py",), edited="t3", start="t2", why="two strikes")
    state = after(*TO_GREEN, laid, e.Reverted(aside="a1"))
    assert state.phase is Phase.HELD
    assert next_move(state) == "`tdd cycle resume` opens the coder's turn again"


def test_a_test_bug_of_the_coder_waits_for_a_ruling() -> None:
    bug = e.TestBug(bug="b1", places=("tests/test_a.py:3",), why="7 is not 8", tree="t3")
    laid = e.LayingAside(aside="a1", paths=(), edited="t3", start="t2", why="test-bug")
    state = after(*TO_GREEN, bug, laid, e.Reverted(aside="a1"))
    assert (cycle_of(state).bugs, cycle_of(state).bug, state.phase) == (1, "b1", Phase.HELD)
    assert "tdd cycle test-bug uphold" in next_move(state)


def test_a_cycle_that_is_done_gives_back_the_ordinary_law() -> None:
    ended = e.CycleEnded(cycle="c1", outcome="done", at=9000, by=PERSON, evidence="EVID-001", tree="t4")
    state = after(*TO_GREEN, ACCEPTED, ended)
    assert (state.phase, state.ground, cycle_of(state).stage) == (Phase.RED, "t4", Stage.DONE)
    assert state.open_cycle is None
    assert rule(write(state, "a.py", PathClass.SOURCE, beyond="a body")) == "red-first"


def test_an_aborted_cycle_leaves_nothing_open() -> None:
    state = after(*TO_GREEN, e.CycleEnded(cycle="c1", outcome="aborted", at=9000, by=PERSON))
    assert (state.phase, state.cycle, state.turn, state.claims) == (Phase.RED, None, None, {})


def test_switching_off_ends_a_cycle() -> None:
    assert after(*TO_RED, e.SwitchedOff(why="spike")).cycle is None


@pytest.mark.parametrize(
    ("events", "path", "cls", "expected"),
    [
        ((STARTED,), "tests/test_a.py", PathClass.TEST, "cycle-plan"),
        ((STARTED,), "a.py", PathClass.SOURCE, "cycle-plan"),
        ((STARTED,), "specs/other.md", PathClass.SPEC, "cycle-plan"),
        ((STARTED,), ".tdd/plans/spec-1.md", PathClass.OTHER, None),
        (TO_RED, "tests/test_a.py", PathClass.TEST, None),
        (TO_RED, "a.py", PathClass.SOURCE, "cycle-red"),
        (TO_RED, "specs/spec-1.md", PathClass.OTHER, "cycle-spec"),
        (TO_RED, "specs/spec-1.md", PathClass.SPEC, "cycle-spec"),
        (TO_VALIDATE, "tests/test_a.py", PathClass.TEST, "cycle-validate"),
        (TO_VALIDATE, "a.py", PathClass.SOURCE, "cycle-validate"),
        (TO_GREEN, "tests/test_a.py", PathClass.TEST, "frozen-oracle"),
        (TO_GREEN, "a.py", PathClass.SOURCE, None),
        (TO_GREEN, "specs/spec-1.md", PathClass.TEST, "cycle-spec"),
        ((*TO_GREEN, ACCEPTED), "a.py", PathClass.SOURCE, "cycle-green"),
        ((*TO_GREEN, ACCEPTED), "tests/test_a.py", PathClass.TEST, "cycle-green"),
    ],
)
def test_what_each_stage_lets_nobody_write(
    events: tuple[e.Event, ...], path: str, cls: PathClass, expected: str | None
) -> None:
    assert rule(write(after(*events), path, cls, beyond="a body")) == expected


def test_stubs_are_written_with_the_tests() -> None:
    assert isinstance(write(after(*TO_RED), "a.py", PathClass.SOURCE, beyond=""), Allow)


def seen_red(state: WorktreeState) -> WorktreeState:
    run = e.TestRun(
        test_id=TEST,
        test_id_source="native",
        status=Status.FAIL,
        command="pytest",
        duration_ms=1,
        tree="t2",
        native_id=TEST,
        red="valid",
    )
    return advance(state, run, 30)


def claim(state: WorktreeState, test_id: str = TEST) -> Decision:
    target = Target(".", frozenset({PathClass.SOURCE}), ".")
    return decide(state, ClaimTest(test_id, (target,)), Settings())


def test_nobody_claims_before_the_freezing() -> None:
    assert rule(claim(seen_red(after(*TO_RED)))) == "cycle-claim"
    assert rule(claim(seen_red(after(*TO_PASS)))) == "cycle-claim"


def test_only_frozen_tests_are_claimed_after_it() -> None:
    state = seen_red(after(*TO_PASS, FROZEN))
    assert isinstance(claim(state), Allow)
    assert rule(claim(state, "tests/test_a.py::test_other")) == "cycle-claim"


@pytest.mark.parametrize("events", [TO_RED, TO_VALIDATE, (STARTED,)])
def test_a_cycle_has_no_stage_for_a_refactor(events: tuple[e.Event, ...]) -> None:
    assert rule(decide(after(*events), Do("refactor begin"), Settings())) == "in-cycle"


def test_a_shell_finds_tests_source_and_specs_protected_while_a_stage_is_closed() -> None:
    closed = {PathClass.TEST, PathClass.SOURCE, PathClass.SPEC, PathClass.SWITCH}
    assert protected_classes(Phase.PLAN) == protected_classes(Phase.HELD) == closed


def test_the_next_step_of_each_stage_names_a_verb_of_the_cycle() -> None:
    moves = [
        next_step(cycle_of(after(*events)))
        for events in ((STARTED,), TO_RED, TO_VALIDATE, TO_PASS, (*TO_PASS, FROZEN))
    ]
    assert moves[0] == "write the plan to .tdd/plans/spec-1.md, then `tdd cycle advance`"
    assert "`@scenario:` and an id" in moves[1]
    assert moves[2] == "`tdd cycle validate`, by somebody who did not write the tests"
    assert moves[3] == "`tdd cycle freeze`"
    assert moves[4] == "`tdd cycle resume` opens the coder's turn again"
