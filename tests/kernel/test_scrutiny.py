from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_live_world, make_world
from verdigris.core.verdict import Kind
from verdigris.kernel import sandbox

if TYPE_CHECKING:
    from pathlib import Path

needs_sandbox = pytest.mark.skipif(not sandbox.available().ok, reason="no sandbox can be made here")

ANYTHING = """

class Anything:
    def __eq__(self, other):
        return True


def sub(a, b):
    return Anything()
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_live_world(tmp_path / "repo")


@needs_sandbox
def test_a_green_that_does_not_depend_on_its_assertions_is_hollow(world: World) -> None:
    world.green()
    world.write("calc.py", CALC + ANYTHING)
    done = world.settle()
    assert done.verdict.kind is Kind.HOLLOW
    assert any("tests/test_sub.py:5" in reason for reason in done.verdict.reasons)
    assert world.read("tests/test_sub.py") == TEST_SUB
    assert world.state.strikes == {SUB_ID: 1}


def test_source_that_knows_its_tests_is_refused_whatever_the_tests_say(world: World) -> None:
    world.green()
    knowing = "\n\ndef sub(a, b):\n    return 2 if 'pytest' in sys.modules else 0\n"
    world.write("calc.py", "import sys\n\n\n" + CALC + knowing)
    done = world.settle()
    assert done.verdict.kind is Kind.HOLLOW
    assert "calc.py" in done.verdict.reasons[0]


def test_honest_code_is_accepted_without_a_concern(world: World) -> None:
    world.green()
    world.write("calc.py", CALC + SUB)
    done = world.settle()
    assert (done.verdict.kind, done.verdict.concerns) == (Kind.ACCEPTED, ())


TABLE = CALC + "\n\ndef sub(a, b):\n    return {(5, 3): 2, (1789, 42): 1747}.get((a, b), 0)\n"
TABLE_TEST = TEST_SUB + "    assert calc.sub(1789, 42) == 1747\n"


@pytest.mark.parametrize(("rule", "kind"), [("record", Kind.ACCEPTED), ("block", Kind.HOLLOW)])
def test_a_concern_is_recorded_or_blocks_as_configured(tmp_path: Path, rule: str, kind: Kind) -> None:
    world = make_world(tmp_path / "repo", f"concerns: {rule}\n")
    world.write("tests/test_sub.py", TABLE_TEST)
    world.claimed()
    world.write("calc.py", TABLE)
    done = world.settle()
    assert done.verdict.kind is kind
    assert any("1747" in text for text in (*done.verdict.concerns, *done.verdict.reasons))


@pytest.mark.parametrize(("rule", "kind"), [("record", Kind.ACCEPTED), ("block", Kind.HOLLOW)])
def test_a_line_that_no_claimed_test_runs_is_recorded_or_blocks_as_configured(
    tmp_path: Path, rule: str, kind: Kind
) -> None:
    world = make_live_world(tmp_path / "repo", f"uncovered: {rule}\n")
    world.green()
    world.write("calc.py", CALC + SUB + "\n\ndef idle(a):\n    return a\n")
    verdict = world.settle().verdict
    assert verdict.kind is kind
    told = verdict.reasons if rule == "block" else verdict.concerns
    assert "no claimed test was seen to run calc.py:10" in told


@needs_sandbox
def test_liveness_leaves_no_trace_in_the_tree(world: World) -> None:
    world.green()
    world.write("calc.py", CALC + SUB)
    before = world.repo.git("status", "--porcelain", "--ignored")
    assert world.settle().verdict.accepted
    assert world.repo.git("status", "--porcelain", "--ignored") == before
