"""What a verdict says of languages in which not everything is tried: with node alone, which is quick."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.node_tools import present
from support.tool_worlds import make_tool_world
from support.turns import World
from verdigris.core.verdict import Kind
from verdigris.turns import refactor
from verdigris.turns.settle import Settlement

CONFIG = "strikes: 9\nuncovered: block\nstacks:\n  - {root: ., language: node, runner: node-test}\n"
ADD = "exports.add = (a, b) => a + b;\n"
STUB = "exports.sub = () => 0; // STUB:TDD\n"
SUB = "exports.sub = (a, b) => a - b;\n"
TEST = """\
const { test } = require("node:test");
const assert = require("node:assert");
const calc = require("../src/calc.js");
test("adds", () => { assert.equal(calc.add(1, 2), 3); });
"""
SUBS = "test/sub.test.js::subs"


@pytest.fixture
def world(tmp_path: Path) -> World:
    present()
    files = {"tdd.yaml": CONFIG, "package.json": "{}", "src/calc.js": ADD, "test/add.test.js": TEST}
    return make_tool_world(tmp_path / "demo", CONFIG, files)


@pytest.mark.usefixtures("recorded_tools")
def test_a_regression_is_seen_without_a_whole_run_before(world: World) -> None:
    """How the tests stood is found out on the tree of the turn's start."""
    world.write("test/sub.test.js", TEST.replace("adds", "subs").replace("add(1, 2), 3", "sub(3, 2), 1"))
    world.write("src/calc.js", ADD + STUB)
    world.claimed(SUBS, "src/calc.js")
    world.write("src/calc.js", ADD.replace("a + b", "a * b") + SUB)
    done = world.settle()
    assert done.verdict.kind is Kind.REGRESSED
    assert "test/add.test.js::adds" in done.verdict.reasons[0]
    world.write("src/calc.js", ADD + SUB)
    done = world.settle()
    assert done.verdict.accepted, done.verdict
    assert not any("not shown to be live" in concern for concern in done.verdict.concerns)


@pytest.mark.usefixtures("recorded_tools")
def test_a_refactor_is_neither_another_behaviour_nor_a_function_that_no_test_runs(world: World) -> None:
    assert isinstance(refactor.begin(world.project, uncovered=False), refactor.Begun)
    fits = end(world, "exports.add = () => 3;\n")
    assert fits.verdict.kind is Kind.REGRESSED
    assert "test/add.test.js::adds with another input" in fits.verdict.reasons[0]
    untested = end(world, ADD + "exports.parse = (text) => Number(text);\n")
    assert untested.verdict.kind is Kind.REGRESSED
    (reason,) = untested.verdict.reasons
    assert reason.startswith("src/calc.js:")
    assert reason.endswith("is new or changed, and no test runs it")
    assert "--uncovered" in untested.next
    done = end(world, "function plus(a, b) {\n  return a + b;\n}\nexports.add = plus;\n")
    assert done.verdict.kind is Kind.ACCEPTED, done.verdict


def end(world: World, source: str) -> Settlement:
    world.write("src/calc.js", source)
    done = refactor.end(world.project)
    assert isinstance(done, Settlement)
    return done
