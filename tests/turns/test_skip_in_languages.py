"""A blocked test in other languages, with their real tools: skipped, and the next turn goes on beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from support.node_tools import installed, present
from support.tool_worlds import (
    GO,
    GO_CONFIG,
    GO_STUB,
    GO_TEST,
    NODE,
    NODE_CONFIG,
    NODE_STUB,
    NODE_TEST,
    RUST,
    RUST_CONFIG,
    RUST_STUB,
    RUST_TEST,
    make_go_world,
    make_tool_world,
)
from support.tools import why_not
from support.turns import World
from verdigris.core.actions import Deny
from verdigris.core.report import Status
from verdigris.core.verdict import Kind
from verdigris.turns.claim_check import Claimed
from verdigris.turns.skip import SkippedTests, skip_blocked

pytestmark = pytest.mark.slow


NODE_TEST_CONFIG = NODE_CONFIG.replace("vitest", "node-test")
OWN_TESTS = {
    path: text.replace('{ expect, it } from "vitest"', '{ test } from "node:test"').replace(
        'it("adds", () => { expect(add(1, 2)).toBe(3); });',
        'import assert from "node:assert/strict";\ntest("adds", () => { assert.equal(add(1, 2), 3); });',
    )
    for path, text in NODE.items()
}
OWN_TEST = OWN_TESTS["test/add.test.js"].replace("add(1, 2), 3", "sub(3, 2), 1").replace("add", "sub")
RUST_INLINE = """
#[cfg(test)]
mod tests {
    #[test]
    fn subs() {
        assert_eq!(super::sub(3, 2), 1);
    }
}
"""


@dataclass(frozen=True)
class Round:
    """A test that is given up; `twice` is the next behaviour, whose test stands beside it."""

    file: str
    text: str
    name: str
    source: str
    stub: str
    mark: str
    head: str
    """How the test begins."""
    test: str
    """Of the next behaviour."""
    twice: str
    good: str


GO_ROUND = Round(
    "calc/sub_test.go",
    GO_TEST,
    "TestSub",
    "calc/calc.go",
    GO_STUB,
    '\tt.Skip("blocked: no \\"way\\"")\n',
    "func TestSub",
    '\nfunc TestTwice(t *testing.T) {\n\tif Twice(2) != 4 {\n\t\tt.Error("no")\n\t}\n}\n',
    "\n// STUB:TDD\nfunc Twice(a int) int { return 0 }\n",
    "\nfunc Twice(a int) int { return 2 * a }\n",
)
RUST_ROUND = Round(
    "tests/sub.rs",
    RUST_TEST,
    "subs",
    "src/lib.rs",
    RUST_STUB,
    '#[ignore = "blocked: no \\"way\\""]\n',
    "#[test]",
    "\n#[test]\nfn twice() {\n    assert_eq!(demo::twice(2), 4);\n}\n",
    "\n// STUB:TDD\npub fn twice(_a: i32) -> i32 {\n    0\n}\n",
    "\npub fn twice(a: i32) -> i32 {\n    2 * a\n}\n",
)
NODE_TEST_ROUND = Round(
    "test/sub.test.js",
    OWN_TEST,
    "subs",
    "src/calc.js",
    NODE_STUB,
    'test("subs", { skip: "blocked: no \\"way\\"" }, () =>',
    'test("subs"',
    'import { twice } from "../src/calc.js";\ntest("twice", () => { assert.equal(twice(2), 4); });\n',
    "// STUB:TDD\nexport const twice = () => 0;\n",
    "export const twice = (a) => 2 * a;\n",
)


def block(world: World, test_id: str, mark: str) -> None:
    """The one red is given up, and its tool agrees that it is skipped."""
    world.test()
    path = test_id.partition("::")[0]
    assert skip_blocked(world.project, [test_id], 'no "way"') == SkippedTests((test_id,), (path,), {})
    assert mark in world.read(path)
    [ran] = [run for run in world.test(path).tests if run.native_id == test_id]
    assert ran.status is Status.SKIP
    assert world.state.reds == {}


def red(world: World) -> str:
    [found] = [run.test_id for run in world.test().tests if run.red == "valid"]
    return found


def play(world: World, one: Round) -> None:
    before = world.read(one.source)
    world.write(one.file, one.text)
    world.write(one.source, before + one.stub)
    block(world, f"{one.file}::{one.name}", one.mark)
    marked = world.read(one.file)

    world.write(one.source, before + one.stub + one.twice)
    world.write(one.file, one.text[: one.text.index(one.head)] + one.test)
    refused = world.claim(red(world), one.source)
    assert isinstance(refused, Deny), refused
    assert (refused.rule, "removed" in refused.reason) == ("weakened", True)

    world.write(one.file, marked + one.test)
    assert isinstance(world.claim(red(world), one.source), Claimed)
    world.write(one.source, before + one.stub + one.good)
    verdict = world.settle().verdict
    assert (verdict.kind, verdict.reasons, verdict.concerns) == (Kind.ACCEPTED, (), ())


@pytest.mark.skipif(bool(why_not("go", "version")), reason="go is not at hand")
@pytest.mark.usefixtures("recorded_tools")
def test_go(tmp_path: Path) -> None:
    play(make_go_world(tmp_path / "repo", GO_CONFIG, GO), GO_ROUND)


@pytest.mark.skipif(bool(why_not("cargo", "--version")), reason="cargo is not at hand")
@pytest.mark.usefixtures("recorded_tools")
def test_rust(tmp_path: Path) -> None:
    play(make_tool_world(tmp_path / "repo", RUST_CONFIG, RUST), RUST_ROUND)


@pytest.mark.skipif(bool(why_not("cargo", "--version")), reason="cargo is not at hand")
@pytest.mark.usefixtures("recorded_tools")
def test_rust_with_tests_among_the_source(tmp_path: Path) -> None:
    world = make_tool_world(tmp_path / "repo", RUST_CONFIG, RUST)
    source = world.read("src/lib.rs")
    world.write("src/lib.rs", source + RUST_STUB + RUST_INLINE)
    block(world, "src/lib.rs::tests::subs", '    #[ignore = "blocked: no \\"way\\""]\n    fn subs')
    ground = world.state.ground or ""
    held = (world.project.workspace.read(ground, "src/lib.rs") or b"").decode()
    assert "#[ignore" in held
    assert "STUB:TDD" not in held, "what the red stubbed is no ground"

    world.write("src/lib.rs", world.read("src/lib.rs") + RUST_ROUND.twice)
    world.write("tests/twice.rs", RUST_ROUND.test)
    assert isinstance(world.claim(red(world), "src/lib.rs"), Claimed)
    world.write("src/lib.rs", world.read("src/lib.rs").replace(RUST_ROUND.twice, RUST_ROUND.good))
    assert world.settle().verdict.kind is Kind.ACCEPTED


@pytest.mark.usefixtures("recorded_tools")
def test_vitest(tmp_path: Path) -> None:
    """Its own way to mark a test; what follows is the same for JavaScript, and is played with node alone."""
    present()
    world = make_tool_world(tmp_path / "repo", NODE_CONFIG, NODE, installed("vitest@2"))
    world.write("test/sub.test.js", NODE_TEST)
    world.write("src/calc.js", world.read("src/calc.js") + NODE_STUB)
    block(world, "test/sub.test.js::subs", '// blocked: no "way"\nit.skip("subs"')


@pytest.mark.usefixtures("compared_tools")
def test_the_tests_of_node_itself(tmp_path: Path) -> None:
    present()
    play(make_tool_world(tmp_path / "repo", NODE_TEST_CONFIG, OWN_TESTS), NODE_TEST_ROUND)
