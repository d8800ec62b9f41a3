from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, World
from verdigris.checks import coverage
from verdigris.checks.observation import Candidate, difference
from verdigris.core.value import replace
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest

if TYPE_CHECKING:
    from verdigris.core.report import TestReport

IDLE = "\n\ndef idle(a):\n    if a:\n        return 1\n    return 2\n"


def asked(world: World, *watched: TestReport) -> tuple[str, ...]:
    project, turn = world.project, world.state.turn
    assert turn is not None
    tree = project.workspace.snapshot()
    edits = difference(project, turn.tree, tree)
    return coverage.never_run(Candidate(project, turn.tree, tree, edits), [SUB_ID], watched)


@pytest.fixture
def edited(world: World) -> World:
    world.green_by_record()
    world.write("calc.py", CALC + SUB + IDLE)
    return world


def test_lines_that_no_claimed_test_runs_are_told(edited: World) -> None:
    assert asked(edited) == ("no claimed test was seen to run calc.py:10-12",)


def test_a_run_that_was_watched_anyway_is_used(edited: World) -> None:
    project = edited.project
    report = run_request(
        project, project.settings.stacks[0], TestRequest(("tests/test_add.py::test_add",), trace=("calc.py",))
    )
    assert asked(edited, report) == ("no claimed test was seen to run calc.py:6-12",)


def test_nothing_is_said_of_what_nobody_watched(edited: World) -> None:
    project = edited.project
    report = run_request(project, project.settings.stacks[0], TestRequest((SUB_ID,)))
    assert asked(edited, report) == ()


def test_nothing_is_said_of_a_run_whose_lines_were_cut(edited: World) -> None:
    """Code that handles too deep a recursion runs when Python has just dropped the tracer."""
    project = edited.project
    report = run_request(project, project.settings.stacks[0], TestRequest((SUB_ID,), trace=("calc.py",)))
    assert asked(edited, replace(report, cut=True)) == ()


def test_no_run_is_made_where_no_python_source_changed(world: World) -> None:
    world.green_by_record()
    world.write("notes.txt", "nothing to run\n")
    assert asked(world) == ()
