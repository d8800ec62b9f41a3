from __future__ import annotations

import os

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World
from verdigris.checks.observation import find_unclaimed
from verdigris.core.actions import Allow, Deny
from verdigris.core.events import Denied, Edit, EditClaim
from verdigris.core.state import Phase
from verdigris.turns.write import write


def written(world: World, path: str, text: str | None = "x = 1\n") -> str | None:
    """The rule that denied it, or None."""
    data = None if text is None else text.encode()
    decision = write(world.project, {path: data}, cwd=world.root)
    return decision.rule if isinstance(decision, Deny) else None


def test_source_before_a_red_is_denied_and_recorded(world: World) -> None:
    assert written(world, "calc.py") == "red-first"
    assert world.read("calc.py") == CALC
    (denied,) = world.events(Denied)
    assert isinstance(denied, Denied)
    assert (denied.rule, denied.action) == ("red-first", "write calc.py")


def test_an_allowed_write_is_recorded_and_carried_out(world: World) -> None:
    assert written(world, "tests/test_new.py", "def test_new():\n    assert 0\n") is None
    assert world.read("tests/test_new.py").startswith("def test_new")
    (edit,) = world.events(Edit)
    assert edit == Edit(paths=("tests/test_new.py",))


def test_the_first_edit_after_a_single_red_claims_it(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    assert written(world, "calc.py", CALC + SUB) is None
    (claim,) = world.events(EditClaim)
    assert isinstance(claim, EditClaim)
    assert (claim.test_id, claim.edit_target, claim.implied) == (SUB_ID, "calc.py", True)
    assert world.state.phase is Phase.GREEN
    assert world.settle().verdict.accepted


def test_a_path_outside_the_targets_joins(green: World) -> None:
    assert write(green.project, {"more.py": b"X = 1\n"}, cwd=green.root) == Allow(joins=("more.py",))
    assert "more.py" in green.state.claims[SUB_ID].targets


@pytest.mark.parametrize(
    "spelling", ["tests/test_sub.py", "./tests//test_sub.py", "t/test_sub.py", "hard.txt"]
)
def test_every_spelling_of_a_frozen_test_is_denied(world: World, spelling: str) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    (world.root / "t").symlink_to("tests")
    os.link(world.root / "tests/test_sub.py", world.root / "hard.txt")
    world.claimed()
    assert written(world, spelling) == "frozen-oracle"
    assert written(world, str(world.root / spelling)) == "frozen-oracle"
    assert world.read("tests/test_sub.py") == TEST_SUB


@pytest.mark.parametrize("comment", ["", "# @scenario: calc#sub/other\n"])
def test_the_scenario_of_a_frozen_test_is_not_changed_or_taken_away(world: World, comment: str) -> None:
    mark = "# @scenario: calc#sub/two-numbers\n"
    marked = TEST_SUB.replace("def test_sub", f"{mark}def test_sub")
    world.write("tests/test_sub.py", marked)
    world.claimed()
    assert mark in marked
    assert written(world, "tests/test_sub.py", marked.replace(mark, comment)) == "frozen-oracle"
    assert world.read("tests/test_sub.py") == marked


def test_outside_the_repository_and_switches_are_denied(world: World) -> None:
    assert written(world, "../elsewhere.md") == "outside"
    assert written(world, "tdd.yaml", None) == "switch"
    assert written(world, ".git/config") == "switch"


def test_all_or_none(world: World) -> None:
    files = {"notes.md": b"words", "calc.py": b"x = 1\n"}
    assert isinstance(write(world.project, files, cwd=world.root), Deny)
    assert not (world.root / "notes.md").exists()


def test_a_deletion_is_a_write(world: World) -> None:
    assert written(world, "calc.py", None) == "red-first"
    assert written(world, "tests/test_add.py", None) is None
    assert not (world.root / "tests/test_add.py").exists()


def test_an_edit_that_leaves_the_syntax_tree_as_it_was_needs_no_red(world: World) -> None:
    documented = CALC.replace("    return", '    """Adds."""\n    # the sum\n    return', 1)
    assert written(world, "calc.py", documented) is None
    assert world.read("calc.py") == documented
    assert find_unclaimed(world.project, world.state.ground or "", world.project.workspace.snapshot()) == ()
