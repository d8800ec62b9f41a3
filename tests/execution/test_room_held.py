from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, make_world
from verdigris.core.verdict import Kind
from verdigris.execution import rooms as module
from verdigris.execution.resident import headstart
from verdigris.execution.room import Layer
from verdigris.execution.rooms import frozen_layer, layer_beside, possible, room
from verdigris.execution.test_run import execute
from verdigris.runners.protocol import TestRequest

WRONG = CALC + "\n\ndef sub(a, b):\n    return a + b\n"


@pytest.fixture(autouse=True)
def confined(world: World) -> Iterator[None]:
    if not possible(world.project).ok:
        pytest.skip("no sandbox can be made here")
    yield
    headstart.cancel()


def layer(world: World, *claimed: str) -> Layer:
    made = frozen_layer(world.project, world.project.workspace.snapshot(), claimed)
    assert made is not None
    return made


WATCHER = """
import sys, time
path, good, bad = sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()
print(flush=True)
while True:
    for text in (bad, good):
        with open(path, "wb") as file:
            file.write(text)
        time.sleep(0.0005)
"""


@pytest.mark.parametrize("early", [False, True], ids=["a new room", "one that had a head start"])
def test_who_swaps_a_frozen_test_while_it_runs_reaches_nothing(world: World, *, early: bool) -> None:
    """The test file is what the store has, however often another process puts an easy one in its place."""
    seen = "import pathlib\n\n\ndef test_sub():\n    assert 'assert' in pathlib.Path(__file__).read_text()\n"
    slow = (
        "import pathlib, time\nimport calc\n\n\ndef test_sub():\n"
        "    for _ in range(60):\n"
        "        assert 'calc.sub' in pathlib.Path(__file__).read_text()\n"
        "        time.sleep(0.002)\n"
        "    assert calc.sub(5, 3) == 2\n"
    )
    world.write("tests/test_sub.py", slow)
    world.claimed()
    world.write("calc.py", WRONG)
    made = layer(world, "tests/test_sub.py")
    if early:
        headstart.begin(str(world.root))
    path = str(world.root / "tests/test_sub.py")
    watcher = subprocess.Popen([sys.executable, "-c", WATCHER, path, slow, seen], stdout=subprocess.PIPE)
    try:
        assert watcher.stdout is not None
        watcher.stdout.readline()
        report = execute(world.project, TestRequest((SUB_ID,), sources=()), layer=made)
    finally:
        watcher.kill()
        watcher.communicate()
    (result,) = report.results
    assert result.failure is not None
    assert "2" in result.failure.message, "it came to its last assertion"
    assert "8" in result.failure.message


def test_bytecode_beside_the_source_is_not_for_the_tests_children_either(world: World) -> None:
    """A test that starts a Python of its own: there, nobody but the room can refuse poisoned caches."""
    child = (
        "import subprocess, sys\n\n\ndef test_sub():\n"
        "    code = 'import calc; print(calc.sub(5, 3))'\n"
        "    done = subprocess.run([sys.executable, '-c', code], stdout=subprocess.PIPE)\n"
        "    assert done.stdout == b'2\\n'\n"
    )
    world.write("tests/test_sub.py", child)
    world.claimed()
    source = world.root / "calc.py"
    for text in (CALC + SUB, WRONG):
        world.write("calc.py", text)
        os.utime(source, (1_700_000_000, 1_700_000_000))
        if text != WRONG:
            py_compile.compile(str(source))
    assert world.settle().verdict.kind is Kind.STILL_RED
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted


def test_a_run_finds_no_bytecode_and_may_write_its_own(world: World) -> None:
    world.write("pkg/__init__.py", "")
    for path in ("calc.py", "pkg/__init__.py"):
        py_compile.compile(str(world.root / path))
    py_compile.compile(str(world.root / "calc.py"), cfile=str(world.root / "pkg/alone.pyc"))
    world.write("venv/lib/__pycache__/kept.pyc", "")
    command = "find . -name '*.pyc' -o -name __pycache__; mkdir __pycache__ && touch __pycache__/calc.x.pyc"
    with room(world.project, layer=layer(world)) as made:
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=world.root,
            env=made.env,
            preexec_fn=made.confine,
            capture_output=True,
            check=True,
        )
        assert sorted(done.stdout.decode().split()) == [
            "./venv/lib/__pycache__",
            "./venv/lib/__pycache__/kept.pyc",
        ]
        assert made.wrote(world.project.classify) == ()


def test_what_is_held_are_tests_specs_and_runner_files_the_claimed_ones_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.write("tests/data.json", "{}")
    world.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    world.write("docs/notes.md", "")
    made = layer(world, "tests/test_sub.py")
    assert {entry.path for entry in made.firm} == {
        *("conftest.py", "pyproject.toml", "tests/data.json", "tests/test_add.py", "tests/test_sub.py")
    }
    assert set(made.cacheless) == {"", "tests"}
    monkeypatch.setattr(module, "FILES", 1)
    assert [entry.path for entry in layer(world, "tests/test_sub.py").firm] == ["tests/test_sub.py"]
    monkeypatch.setattr(module, "LARGE", 3)
    assert layer(world, "tests/test_add.py").firm == ()


def test_another_tree_is_shown_with_what_is_held(tmp_path: Path) -> None:
    world = make_world(tmp_path / "other")
    start = world.project.workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    mine = layer(world)
    both = layer_beside(Layer(start, mine.worktree), mine)
    assert both is not None
    with room(world.project, layer=both) as made:
        world.write("tests/test_add.py", "# swapped\n")
        command = ["cat", "calc.py", "tests/test_add.py"]
        done = subprocess.run(
            command, cwd=world.root, env=made.env, preexec_fn=made.confine, capture_output=True, check=True
        )
    assert done.stdout.decode() == CALC + TEST_ADD
    assert layer_beside(None, mine) is mine
    assert layer_beside(Layer(start, start), None) is None
