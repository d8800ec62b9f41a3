"""A person writes test and code in any order, and one `tdd settle` proves or refuses what stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_live_world
from verdigris.core.actions import Deny
from verdigris.core.events import Accepted, Settled
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.storage.project import open_project
from verdigris.turns.late_proof import claim_late
from verdigris.turns.settle import Settlement, settle

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_live_world(tmp_path)


def judged(world: World) -> Deny | Settlement:
    return settle(world.project)


def denied(world: World) -> Deny:
    answer = judged(world)
    assert isinstance(answer, Deny), answer
    return answer


def test_code_and_its_test_are_proven_in_one_go(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_sub.py", TEST_SUB)
    assert world.settle().verdict.kind is Kind.ACCEPTED
    (triple,) = [event for event in world.events(Accepted) if isinstance(event, Accepted)]
    assert (triple.test_id, triple.proven, triple.paths) == (SUB_ID, "after", ("calc.py",))
    assert world.project.workspace.read(triple.before, "calc.py") == CALC.encode()
    assert world.state.phase is Phase.RED


def test_a_new_module_needs_no_stub(world: World) -> None:
    world.write("shop.py", "def total(prices):\n    return sum(prices)\n")
    test = "from shop import total\n\n\ndef test_total():\n    assert total([2, 5]) == 7\n"
    world.write("tests/test_shop.py", test)
    assert world.settle().verdict.kind is Kind.ACCEPTED


def test_a_claim_before_the_edit_is_proven_before_it(world: World) -> None:
    world.green()
    world.write("calc.py", CALC + SUB)
    world.settle()
    (triple,) = [event for event in world.events(Accepted) if isinstance(event, Accepted)]
    assert triple.proven == "before"


def test_code_without_a_changed_test_is_not_proven(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    denial = denied(world)
    assert denial.rule == "no-test"
    assert denial.next.startswith("write a test that fails without the change, then `tdd settle`")
    assert world.read("calc.py") == CALC + SUB


def test_a_test_that_passes_without_the_code_asks_for_nothing(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_more.py", "import calc\n\n\ndef test_more():\n    assert calc.add(4, 5) == 9\n")
    denial = denied(world)
    assert "tests/test_more.py::test_more passes" in denial.reason
    assert denial.next.endswith("then `tdd settle`")
    assert world.state.phase is Phase.RED


def test_a_refused_change_stays_where_it_is_and_may_be_judged_again(world: World) -> None:
    world.write("calc.py", CALC + SUB.replace("a - b", "a + b"))
    world.write("tests/test_sub.py", TEST_SUB)
    for _ in range(4):  # more often than an agent's strikes
        refused = world.settle()
        assert not refused.verdict.accepted
        assert refused.phase == "red"
        assert refused.next == "mend that, then `tdd settle`"
    assert world.state.claims == {}
    assert "a + b" in world.read("calc.py")
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.kind is Kind.ACCEPTED


def test_more_code_than_the_test_asks_for_is_unasked(world: World) -> None:
    world.write("calc.py", f"{CALC}{SUB}\n\ndef mul(a, b):\n    return a * b\n")
    world.write("tests/test_sub.py", TEST_SUB)
    refused = world.settle()
    assert refused.verdict.kind is Kind.HOLLOW
    assert refused.verdict.reasons[0].startswith("unasked: calc.py:")


def test_an_agent_needs_the_red_before(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_sub.py", TEST_SUB)
    answer = settle(open_project(world.root, Actor("agent", "one", "test")))
    assert isinstance(answer, Deny)
    assert world.events(Settled) == []


def test_an_interrupted_proof_leaves_no_turn_and_no_frozen_test(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_sub.py", TEST_SUB)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("verdigris.turns.settle.try_candidate", interrupt)
        with pytest.raises(KeyboardInterrupt):
            world.settle()
    assert (world.state.phase, world.state.claims) == (Phase.RED, {})
    world.write("tests/test_sub.py", TEST_SUB + "    assert calc.sub(9, 1) == 8\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED


def test_a_proof_that_was_killed_is_over_with_the_next_command(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_sub.py", TEST_SUB)
    with world.project.exclusive():
        assert claim_late(world.project, world.state) is None  # and here it is killed
    assert str(world.state.phase) == "green"
    world.test(SUB_ID)
    assert str(world.state.phase) == "red"
    assert world.read("calc.py") == CALC + SUB
    assert world.settle().verdict.kind is Kind.ACCEPTED


def test_with_nothing_changed_there_is_nothing_to_settle(world: World) -> None:
    assert denied(world).rule == "not-in-phase"


def test_what_passed_in_a_file_that_does_not_load_without_the_change_may_not_break(world: World) -> None:
    """The ground's source lacks what the file imports: how its old test ended there, the last suite says."""
    world.test()
    old = world.read("tests/test_add.py")
    new = "from calc import sub\n" + old + "\n\ndef test_sub():\n    assert sub(9, 4) == 5\n"
    world.write("tests/test_add.py", new)
    world.write("calc.py", CALC.replace("a + b", "a - b") + SUB)
    refused = world.settle()
    assert refused.verdict.kind is Kind.REGRESSED
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.kind is Kind.ACCEPTED
