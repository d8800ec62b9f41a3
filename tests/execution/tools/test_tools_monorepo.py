"""A Python package beside a vitest one beside a crate: each in its own folder, with its own tool."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.node_tools import installed, present
from support.tool_worlds import NODE, RUST, RUST_STUB, RUST_SUB, RUST_TEST, make_tool_world
from support.tools import why_not
from support.turns import CALC, SUB, TEST_ADD, TEST_SUB, World
from verdigris.core.report import Status

WHY_NOT = why_not("cargo", "--version")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]
CONFIG = f"""\
stacks:
  - {{root: py, language: python, runner: pytest, python: {json.dumps(sys.executable)}}}
  - {{root: web, language: node, runner: vitest}}
  - {{root: crates/demo, language: rust, runner: cargo}}
"""
FILES = {
    "py/conftest.py": "",
    "py/calc.py": CALC,
    "py/tests/test_add.py": TEST_ADD,
    **{f"web/{path}": text for path, text in NODE.items() if path != ".gitignore"},
    **{f"crates/demo/{path}": text for path, text in RUST.items()},
    ".gitignore": "node_modules\n",
}
PY, RS = "py/tests/test_sub.py::test_sub", "crates/demo/tests/sub.rs::subs"
LIB = "crates/demo/src/lib.rs"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The packages are hoisted to the root."""
    present()
    return make_tool_world(tmp_path / "demo", CONFIG, FILES, installed("vitest@2"))


@pytest.mark.usefixtures("recorded_tools")
def test_a_turn_over_two_stacks(world: World) -> None:
    whole = world.test()
    assert whole.passed
    assert {run.native_id for run in whole.tests} == {
        "py/tests/test_add.py::test_add",
        "web/test/add.test.js::adds",
        "crates/demo/tests/add.rs::adds",
    }
    world.write("py/tests/test_sub.py", TEST_SUB)
    world.write("crates/demo/tests/sub.rs", RUST_TEST)
    world.write(LIB, RUST["src/lib.rs"] + RUST_STUB)
    both = world.test(PY, RS)
    assert {run.native_id: run.red for run in both.tests} == {PY: "valid", RS: "valid"}
    assert both.report is not None
    assert [command.split()[0] for command in both.report.command.split(" && ")] == ["python", "cargo"]
    world.claimed(PY, "py/calc.py")
    world.claimed(RS, LIB)
    world.write("py/calc.py", CALC + SUB)
    world.write(LIB, RUST["src/lib.rs"] + RUST_SUB)
    done = world.settle()
    assert done.verdict.accepted, done.verdict
    assert set(done.accepted) == {PY, RS}
    assert done.report is not None
    commands = [command.split()[0] for command in done.report.command.split(" && ")]
    assert commands == ["python", "vitest", "cargo", "cargo"]  # the last for doc tests
    assert {result.status for result in done.report.results} == {Status.PASS}
