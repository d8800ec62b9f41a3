"""How often held-out tests answer an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, World, make_world
from verdigris.core.records import AGENT, Actor
from verdigris.core.verdict import Kind, Verdict
from verdigris.storage.project import open_project
from verdigris.turns.person import hold_out, revise
from verdigris.turns.settle import Settlement, settle

if TYPE_CHECKING:
    from pathlib import Path

HELD = "import calc\n\n\ndef test_more():\n    assert calc.sub(9, 2) == 7\n"
ASKED = f"{SUB_ID} passed 2 times where held-out tests fail; for an agent they run no more: "


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = make_world(tmp_path / "repo")
    made.write("tests/test_held.py", HELD)
    hold_out(made.project, ["tests/test_held.py"], cwd=made.root)
    made.green()
    return made


def guess(world: World, answer: str, role: str = AGENT) -> Verdict:
    if world.state.turn is None:
        world.claimed()
    world.write("calc.py", f"{CALC}\n\ndef sub(a, b):\n    return {answer}\n")
    done = settle(open_project(world.root, Actor(role=role, client="test")))
    assert isinstance(done, Settlement), done
    return done.verdict


def test_after_the_second_guess_the_person_is_asked(world: World) -> None:
    assert [guess(world, answer).kind for answer in ("2", "a - 3", "5 - 3")] == [
        Kind.OVERFIT,
        Kind.OVERFIT,
        Kind.BROKEN,
    ]
    assert guess(world, "a - b").reasons[0].startswith(ASKED)
    assert world.state.strikes == {}


def test_a_person_settles_as_often_as_they_like(world: World) -> None:
    kinds = [guess(world, answer, "person").kind for answer in ("2", "a - 3", "5 - 3")]
    assert kinds == [Kind.OVERFIT] * 3
    assert guess(world, "a - b", "person").accepted
    assert world.state.overfits == {}


def test_a_person_who_revises_lets_the_agent_go_on(world: World) -> None:
    assert [guess(world, answer).kind for answer in ("2", "a - 3")] == [Kind.OVERFIT] * 2
    assert guess(world, "5 - 3").kind is Kind.BROKEN
    revise(world.project, [SUB_ID], "the task says more now")
    world.write("calc.py", CALC + SUB)
    assert guess(world, "a - b").accepted
