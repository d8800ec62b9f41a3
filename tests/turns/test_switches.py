from __future__ import annotations

from support.turns import CALC, MUL, SUB, SUB_ID, TEST_SUB, World
from verdigris.core.actions import Deny
from verdigris.core.events import Settled, SwitchedOff, SwitchedOn
from verdigris.core.state import Phase
from verdigris.turns.switches import switch_off, switch_on


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
