"""A run that is killed anywhere goes on where it was: nothing is done twice, nothing is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.killing import Killer
from support.loops import FIRST_STUB, MAKE_FIRST, TESTS, WRONG_FIRST, PlayedLoop, make_loop, pin
from support.machines import edit

pytestmark = pytest.mark.usefixtures("apart", "remembered_runs")
BEFORE = frozenset(
    {
        "BehaviourPinned",
        "BehaviourMade",
        "GreenFailed",
        "TestRethought",
        "RefactorChosen",
        "Committed",
        "Measured",
        "IterationEnded",
        "Settled",
    }
)
AFTER = frozenset({"IterationBegun", "StepBegun", "Edit", "EditClaim", "TestBug", "Committing"}) | BEFORE


def _script(world: PlayedLoop) -> None:
    """Each kind of record is made: the first test is wrong, and revised."""
    wrong = edit("test", "first", {TESTS: WRONG_FIRST, "port.py": FIRST_STUB}, pin=pin("first", "the first"))
    right = WRONG_FIRST.replace("== 4", "== 3")
    world.plays(
        step_21_test_writer=[wrong],
        step_22_code_writer=[MAKE_FIRST] * 3,
        step_23_test_writer=[edit("test", "the first is 3", {TESTS: right})],
        step_24_code_writer=[MAKE_FIRST],
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_anywhere_a_run_ends_with_the_same_commits(tmp_path: Path) -> None:
    undisturbed = make_loop(tmp_path / "a" / "project")
    _script(undisturbed)
    undisturbed.run(2)
    world, killer = make_loop(tmp_path / "b" / "project"), Killer(tmp_path / "seen", BEFORE, AFTER)
    _script(world)
    while (made := len(world.state.iterations)) < 2 and killer.kills(partial(world.run, 2 - made)):
        assert len(killer.places) < 60, killer.places[-9:]
    assert set(killer.places) >= {f"before {kind}" for kind in BEFORE} - {"before IterationEnded"}
    assert commits(world) == commits(undisturbed)
    assert [(one.tests, one.status, one.made) for one in world.state.harness] == [
        (one.tests, one.status, one.made) for one in undisturbed.state.harness
    ]
    assert [one.status for one in world.state.iterations] == ["accepted", "accepted"]


def commits(world: PlayedLoop) -> list[str]:
    """Tree and message of each."""
    return world.repo.git("log", "--reverse", "--format=%T %B", "main..autoloop/port").splitlines()
