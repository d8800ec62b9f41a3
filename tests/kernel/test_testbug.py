from __future__ import annotations

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World
from verdigris.core.errors import UserError
from verdigris.core.events import Accepted
from verdigris.core.state import Phase
from verdigris.kernel.claiming import Claimed
from verdigris.kernel.testbug import Reported, report_bug

WRONG_TEST = TEST_SUB.replace("== 2", "== 3")


def reported(world: World, *places: str) -> Reported:
    done = report_bug(world.project, places, "5 - 3 is 2", cwd=world.root)
    assert isinstance(done, Reported), done
    return done


def test_a_wrong_test_is_reported_and_the_edits_come_back_with_the_revised_one(world: World) -> None:
    world.write("tests/test_sub.py", WRONG_TEST)
    world.claimed()
    world.write("calc.py", CALC + SUB)
    done = reported(world, "tests/test_sub.py:5")
    assert (world.state.phase, world.state.claims) == (Phase.RED, {})
    assert (done.paths, world.read("calc.py")) == (("calc.py",), CALC)
    assert list(world.state.test_bugs) == [done.bug]

    world.test(SUB_ID)
    assert list(world.state.test_bugs) == [done.bug], "an unrevised test closes no report"

    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    assert world.state.test_bugs == {}
    assert world.claim(SUB_ID, "calc.py") == Claimed((SUB_ID,), ("calc.py",), restored=("calc.py",))
    assert world.read("calc.py") == CALC + SUB
    assert world.settle().verdict.accepted
    (triple,) = world.events(Accepted)
    assert isinstance(triple, Accepted)
    assert world.project.workspace.read(triple.before, "calc.py") == CALC.encode()


def test_a_report_in_red_is_only_recorded(world: World) -> None:
    done = reported(world, "tests/test_add.py:5")
    assert (done.aside, world.state.phase) == (None, Phase.RED)
    assert world.state.test_bugs[done.bug].places == ("tests/test_add.py:5",)
    assert "revise tests/test_add.py" in world.test().next


def test_a_report_without_edits_just_goes_back_to_red(world: World) -> None:
    world.green()
    reported(world, "tests/test_sub.py:5")
    assert world.state.phase is Phase.RED


@pytest.mark.parametrize("place", ["tests/test_add.py", "tests/test_add.py:x", "nowhere.py:3", "calc.py:1"])
def test_a_place_that_is_no_line_of_a_test_is_refused(world: World, place: str) -> None:
    with pytest.raises(UserError):
        report_bug(world.project, [place], "why", cwd=world.root)
