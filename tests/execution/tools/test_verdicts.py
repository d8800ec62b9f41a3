"""What a verdict says of languages in which not everything is tried: with node alone, which is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.gitrepo import make_repo
from support.node_tools import present
from support.turns import World
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind
from verdigris.setup.initialisation import initialise
from verdigris.turns import refactor

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "uncovered: block\nstacks:\n  - {root: ., language: node, runner: node-test}\n"
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
    repo = make_repo(tmp_path / "demo")
    repo.write("tdd.yaml", CONFIG)
    repo.write("package.json", "{}")
    repo.write("src/calc.js", ADD)
    repo.write("test/add.test.js", TEST)
    repo.commit("a calculator")
    initialise(repo.root, Actor(client="test"))
    return World(repo)


def test_what_was_not_tried_is_said(world: World) -> None:
    world.write("test/sub.test.js", TEST.replace("adds", "subs").replace("add(1, 2), 3", "sub(3, 2), 1"))
    world.write("src/calc.js", ADD + STUB)
    world.claimed(SUBS, "src/calc.js")
    world.write("src/calc.js", ADD + SUB)
    done = world.settle()
    assert done.verdict.accepted, done.verdict
    assert not any("not shown to be live" in concern for concern in done.verdict.concerns)
    assert any("line coverage" in each and "src/calc.js" in each for each in done.verdict.concerns)


def test_a_refactor(world: World) -> None:
    assert isinstance(refactor.begin(world.project, uncovered=False), refactor.Begun)
    world.write("src/calc.js", "function plus(a, b) {\n  return a + b;\n}\nexports.add = plus;\n")
    done = refactor.end(world.project)
    assert isinstance(done, refactor.RefactorResult)
    assert done.verdict.kind is Kind.ACCEPTED, done.verdict


def test_an_answer_that_fits_the_tests_alone_is_another_behaviour(world: World) -> None:
    assert isinstance(refactor.begin(world.project, uncovered=False), refactor.Begun)
    world.write("src/calc.js", "exports.add = () => 3;\n")
    done = refactor.end(world.project)
    assert isinstance(done, refactor.RefactorResult)
    assert done.verdict.kind is Kind.REGRESSED
    assert "test/add.test.js::adds with another input" in done.verdict.reasons[0]


def test_a_function_that_no_test_runs_is_no_refactor(world: World) -> None:
    assert isinstance(refactor.begin(world.project, uncovered=False), refactor.Begun)
    world.write("src/calc.js", ADD + "exports.parse = (text) => Number(text);\n")
    done = refactor.end(world.project)
    assert isinstance(done, refactor.RefactorResult)
    assert done.verdict.kind is Kind.REGRESSED
    (reason,) = done.verdict.reasons
    assert reason.startswith("src/calc.js:")
    assert reason.endswith("is new or changed, and no test runs it")
    assert "--uncovered" in done.next


def test_a_regression_is_seen_without_a_whole_run_before(world: World) -> None:
    """How the tests stood is found out on the tree of the turn's start."""
    world.write("test/sub.test.js", TEST.replace("adds", "subs").replace("add(1, 2), 3", "sub(3, 2), 1"))
    world.write("src/calc.js", ADD + STUB)
    world.claimed(SUBS, "src/calc.js")
    world.write("src/calc.js", ADD.replace("a + b", "a * b") + SUB)
    done = world.settle()
    assert done.verdict.kind is Kind.REGRESSED
    assert "test/add.test.js::adds" in done.verdict.reasons[0]
