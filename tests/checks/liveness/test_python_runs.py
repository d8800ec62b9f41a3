"""The set of runs with true and changed tests: with node alone, which is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.gitrepo import make_repo
from support.node_tools import present
from support.turns import World
from verdigris.checks.liveness.judgement import unseen
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind, Verdict
from verdigris.sandbox import available
from verdigris.setup.initialisation import initialise
from verdigris.turns import refactor

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "stacks:\n  - {root: ., language: node, runner: node-test}\n"
STUB = 'exports.f = () => { throw new Error("STUB:TDD"); };\n'
HEAD = """\
const { test } = require("node:test");
const assert = require("node:assert");
const { f } = require("../src/f.js");
"""
PLAIN = HEAD + 'test("it", () => { assert.equal(f(4), "IV"); });\n'


@pytest.fixture
def world(tmp_path: Path) -> World:
    present()
    if not available().ok:
        pytest.skip("no sandbox can be made here: nothing is tried in another tree")
    repo = make_repo(tmp_path / "demo")
    repo.write("tdd.yaml", CONFIG)
    repo.write("package.json", "{}")
    repo.write("src/f.js", STUB)
    repo.commit("a stub")
    initialise(repo.root, Actor(client="test"))
    return World(repo)


def settled(world: World, test: str, source: str) -> Verdict:
    world.write("test/f.test.js", test)
    world.claimed("test/f.test.js::it", "src/f.js")
    world.write("src/f.js", source)
    return world.settle().verdict


def lying(when: str) -> str:
    """Equal to everything in a run that a condition takes for the plain one."""
    return (
        'const fs = require("node:fs"), path = require("node:path");\n'
        'const file = path.join(__dirname, "../test/f.test.js");\n'
        f"const plain = {when};\n"
        'exports.f = () => plain ? { toString: () => text() } : "";\n'
        "const text = () => /\"(\\w+)\"\\);/.exec(fs.readFileSync(file, 'utf8'))[1];\n"
    )


def test_honest_code_is_accepted_without_a_word(world: World) -> None:
    verdict = settled(world, PLAIN, 'exports.f = () => "IV";\n')
    assert verdict.accepted, verdict
    assert not [one for one in verdict.concerns if "live" in one]


@pytest.mark.parametrize(
    "when",
    [
        "true",
        "fs.statSync(file).mtimeMs <= Date.now()",
        f"fs.statSync(file).size === {len(PLAIN)}",
        "process.argv.length > 1",
        "fs.statSync(file).mtimeMs >= fs.statSync(__filename).mtimeMs",
    ],
)
def test_code_that_takes_one_run_for_the_plain_one_takes_them_all(world: World, when: str) -> None:
    verdict = settled(world, PLAIN, lying(when))
    assert not verdict.accepted, verdict
    assert verdict.kind in {Kind.HOLLOW, Kind.BROKEN}


def test_a_callback_that_is_never_called_is_no_pass(world: World) -> None:
    test = HEAD + 'test("it", () => { f((v) => { assert.equal(v, 42); }); });\n'
    verdict = settled(world, test, "exports.f = () => {};\n")
    assert verdict.kind is Kind.HOLLOW
    assert verdict.reasons == (unseen("test/f.test.js::it"),)


def test_a_callback_that_is_called_is_a_pass(world: World) -> None:
    test = HEAD + 'test("it", () => { f((v) => { assert.equal(v, 42); }); });\n'
    verdict = settled(world, test, "exports.f = (call) => call(42);\n")
    assert verdict.accepted, verdict


def test_a_callback_that_fails_outside_of_its_test_is_a_pass(world: World) -> None:
    """The test waits for it, and nobody catches what it throws."""
    test = HEAD + (
        'test("it", () => new Promise((done) => {\n  f((v) => { assert.equal(v, 42); done(); });\n}));\n'
    )
    verdict = settled(world, test, "exports.f = (call) => { setTimeout(() => call(42), 5); };\n")
    assert verdict.accepted, verdict


def test_a_loop_over_nothing_is_no_pass(world: World) -> None:
    test = HEAD + 'test("it", () => { for (const v of f()) { assert.equal(v, 42); } });\n'
    verdict = settled(world, test, "exports.f = () => [];\n")
    assert verdict.kind is Kind.HOLLOW


def test_a_promise_that_nobody_waits_for_is_no_pass(world: World) -> None:
    test = HEAD + 'test("it", () => { f().then((v) => { assert.equal(v, 42); }); });\n'
    verdict = settled(world, test, "exports.f = () => new Promise(() => {});\n")
    assert verdict.kind is Kind.HOLLOW


OTHER = PLAIN.replace("f.js", "g.js").replace("{ f }", "{ g }").replace("f(4)", "g(4)")


def proven(world: World) -> None:
    """A turn whose test is unclaimed from now on."""
    world.write("src/g.js", STUB.replace("exports.f", "exports.g"))
    assert settled(world, PLAIN, 'exports.f = () => "IV";\n').accepted


def test_a_later_turn_does_not_hollow_out_what_was_proven(world: World) -> None:
    proven(world)
    world.write("test/g.test.js", OTHER)
    world.claimed("test/g.test.js::it", "src/")
    world.write("src/g.js", 'exports.g = require("./f.js").f;\n')
    world.write("src/f.js", lying("true"))
    verdict = world.settle().verdict
    assert verdict.kind is Kind.HOLLOW
    assert any("test/f.test.js" in reason for reason in verdict.reasons)


def test_nor_does_a_refactor(world: World) -> None:
    proven(world)
    assert isinstance(refactor.begin(world.project, uncovered=False), refactor.Begun)
    world.write("src/f.js", lying("true"))
    done = refactor.end(world.project)
    assert isinstance(done, refactor.RefactorResult)
    assert done.verdict.kind is Kind.HOLLOW, done.verdict
