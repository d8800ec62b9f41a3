"""The baseline: taken once for a ground, bounded in time, and read by whoever starts to work."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import World, make_world
from verdigris.core.events import Ground, SuiteHindered, SuiteRun
from verdigris.core.policy.next_move import FIRST_MOVE
from verdigris.core.suite_health import Hindrance
from verdigris.turns import baseline
from verdigris.turns.baseline import take_baseline
from verdigris.turns.next_move import following_move

SLOW = "import time\n\n\ndef test_slow():\n    time.sleep(30)\n"

IN_SRC = {
    "src/shop/__init__.py": "VALUE = 1\n",
    "tests/test_a.py": "import shop\n\n\ndef test_a():\n    assert shop.VALUE == 1\n",
    "tests/test_add.py": "",
}
"""A package that no test can import, unless something puts it on the path."""


def suites(world: World) -> list[object]:
    return [*world.events(SuiteRun, SuiteHindered)]


def test_the_suite_is_run_once_for_a_ground(world: World) -> None:
    take_baseline(world.project)
    assert world.state.suite == "baseline: 1 test, it passes"
    world.write("tests/test_more.py", "def test_more():\n    assert True\n")
    take_baseline(world.project)
    assert len(suites(world)) == 1


def test_a_new_ground_is_looked_at_again(world: World) -> None:
    take_baseline(world.project)
    world.write("tests/test_more.py", "def test_more():\n    assert True\n")
    tree = world.project.workspace.snapshot()
    world.project.record(Ground(tree=tree, commit=None, on=None, why="it moved"))
    take_baseline(world.project)
    assert world.state.suite == "baseline: 2 tests, all pass"


def test_failures_of_the_ground_are_counted_and_are_no_reds(world: World) -> None:
    world.write("tests/test_more.py", "def test_more():\n    assert False\n")
    take_baseline(world.project)
    assert world.state.suite == "baseline: 2 tests, 1 pass, 1 fail"
    assert not world.state.reds


def test_a_suite_that_takes_too_long_is_stopped_and_said_to_be(world: World) -> None:
    world.write("tests/test_slow.py", SLOW)
    take_baseline(world.project, seconds=2)
    said = world.state.suite
    assert "2 tests" in said
    assert "the suite was stopped after 2 s; `tdd test` runs it to its end" in said
    assert following_move(world.project, world.state) == FIRST_MOVE
    take_baseline(world.project, seconds=2)
    assert len(suites(world)) == 1


def test_nothing_is_run_while_a_turn_is_open(green: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "execute_suite", lambda *_, **__: pytest.fail("it ran"))
    take_baseline(green.project)


def test_a_project_without_tests_has_no_baseline(tmp_path: Path) -> None:
    world = make_world(tmp_path / "w", **{"tests/test_add.py": ""})
    take_baseline(world.project)
    assert world.state.suite == ""


def test_a_single_test_that_loads_again_ends_what_was_in_its_way(tmp_path: Path) -> None:
    world = make_world(tmp_path / "w", **IN_SRC)
    take_baseline(world.project)
    cure = following_move(world.project, world.state)
    assert "`pythonpath = src` below `[pytest]` in pytest.ini" in cure
    world.write("pytest.ini", "[pytest]\npythonpath = src\n")
    assert following_move(world.project, world.state) == cure
    world.test("tests/test_a.py")
    assert world.state.hindrance is None
    assert following_move(world.project, world.state) == FIRST_MOVE


def test_an_installed_copy_of_the_project_is_a_hindrance_until_a_run_shows_otherwise(tmp_path: Path) -> None:
    copy = tmp_path / "installed"
    (copy / "shop").mkdir(parents=True)
    (copy / "shop" / "__init__.py").write_text("VALUE = 1\n")
    world = make_world(tmp_path / "w", f"room: {{env: [PYTHONPATH={copy}]}}\n", **IN_SRC)
    take_baseline(world.project)
    cure = following_move(world.project, world.state)
    assert "instead of src/shop/__init__.py" in world.state.suite
    assert "`pythonpath = src` below `[pytest]` in pytest.ini" in cure
    assert world.test("tests/test_a.py").next == cure
    assert world.test().next == cure
    world.write("pytest.ini", "[pytest]\npythonpath = src\n")
    assert world.test().next == FIRST_MOVE


def test_a_tool_that_starts_again_ends_what_was_in_its_way_also_without_tests(tmp_path: Path) -> None:
    world = make_world(tmp_path / "w", **{"tests/test_add.py": ""})
    missing = Hindrance("there is no pytest", "install it, then `tdd test`", blocks=True)
    world.project.record(SuiteHindered(hindrance=missing))
    assert following_move(world.project, world.state) == missing.cure
    assert world.test().next == FIRST_MOVE


def test_one_file_in_whose_way_something_is_does_not_hide_the_others(tmp_path: Path) -> None:
    world = make_world(tmp_path / "w", **{path: text for path, text in IN_SRC.items() if "add" not in path})
    take_baseline(world.project)
    assert world.state.suite.startswith("baseline: 1 test, it passes; 1 file does not load: tests/test_a.py")
    assert following_move(world.project, world.state) == FIRST_MOVE
    tested = world.test("tests/test_a.py")
    assert "`pythonpath = src`" in tested.next
    assert following_move(world.project, world.state) == tested.next
    assert world.state.suite.startswith("baseline: 1 test, it passes; 1 file does not load: tests/test_a.py")
    world.write("tests/test_b.py", "import nowhere\n\n\ndef test_b():\n    assert nowhere\n")
    other = world.test("tests/test_b.py").hindrance
    assert other is not None
    assert other.files == ("tests/test_b.py",)
