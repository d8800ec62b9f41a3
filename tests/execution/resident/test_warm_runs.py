"""The suite's own warm runs find what cold ones find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support import warm_runs
from support.turns import CALC, SUB, SUB_ID, TEST_SUB, make_world
from verdigris.core.verdict import Kind
from verdigris.execution.resident import borrowed_child
from verdigris.sandbox.child import available

if TYPE_CHECKING:
    from pathlib import Path

    from support.turns import World

pytestmark = pytest.mark.skipif(
    not borrowed_child.is_possible(available().way), reason="no process can walk into a room here"
)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each run of tests, whether it was a fork's."""
    seen: list[bool] = []
    borrow = warm_runs._borrow

    def noted(*arguments: object) -> object:
        lent = borrow(*arguments)  # type: ignore[arg-type]  # as they come
        seen.append(lent is not None)
        return lent

    monkeypatch.setattr(warm_runs, "_borrow", noted)
    return seen


def test_a_round_is_made_by_forks_and_finds_what_a_cold_one_finds(
    world: World, tmp_path: Path, runs: list[bool]
) -> None:
    other = make_world(tmp_path / "other")
    for each in (world, other):
        each.write("tests/test_sub.py", TEST_SUB)
    [cold] = other.test(SUB_ID).tests
    with warm_runs.warm_runs():
        [warm] = world.test(SUB_ID).tests
        world.claim(SUB_ID, "calc.py")
        world.write("calc.py", CALC + SUB)
        assert world.settle().verdict.kind is Kind.ACCEPTED
    assert replace(warm, duration_ms=0) == replace(cold, duration_ms=0)
    assert runs
    assert all(runs)


def test_a_project_that_hides_a_module_of_the_tool_runs_cold(world: World, runs: list[bool]) -> None:
    """What such a module does must not depend on what a process had loaded before."""
    world.write("iniconfig.py", "raise RuntimeError('the project has its own')\n")
    world.write("tests/test_sub.py", TEST_SUB)
    with warm_runs.warm_runs():
        told = world.test(SUB_ID)
    assert runs == [True]
    assert not any(test.red == "valid" for test in told.tests)


ELSEWHERE = "import elsewhere\n\n\ndef test_sub():\n    assert elsewhere.ANSWER == 1\n"


def test_a_path_of_its_own_is_taken_by_the_fork(
    world: World, runs: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("lib/elsewhere.py", "ANSWER = 2\n")
    world.write("more/elsewhere.py", "ANSWER = 1\n")
    world.write("tests/test_sub.py", ELSEWHERE)
    monkeypatch.setenv("PYTHONPATH", f"{world.root / 'lib'}:{world.root / 'more'}")
    with warm_runs.warm_runs():
        told = world.test(SUB_ID)
    assert runs == [True]
    assert [test.status for test in told.tests] == ["fail"]


def test_a_path_that_hides_a_module_of_the_tool_runs_cold(
    world: World, runs: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("lib/iniconfig.py", "raise RuntimeError('the project has its own')\n")
    world.write("tests/test_sub.py", TEST_SUB)
    monkeypatch.setenv("PYTHONPATH", str(world.root / "lib"))
    with warm_runs.warm_runs():
        told = world.test(SUB_ID)
    assert runs == [True]
    assert not any(test.red == "valid" for test in told.tests), "the fork was believed"


@pytest.mark.parametrize("name", ["sitecustomize.py", "usercustomize/__init__.py"])
def test_what_an_interpreter_loads_when_it_starts_runs_cold(
    world: World, runs: list[bool], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world.write(f"lib/{name}", "import builtins\nbuiltins.ANSWER = 2\n")
    world.write("tests/test_sub.py", "def test_sub():\n    assert ANSWER == 1\n")
    monkeypatch.setenv("PYTHONPATH", str(world.root / "lib"))
    with warm_runs.warm_runs():
        world.test(SUB_ID)
    assert runs == [False]
