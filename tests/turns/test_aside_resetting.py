from __future__ import annotations

from support.turns import CALC, SUB, World
from verdigris.core.state import Phase
from verdigris.turns import refactor
from verdigris.turns.aside import lay_back


def test_nothing_to_lay_back_is_nothing_done(world: World) -> None:
    assert lay_back(world.project, world.project.workspace.snapshot(), "why") == ()
    assert world.state.asides == 0


def test_in_red_all_that_differs_steps_aside_and_is_kept(world: World) -> None:
    start = world.project.workspace.snapshot()
    world.write("notes.txt", "mine\n")
    world.write("tests/test_sub.py", "x\n")
    assert lay_back(world.project, start, "why") == ("notes.txt", "tests/test_sub.py")
    assert not (world.root / "notes.txt").exists()
    laid = world.state.aside[world.aside()]
    assert world.project.workspace.read(laid.edited, "notes.txt") == b"mine\n"


def test_an_open_turn_ends_without_a_strike(world: World) -> None:
    world.green_by_record()
    start = world.project.workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    assert lay_back(world.project, start, "why") == ("calc.py",)
    assert (world.state.phase, world.state.turn, dict(world.state.strikes)) == (Phase.RED, None, {})
    assert world.read("calc.py") == CALC


def test_an_open_refactor_ends_too(world: World) -> None:
    start = world.project.workspace.snapshot()
    refactor.begin(world.project, uncovered=True)
    world.write("calc.py", CALC + "\n\n")
    assert lay_back(world.project, start, "why") == ("calc.py",)
    assert world.state.phase is Phase.RED
    assert world.read("calc.py") == CALC
