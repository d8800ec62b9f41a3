""""""

from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import CALC, MUL, SUB, SUB_ID, TEST_SUB, World, make_live_world
from verdigris.checks.acceptance import held_out_pass
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import Settled, SwitchedOff, SwitchedOn
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.execution.rooms import frozen_layer
from verdigris.sandbox.child import available
from verdigris.turns.person import hold_out, release, switch_off, switch_on


def test_off_ends_a_turn_without_a_verdict_and_leaves_the_edits(world: World) -> None:
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    assert switch_off(world.project, "a demo") is None
    state = world.state
    assert (state.phase, state.off_why, state.turn, state.claims) == (Phase.OFF, "a demo", None, {})
    assert (world.read("calc.py"), world.read("tests/test_sub.py")) == (CALC + SUB, TEST_SUB)
    assert world.events(Settled) == []
    assert world.events(SwitchedOff) == [SwitchedOff(why="a demo")]


def test_on_takes_the_tree_as_it_stands_for_ground(world: World) -> None:
    switch_off(world.project, "by hand")
    world.write("calc.py", CALC + MUL)
    assert switch_on(world.project) is None
    tree = world.project.workspace.snapshot()
    assert (world.state.phase, world.state.ground) == (Phase.RED, tree)
    assert world.events(SwitchedOn) == [SwitchedOn(tree=tree)]
    world.green_by_record()
    assert list(world.state.claims) == [SUB_ID]


def test_a_red_seen_before_off_is_no_red_after_on(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    switch_off(world.project, "a while")
    switch_on(world.project)
    denied = world.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "no-red"


def test_off_ends_a_refactor_too(world: World) -> None:
    from verdigris.core.events import RefactorBegun

    tree = world.project.workspace.snapshot()
    world.project.record(RefactorBegun(tree=tree, record=world.project.workspace.blob(b"{}")))
    assert switch_off(world.project, "enough") is None
    assert (world.state.phase, world.state.refactor) == (Phase.OFF, None)


def test_each_switch_is_thrown_once(world: World) -> None:
    on = switch_on(world.project)
    assert isinstance(on, Deny)
    switch_off(world.project, "why")
    off = switch_off(world.project, "again")
    assert isinstance(off, Deny)
    assert (on.rule, off.rule) == ("not-in-phase", "not-in-phase")
    assert world.state.off_why == "why"


def test_nothing_is_claimed_while_off(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    switch_off(world.project, "why")
    world.red_by_record(SUB_ID)
    denied = world.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "off"


needs_sandbox = pytest.mark.skipif(not available().ok, reason="no sandbox can be made here")
HIDDEN = "import calc\n\n\ndef test_more():\n    assert calc.sub(9, 4) == 5\n"
CASES = """
import unittest

import calc


class TestMore(unittest.TestCase):
    def test_more(self):
        assert calc.sub(9, 4) == 5
"""
PATH = "tests/test_hidden.py"
READS = (
    CALC
    + """

import gc
import inspect
import linecache
import pathlib
import re
import sys


def _texts():
    root = pathlib.Path(__file__).parent
    for path in [*root.rglob("*.py"), *root.rglob("*.pyc")]:
        yield path.read_bytes().decode("latin-1")
        yield "".join(linecache.getlines(str(path)))
    for frame in inspect.stack():
        yield "".join(frame.code_context or [])
        yield "".join(linecache.getlines(frame.filename))


def sub(a, b):
    if (a, b) == (5, 3):
        return 2
    for text in _texts():
        for found in re.findall(rf"sub\\({a}, {b}\\) == (\\d+)", text):
            return int(found)
    return None
"""
)
LIES = (
    CALC
    + """

class Near(int):
    def __eq__(self, other):
        return abs(int(self) - other) < 5

    __hash__ = int.__hash__


def sub(a, b):
    return a - b if (a, b) == (5, 3) else Near(a - b + 1)
"""
)
TABLE = CALC + "\n\ndef sub(a, b):\n    return {(5, 3): 2}.get((a, b))\n"


@pytest.fixture
def hidden(world: World) -> World:
    world.write(PATH, HIDDEN)
    assert hold_out(world.project, [PATH], cwd=world.root) == (PATH,)
    return world


def test_it_leaves_the_tree_and_is_remembered(hidden: World) -> None:
    assert not (hidden.root / PATH).exists()
    assert list(hidden.state.held_out) == [PATH]
    assert hidden.whole()


def test_a_folder_that_it_empties_stays(world: World) -> None:
    world.write("tests/more/test_hidden.py", HIDDEN)
    hold_out(world.project, ["tests/more/test_hidden.py"], cwd=world.root)
    assert (world.root / "tests/more").is_dir()


def test_code_fitted_to_the_visible_test_is_overfit_and_says_no_more(hidden: World) -> None:
    hidden.green()
    hidden.write("calc.py", TABLE)
    done = hidden.settle()
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.OVERFIT, ("a held-out test fails",))
    assert "test_more" not in done.footer
    assert "test_more" not in "".join(map(str, hidden.events()))
    assert not (hidden.root / PATH).exists()


def test_code_that_does_what_is_asked_is_accepted(hidden: World) -> None:
    hidden.green()
    hidden.write("calc.py", CALC + SUB)
    assert hidden.settle().verdict.accepted
    assert not (hidden.root / PATH).exists()


@needs_sandbox
@pytest.mark.parametrize("source", [READS, CALC + SUB], ids=["reads", "honest"])
@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_nobody_finds_its_text(runner: str, source: str, world: World) -> None:
    """Asked without the other questions of a verdict, which would refuse such code too."""
    world.write("tdd.yaml", world.read("tdd.yaml").replace("runner: pytest", f"runner: {runner}"))
    world.write(PATH, HIDDEN if runner == "pytest" else CASES)
    hold_out(world.project, [PATH], cwd=world.root)
    world.write("calc.py", source)
    tree = world.project.workspace.snapshot()
    passes = held_out_pass(world.project, world.state, tree, frozen_layer(world.project, tree))
    assert passes is (source != READS)


@needs_sandbox
@pytest.mark.parametrize(("source", "kind"), [(LIES, Kind.OVERFIT), (CALC + SUB, Kind.ACCEPTED)])
def test_what_equals_another_expectation_too_is_overfit(source: str, kind: Kind, tmp_path: Path) -> None:
    world = make_live_world(tmp_path / "demo")
    world.write(PATH, HIDDEN)
    hold_out(world.project, [PATH], cwd=world.root)
    world.green()
    world.write("calc.py", source)
    verdict = world.settle().verdict
    assert verdict.kind is kind, verdict


def test_it_comes_back_as_it_was(hidden: World) -> None:
    assert release(hidden.project, [PATH], cwd=hidden.root) == (PATH,)
    assert hidden.read(PATH) == HIDDEN
    assert hidden.state.held_out == {}
    with pytest.raises(UserError):
        release(hidden.project, [PATH], cwd=hidden.root)


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
