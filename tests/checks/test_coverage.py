from __future__ import annotations

import pytest

from support.turns import CALC, SUB, SUB_ID, World
from verdigris.checks.coverage import find_unasked, watchable
from verdigris.checks.observation import Candidate, difference
from verdigris.core.value import replace
from verdigris.execution.rooms import frozen_layer
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest

IDLE = "\n\ndef idle(a):\n    if a:\n        return 1\n    return 2\n"


def unasked(world: World, *names: str, cut: bool = False, trace: bool = True) -> tuple[str, ...]:
    project, turn = world.project, world.state.turn
    assert turn is not None
    tree = project.workspace.snapshot()
    edits = difference(project, turn.tree, tree)
    traced = watchable(edits) if trace else ()
    report = run_request(project, project.settings.stacks[0], TestRequest(names, trace=traced))
    candidate = Candidate(project, turn.tree, tree, edits, frozen_layer(project, tree))
    return tuple(map(str, find_unasked(candidate, replace(report, cut=cut))))


@pytest.fixture
def edited(world: World) -> World:
    world.green_by_record()
    world.write("calc.py", CALC + SUB + IDLE)
    return world


def test_new_lines_that_no_test_runs_are_named_with_their_function(edited: World) -> None:
    assert unasked(edited) == (
        "unasked: calc.py:10 idle: no test runs it; claim a red for it, or take it out",
    )


def test_lines_that_a_test_runs_in_another_process_are_asked_for(edited: World) -> None:
    edited.write(
        "tests/test_apart.py",
        "import subprocess, sys\n\n\ndef test_apart():\n    code = 'import calc; assert calc.idle(0) == 2 and"
        " calc.idle(1) == 1'\n    subprocess.run([sys.executable, '-c', code], check=True)\n",
    )
    assert unasked(edited) == ()


def test_nothing_is_said_of_what_nobody_traced(edited: World) -> None:
    assert unasked(edited, SUB_ID, trace=False) == ()


def test_nothing_is_said_of_a_run_whose_lines_were_cut(edited: World) -> None:
    """Code that handles too deep a recursion runs when Python has just dropped the tracer."""
    assert unasked(edited, SUB_ID, cut=True) == ()


def test_nothing_is_said_where_no_python_source_changed(world: World) -> None:
    world.green_by_record()
    world.write("notes.txt", "nothing to run\n")
    assert unasked(world) == ()
