"""Whole rounds in JavaScript with the real vitest."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.node_tools import VITEST_3, installed, present
from support.tool_worlds import (
    NODE,
    NODE_CONFIG,
    NODE_STUB,
    NODE_SUB,
    NODE_TEST,
    Round,
    make_tool_world,
    play,
)
from support.turns import World
from verdigris.core.verdict import Kind
from verdigris.turns.claim_check import Claimed

pytestmark = pytest.mark.slow
CALC = NODE["src/calc.js"]
SUBS = "test/sub.test.js::subs"


@pytest.fixture
def world(tmp_path: Path) -> World:
    present()
    return make_tool_world(tmp_path / "demo", NODE_CONFIG, NODE, installed("vitest@2"))


def test_a_round(world: World) -> None:
    world.write("test/sub.test.js", NODE_TEST.replace("calc.js", "nowhere.js"))
    (run,) = world.test(SUBS).tests
    assert (run.red, bool(run.over)) == ("valid", True)
    changed = NODE_TEST.replace("toBe(1)", "toBe(2)")
    play(world, Round(SUBS, NODE_TEST, changed, "src/calc.js", CALC, NODE_STUB, NODE_SUB))


HANGS = "export const sub = (a, b) => {\n  while (a > b) {\n    a ^= 0;\n  }\n  return a - b;\n};\n"
NODE_TEST_HEADING = 'import { it } from "node:test";\nimport assert from "node:assert";\n'
JEST_TEST = (
    'const { sub } = require("../src/calc.js");\nit("subs", () => {\n  expect(sub(3, 2)).toBe(1);\n});\n'
)


@pytest.mark.parametrize(
    ("runner", "package"),
    [("vitest", "vitest@2"), ("vitest", VITEST_3), ("jest", "jest@30"), ("node-test", None)],
)
def test_a_bug_that_hangs_is_red_and_is_fixed_when_the_test_is_seen_to_end(
    tmp_path: Path, runner: str, package: str | None
) -> None:
    """The loop never yields, so that the tool itself is never heard of again.

    How it is stopped is a matter of the tool; what a verdict makes of the fix is not, and is seen once.
    """
    present()
    test, source, manifest = NODE_TEST, CALC + HANGS, NODE["package.json"]
    if runner == "jest":
        test, source = JEST_TEST, source.replace("export const ", "exports.")
        manifest = '{ "private": true, "jest": { "transform": {} } }\n'
    if runner == "node-test":
        test = test.replace('import { expect, it } from "vitest";\n', NODE_TEST_HEADING)
        test = test.replace("expect(sub(3, 2)).toBe(1)", "assert.equal(sub(3, 2), 1)")
    files = {".gitignore": "node_modules\n", "package.json": manifest, "src/calc.js": source}
    config = NODE_CONFIG.replace("vitest", runner) + "room: {test_timeout: 1}\n"
    world = make_tool_world(tmp_path / "demo", config, files, installed(package) if package else None)
    world.write("test/sub.test.js", test)
    [result] = world.test(SUBS).tests
    where = "Timeout: stopped after 1 s, while it ran in src/calc.js:"
    assert (result.red, result.failure[: len(where)]) == ("valid", where)
    assert int(result.failure[len(where) :]) in {2, 3, 4}
    if runner != "node-test":
        return
    assert isinstance(world.claim(SUBS, "src/calc.js"), Claimed)
    world.write("src/calc.js", CALC + NODE_SUB)
    done = world.settle()
    assert done.verdict.kind is Kind.ACCEPTED, done.verdict
