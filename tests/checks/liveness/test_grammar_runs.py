"""The set of runs with true and changed tests: with node alone, which is quick."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.node_tools import present
from support.tool_worlds import make_tool_world
from support.turns import World
from verdigris.checks.liveness.grammar_runs import OpposedTests, oppose
from verdigris.checks.liveness.judgement import Liveness, describe_unseen
from verdigris.core.verdict import Kind, Verdict
from verdigris.execution.rooms import frozen_layer
from verdigris.sandbox.child import available
from verdigris.turns import refactor
from verdigris.turns.settle import Settlement

CONFIG = "stacks:\n  - {root: ., language: node, runner: node-test}\n"
STUB = 'exports.f = () => { throw new Error("STUB:TDD"); };\n'
HEAD = """\
const { test } = require("node:test");
const assert = require("node:assert");
const { f } = require("../src/f.js");
"""
PLAIN = HEAD + 'test("it", () => { assert.equal(f(4), "IV"); });\n'
ID = "test/f.test.js::it"


@pytest.fixture
def world(tmp_path: Path) -> World:
    present()
    if not available().ok:
        pytest.skip("no sandbox can be made here: nothing is tried in another tree")
    files = {"tdd.yaml": CONFIG, "package.json": "{}", "src/f.js": STUB}
    return make_tool_world(tmp_path / "demo", CONFIG, files)


def settle(world: World, source: str) -> Verdict:
    """A whole turn."""
    world.write("test/f.test.js", PLAIN)
    world.claimed(ID, "src/f.js")
    world.write("src/f.js", source)
    return world.settle().verdict


def try_assertions(world: World, test: str, *sources: str) -> list[Liveness]:
    """What a verdict asks of a claimed test that passes, for each text of the source."""
    world.write("test/f.test.js", test)
    [stack] = world.project.settings.stacks
    found = []
    for source in sources:
        world.write("src/f.js", source)
        tree = world.project.workspace.snapshot()
        room = frozen_layer(world.project, tree)
        found.append(oppose(world.project, stack, OpposedTests(tree, (ID,)), room))
    return found


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
    verdict = settle(world, 'exports.f = () => "IV";\n')
    assert verdict.accepted, verdict
    assert not [one for one in verdict.concerns if "live" in one]


def test_code_that_takes_one_run_for_the_plain_one_takes_them_all(world: World) -> None:
    plain = (
        "true",
        "fs.statSync(file).mtimeMs <= Date.now()",
        f"fs.statSync(file).size === {len(PLAIN)}",
        "process.argv.length > 1",
        "fs.statSync(file).mtimeMs >= fs.statSync(__filename).mtimeMs",
    )
    found = try_assertions(world, PLAIN, *map(lying, plain))
    assert [when for when, alive in zip(plain, found, strict=True) if not alive.hollow + alive.doubts] == []


def test_a_callback_is_a_pass_if_it_is_called(world: World) -> None:
    test = HEAD + 'test("it", () => { f((v) => { assert.equal(v, 42); }); });\n'
    never, called = try_assertions(
        world, test, "exports.f = () => {};\n", "exports.f = (call) => call(42);\n"
    )
    assert never.hollow == (describe_unseen(ID),)
    assert called == Liveness((), ())


def test_a_callback_that_fails_outside_of_its_test_is_a_pass(world: World) -> None:
    """The test waits for it, and nobody catches what it throws."""
    test = HEAD + (
        'test("it", () => new Promise((done) => {\n  f((v) => { assert.equal(v, 42); done(); });\n}));\n'
    )
    [alive] = try_assertions(world, test, "exports.f = (call) => { setTimeout(() => call(42), 5); };\n")
    assert alive == Liveness((), ())


@pytest.mark.parametrize(
    ("body", "source"),
    [
        ("for (const v of f()) { assert.equal(v, 42); }", "() => []"),
        ("f().then((v) => { assert.equal(v, 42); });", "() => new Promise(() => {})"),
    ],
    ids=["a loop over nothing", "a promise that nobody waits for"],
)
def test_what_asserts_nothing_is_no_pass(world: World, body: str, source: str) -> None:
    [alive] = try_assertions(world, f'{HEAD}test("it", () => {{ {body} }});\n', f"exports.f = {source};\n")
    assert alive.hollow


OTHER = PLAIN.replace("f.js", "g.js").replace("{ f }", "{ g }").replace("f(4)", "g(4)")


def proven(world: World) -> None:
    """A turn whose test is unclaimed from now on."""
    world.write("src/g.js", STUB.replace("exports.f", "exports.g"))
    verdict = settle(world, 'exports.f = () => "IV";\n')
    assert verdict.accepted, verdict


def test_a_later_turn_does_not_hollow_out_what_was_proven(world: World) -> None:
    proven(world)
    world.write("test/g.test.js", OTHER)
    world.claimed("test/g.test.js::it", "src/")
    world.write("src/g.js", 'exports.g = (n) => (n === 4 ? "IV" : "");\n')
    world.write("src/f.js", lying("true"))
    verdict = world.settle().verdict
    assert verdict.kind is Kind.HOLLOW
    assert any("test/f.test.js" in reason for reason in verdict.reasons), verdict


def test_nor_does_a_refactor(world: World) -> None:
    proven(world)
    assert isinstance(refactor.begin(world.project, uncovered=False), refactor.Begun)
    world.write("src/f.js", lying("true"))
    done = refactor.end(world.project)
    assert isinstance(done, Settlement)
    assert done.verdict.kind is Kind.HOLLOW, done.verdict


def test_a_slow_test_is_asked_too(world: World) -> None:
    slow = 'test("it", async () => { await new Promise((end) => setTimeout(end, 1500)); '
    world.write("src/f.js", 'exports.f = () => "IV";\n')
    world.write("src/g.js", STUB.replace("exports.f", "exports.g"))
    world.write("test/f.test.js", HEAD + slow + 'assert.equal(f(4), "IV"); });\n')
    world.repo.commit("slow")
    world.write("test/g.test.js", OTHER)
    world.claimed("test/g.test.js::it", "src/")
    world.write("src/g.js", 'exports.g = (n) => (n === 4 ? "IV" : "");\n')
    world.write("src/f.js", lying("true"))
    verdict = world.settle().verdict
    assert verdict.kind is Kind.HOLLOW
    assert any("test/f.test.js" in reason for reason in verdict.reasons), verdict


def test_what_a_variable_of_the_caller_answers_is_hollow_by_its_name(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ANSWER", "IV")
    verdict = settle(world, 'exports.f = () => process.env.LC_ANSWER ?? "";\n')
    assert verdict.kind is Kind.HOLLOW
    [reason] = verdict.reasons
    assert reason.startswith(f"{ID} passes only with this locale")
    assert "room: {same: [locale]}" in reason


LIE = "const lie = [3, 1, 2]; lie.toString = () => '1,2,3'; lie.includes = (x) => x < 4;\n"


@pytest.mark.parametrize(
    ("asserted", "source"),
    [
        ("assert.equal(String(f()), '1,2,3')", f"{LIE}exports.f = () => lie;\n"),
        ("assert.equal(`${f()}`, '1,2,3')", f"{LIE}exports.f = () => lie;\n"),
        ("assert.equal('1,2,3', f() + '')", f"{LIE}exports.f = () => lie;\n"),
        ("assert.equal(f()[0].includes(1), true)", f"{LIE}lie.length = 1; exports.f = () => [lie];\n"),
        (
            "assert.deepEqual([...f()], [1])",
            "exports.f = () => new (class extends Set { *[Symbol.iterator]() { yield 1; } })([2]);\n",
        ),
        ("assert.equal(f(12), 144)", "exports.f = (n) => ({ valueOf: () => n * n });\n"),
        ("assert.equal(f(), 'ab')", "exports.f = () => new Proxy([], { get: () => () => 'ab' });\n"),
    ],
    ids=["a conversion", "a template", "a sum of texts", "a method", "a set", "a value", "a proxy"],
)
def test_a_built_in_value_counts_by_its_data(world: World, asserted: str, source: str) -> None:
    [alive] = try_assertions(world, f'{HEAD}test("it", () => {{ {asserted}; }});\n', source)
    assert alive.hollow
    assert "contentOf" not in "".join(alive.hollow)


@pytest.mark.parametrize(
    ("asserted", "source"),
    [
        ("assert.equal(String(f()), '3 EUR')", "exports.f = () => ({ toString: () => '3 EUR' });\n"),
        (
            "assert.equal(f().size, 1)",
            "exports.f = () => new (class Bag extends Set { add(x) { return super.add(`${x}`); } })([1]);\n",
        ),
        ("assert.equal(f(), f())", "const one = { valueOf: () => 1 }; exports.f = () => one;\n"),
        (
            "assert.equal(f().norm(), 5)",
            "class V extends Array { norm() { return this[0] + 2; } }\nexports.f = () => V.of(3, 4);\n",
        ),
        (
            "class Money { constructor(n) { this.n = n; } }\nassert.equal(f(Money), 3)",
            "exports.f = (M) => { M.prototype.valueOf = () => 3; return new M(3); };\n",
        ),
    ],
    ids=[
        "a text of a class",
        "a method of its own",
        "the same object",
        "a subclass",
        "a class that is named",
    ],
)
def test_what_a_class_is_for_is_left_alone(world: World, asserted: str, source: str) -> None:
    [alive] = try_assertions(world, f'{HEAD}test("it", () => {{ {asserted}; }});\n', source)
    assert alive.hollow + alive.doubts == ()
