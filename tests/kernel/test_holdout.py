from __future__ import annotations

import pytest

from support.turns import CALC, SUB, TEST_SUB, World
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.verdict import Kind
from verdigris.kernel.holdout import hold_out, release

HIDDEN = "import calc\n\n\ndef test_more():\n    assert calc.sub(9, 4) == 5\n"
PATH = "tests/test_hidden.py"
TABLE = CALC + "\n\ndef sub(a, b):\n    return {(5, 3): 2}.get((a, b))\n"


@pytest.fixture
def held(world: World) -> World:
    world.write(PATH, HIDDEN)
    assert hold_out(world.project, [PATH], cwd=world.root) == (PATH,)
    return world


def test_it_leaves_the_tree_and_is_remembered(held: World) -> None:
    assert not (held.root / PATH).exists()
    assert list(held.state.held_out) == [PATH]
    assert held.whole()


def test_a_folder_that_it_empties_stays(world: World) -> None:
    world.write("tests/more/test_hidden.py", HIDDEN)
    hold_out(world.project, ["tests/more/test_hidden.py"], cwd=world.root)
    assert (world.root / "tests/more").is_dir()


def test_code_fitted_to_the_visible_test_is_overfit_and_says_no_more(held: World) -> None:
    held.green()
    held.write("calc.py", TABLE)
    done = held.settle()
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.OVERFIT, ("a held-out test fails",))
    assert "test_more" not in done.footer
    assert "test_more" not in "".join(map(str, held.events()))
    assert not (held.root / PATH).exists()


def test_code_that_does_what_is_asked_is_accepted(held: World) -> None:
    held.green()
    held.write("calc.py", CALC + SUB)
    assert held.settle().verdict.accepted
    assert not (held.root / PATH).exists()


def test_it_comes_back_as_it_was(held: World) -> None:
    assert release(held.project, [PATH], cwd=held.root) == (PATH,)
    assert held.read(PATH) == HIDDEN
    assert held.state.held_out == {}
    with pytest.raises(UserError):
        release(held.project, [PATH], cwd=held.root)


@pytest.mark.parametrize("path", ["tests/test_add.py", "calc.py", "nowhere.py", "../outside.py"])
def test_only_an_uncommitted_test_can_be_held_out(world: World, path: str) -> None:
    with pytest.raises(UserError):
        hold_out(world.project, [path], cwd=world.root)


def test_not_while_a_turn_is_open(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.green_by_record()
    world.write(PATH, HIDDEN)
    denied = hold_out(world.project, [PATH], cwd=world.root)
    assert isinstance(denied, Deny)
    assert denied.rule == "not-in-phase"
