"""An edit of source runs the changed tests itself: a right red is claimed, and anything else is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.core.actions import Allow, Decision, Deny
from verdigris.core.events import TestRun
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.storage.project import open_project
from verdigris.turns import implied_reds
from verdigris.turns.write import decide_writes

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.project import Project

AGENT = Actor("agent", "one", "test")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def project_of(world: World) -> Project:
    return open_project(world.root, AGENT)


def edit(world: World, text: str, path: str = "calc.py") -> Decision:
    return decide_writes(project_of(world), {path: lambda _: text.encode()}, cwd=world.root)


def runs(world: World) -> list[str]:
    return [event.native_id for event in world.events(TestRun) if isinstance(event, TestRun)]


def test_an_edit_after_a_failing_test_claims_it(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    assert isinstance(edit(world, CALC + SUB), Allow)
    assert world.state.phase is Phase.GREEN
    assert list(world.state.claims) == [SUB_ID]


def test_a_second_edit_runs_nothing(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    edit(world, CALC + SUB)
    before = runs(world)
    assert isinstance(edit(world, CALC + SUB + "\n"), Allow)
    assert runs(world) == before


def test_without_a_changed_test_nothing_runs_and_a_red_is_asked_for(world: World) -> None:
    decision = edit(world, CALC + SUB)
    assert isinstance(decision, Deny)
    assert decision.rule == "red-first"
    assert runs(world) == []


def test_a_passing_test_is_named_and_so_is_what_would_make_it_a_red(world: World) -> None:
    world.write("tests/test_again.py", "import calc\n\n\ndef test_again():\n    assert calc.add(1, 1) == 2\n")
    decision = edit(world, CALC + SUB)
    assert isinstance(decision, Deny)
    assert decision.rule == "red-first"
    assert "tests/test_again.py::test_again passes" in decision.reason
    assert decision.next == (
        "assert behaviour that does not exist yet, or claim another test; then repeat this edit"
    )
    assert world.state.phase is Phase.RED


def test_a_test_that_fails_for_a_wrong_reason_is_explained(world: World) -> None:
    world.write("tests/test_odd.py", "def test_odd():\n    assert {}['a'] == 1\n")
    decision = edit(world, CALC + SUB)
    assert isinstance(decision, Deny)
    assert "tests/test_odd.py::test_odd: KeyError: 'a': " in decision.reason


def test_a_red_that_was_seen_before_the_test_changed_is_seen_again(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    world.write("tests/test_sub.py", TEST_SUB + "    assert calc.sub(9, 1) == 8\n")
    assert isinstance(edit(world, CALC + SUB), Allow)
    assert world.state.phase is Phase.GREEN


MISSING = "from shop import Cart\n\n\ndef test_total():\n    assert Cart([1, 2]).total() == 3\n"
CART = """\
class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self):
        return sum(self.prices)
"""


def test_a_test_of_a_module_that_is_not_there_is_red_over_a_stub_that_no_file_holds(world: World) -> None:
    world.write("tests/test_shop.py", MISSING)
    assert isinstance(edit(world, CART, "shop.py"), Allow)
    assert list(world.state.claims) == ["tests/test_shop.py::test_total"]
    (run,) = [run for run in world.events(TestRun) if isinstance(run, TestRun)]
    assert run.red == "valid"
    assert run.over
    assert run.over[0].startswith("shop.py: class Cart:")
    assert not (world.root / "shop.py").exists()


@pytest.mark.parametrize(
    "test",
    [
        "def test_there():\n    from shop import Cart\n    assert Cart\n",
        "import calc\n\n\ndef test_there():\n    assert callable(calc.sub)\n",
        "import calc\n\n\ndef test_there():\n    f = calc.sub\n    assert f.__name__ == 'sub'\n",
    ],
)
def test_a_test_that_a_stub_satisfies_is_no_red(world: World, test: str) -> None:
    world.write("tests/test_there.py", test)
    decision = edit(world, CALC + SUB)
    assert isinstance(decision, Deny), test
    assert world.state.phase is Phase.RED


def test_a_name_that_is_handed_on_and_called_elsewhere_is_red_as_it_was(world: World) -> None:
    test = "import calc\n\n\ndef test_all():\n    assert list(map(calc.sub, [3], [1])) == [2]\n"
    world.write("tests/test_all.py", test)
    assert isinstance(edit(world, CALC + SUB), Allow)
    (run,) = [run for run in world.events(TestRun) if isinstance(run, TestRun)]
    assert run.failure.startswith("AttributeError")


def test_a_run_that_takes_too_long_goes_on_by_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(implied_reds, "seconds_left", lambda: 4.0)
    monkeypatch.setattr(implied_reds, "_run_on", lambda _, paths: started.append(tuple(paths)))
    world.write(
        "tests/test_slow.py", "import time\n\n\ndef test_slow():\n    time.sleep(20)\n    assert False\n"
    )
    decision = edit(world, CALC + SUB)
    assert isinstance(decision, Deny)
    assert (decision.rule, decision.next) == ("tests-run", "repeat the edit in 30 s")
    assert started == [("tests/test_slow.py",)]
