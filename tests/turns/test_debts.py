"""Decisions in accepted code that no test notices are owed, until a test notices them or they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, World, make_green_live_world, make_live_world
from verdigris.core.debts import list_debts
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind
from verdigris.storage.project import open_project
from verdigris.turns.completion import list_owed
from verdigris.turns.next_move import following_move
from verdigris.turns.person import revise

if TYPE_CHECKING:
    from pathlib import Path

LIMITED = CALC + "\n\ndef sub(a, b):\n    if a > 100:\n        a = 100\n    return a - b\n"
CHOSEN = CALC + "\n\ndef sub(a, b):\n    return a - b if a < 1000 else b\n"
TEST_LARGE = """\
import calc


def test_large():
    assert calc.sub(5000, 7) == 7
    assert calc.sub(1000, 7) == 7
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_green_live_world(tmp_path)


def accept(world: World, source: str) -> None:
    world.write("calc.py", source)
    settlement = world.settle()
    assert settlement.verdict.kind is Kind.ACCEPTED, settlement.verdict


def owed(world: World) -> tuple[str, ...]:
    return list_owed(world.project)


def test_code_whose_decisions_a_test_notices_owes_nothing(world: World) -> None:
    accept(world, CALC + SUB)
    assert owed(world) == ()


def test_a_decision_that_no_test_notices_is_owed_with_its_place(world: World) -> None:
    accept(world, CHOSEN)
    assert owed(world) == ("no test notices `a < 1000` in calc.py:6: add a case that does, or take it out",)


def test_the_settlement_names_what_is_owed(world: World) -> None:
    world.write("calc.py", CHOSEN)
    settlement = world.settle()
    assert list_debts(settlement.owed) == owed(world)


def test_a_test_that_notices_it_pays_the_debt_although_it_passes_at_once(world: World) -> None:
    accept(world, CHOSEN)
    world.write("tests/test_large.py", TEST_LARGE)
    tested = world.test("tests/test_large.py")
    assert tested.paid
    assert owed(world) == ()


def test_a_debt_is_owed_again_once_the_test_that_paid_it_is_gone(world: World) -> None:
    accept(world, CHOSEN)
    before = owed(world)
    assert before
    world.write("tests/test_large.py", TEST_LARGE)
    assert world.test("tests/test_large.py").paid
    (world.root / "tests/test_large.py").unlink()
    assert owed(world) == before


def test_a_test_that_does_not_notice_it_pays_nothing(world: World) -> None:
    accept(world, CHOSEN)
    world.write("tests/test_more.py", "import calc\n\n\ndef test_more():\n    assert calc.sub(9, 3) == 6\n")
    world.test("tests/test_more.py")
    assert len(owed(world)) == 1


def test_code_that_a_person_took_out_and_committed_owes_nothing(world: World) -> None:
    accept(world, CHOSEN)
    world.write("calc.py", CALC + SUB)
    world.repo.commit("simpler")
    world.test(SUB_ID)
    assert owed(world) == ()


def test_code_that_is_only_edited_owes_what_it_did(world: World) -> None:
    accept(world, CHOSEN)
    world.write("calc.py", CALC + SUB)
    world.test(SUB_ID)
    assert len(owed(world)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "'''Sums.'''\n\n" + CHOSEN,
        CHOSEN.replace(
            "return a - b if a < 1000 else b", "return (\n        a - b if a < 1000 else b\n    )"
        ),
    ],
    ids=["lines above it", "another layout"],
)
def test_a_debt_stays_and_can_be_paid_when_the_code_is_laid_out_anew(world: World, source: str) -> None:
    accept(world, CHOSEN)
    world.write("calc.py", source)
    world.test(SUB_ID)
    assert len(owed(world)) == 1
    world.write("tests/test_large.py", TEST_LARGE)
    world.test("tests/test_large.py")
    assert owed(world) == ()


def test_new_code_that_no_test_runs_is_not_accepted(world: World) -> None:
    world.write("calc.py", LIMITED)
    settlement = world.settle()
    assert settlement.verdict.kind is Kind.HOLLOW
    assert settlement.verdict.reasons == (
        "unasked: calc.py:7 sub: no test runs it; claim a red for it, or take it out",
    )


def test_a_person_accepts_what_no_test_runs_as_a_debt(world: World) -> None:
    world.write("calc.py", LIMITED)
    settlement = world.settle(owe=True)
    assert settlement.verdict.kind is Kind.ACCEPTED
    assert "no test runs `a = 100` in calc.py:7: claim a red for it, or take it out" in owed(world)
    world.write(
        "tests/test_large.py", "import calc\n\n\ndef test_large():\n    assert calc.sub(101, 7) == 93\n"
    )
    world.test("tests/test_large.py")
    assert "a = 100" not in str(owed(world))


def test_a_function_that_no_test_runs_is_one_debt(world: World) -> None:
    idle = "\n\ndef idle(a):\n    return 1 if a > 2 else a\n"
    world.write("calc.py", CALC + SUB + idle)
    assert world.settle(owe=True).verdict.accepted
    assert [debt.change for debt in world.state.owed.values()] == [""]
    assert owed(world) == (
        "no test runs `return 1 if a > 2 else a` in calc.py:10: claim a red for it, or take it out",
    )


WEAK = {
    "two calls": "assert calc.sub(5, 3) == calc.sub(5, 3)",
    "any size": "import pytest\n    assert calc.sub(5, 3) == pytest.approx(2, abs=1000)",
    "or the answer itself": "assert calc.sub(5, 3) == 9 or calc.sub(5, 3)",
}


@pytest.mark.parametrize("assertion", WEAK.values(), ids=WEAK)
def test_a_body_that_knows_nothing_is_owed_where_it_passes(tmp_path: Path, assertion: str) -> None:
    world = make_live_world(tmp_path)
    world.write("tests/test_sub.py", f"import calc\n\n\ndef test_sub():\n    {assertion}\n")
    world.claimed()
    accept(world, CALC + SUB)
    assert any(" instead of the body of `sub` in calc.py:5" in text for text in owed(world))


def test_the_first_step_of_a_kata_owes_nothing(tmp_path: Path) -> None:
    world = make_live_world(tmp_path)
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(4, 4) == 0\n")
    world.claimed()
    accept(world, CALC + "\n\ndef sub(a, b):\n    return 0\n")
    assert owed(world) == ()


def test_the_move_after_it_takes_out_what_nobody_asked_for(world: World) -> None:
    world.write("calc.py", LIMITED)
    move = "take calc.py:7 sub out, which no test runs, then `tdd settle`"
    assert world.settle().next == f"{move} (or, if it has to stay, `tdd settle --owe`)"


def test_a_person_gives_a_debt_up_by_its_place_and_with_a_reason(world: World) -> None:
    accept(world, CHOSEN)
    revise(world.project, ["calc.py:6"], "a short cut that no caller sees")
    assert owed(world) == ()


def test_an_agents_next_move_pays_the_debt(world: World) -> None:
    accept(world, CHOSEN)
    agent = open_project(world.root, Actor(role="agent", client="test"))
    move = "add a case that notices `a < 1000` in calc.py:6, then `tdd test`"
    assert following_move(agent, agent.state()) == f"{move} (or `tdd refactor begin`, and take it out)"
