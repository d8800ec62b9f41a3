"""`tdd stub` on JavaScript and TypeScript: the modules that relative imports lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.node_tools import installed, present
from support.tool_worlds import NODE, NODE_CONFIG, make_tool_world
from support.turns import World
from verdigris.checks.missing_stubs import missing_stubs
from verdigris.core.verdict import Kind
from verdigris.languages.registry import beyond_stubs
from verdigris.turns.claim_check import Claimed
from verdigris.turns.stub import Stubbed, write_stubs

TYPED = """\
import { expect, it } from "vitest";
import { Money, NoCoinError, RATE, total } from "../src/money";

it("adds", () => {
  const m = new Money(1, "EUR");
  expect(total([m, new Money(2)], RATE)).toBe(3);
  expect(m.format()).toBe("1 EUR");
});
it("throws", () => { expect(() => Money.parse("x")).toThrow(NoCoinError); });
it("waits", async () => { expect(await new Money(1).fetch()).toBe(1); });
"""
TYPED_IDS = [f"test/money.test.ts::{name}" for name in ("adds", "throws", "waits")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    present()
    return make_tool_world(tmp_path / "w", NODE_CONFIG, NODE, installed("vitest@2"))


def shown(world: World, path: str, text: str) -> dict[str, str]:
    world.write(path, text)
    found = missing_stubs(world.project, path)
    for stub in found:
        before = (world.root / stub.path).read_bytes() if not stub.new else None
        assert beyond_stubs(stub.path, before, stub.whole.encode()) is None
    return {stub.path: stub.text for stub in found}


def test_a_typed_module_has_what_the_test_asks(world: World) -> None:
    assert shown(world, "test/money.test.ts", TYPED) == {
        "src/money.ts": """\
// STUB:TDD
export class Money {
  constructor(number: number, text?: string) {}
  format(): any {
    throw new Error("STUB:TDD");
  }
  static parse(text: string): any {
    throw new Error("STUB:TDD");
  }
  async fetch(): Promise<any> {
    throw new Error("STUB:TDD");
  }
}

// STUB:TDD
export class NoCoinError extends Error {}

export const RATE: any = undefined; // STUB:TDD

export function total(items: unknown[], rate: any): any {
  throw new Error("STUB:TDD");
}
"""
    }


@pytest.mark.parametrize(
    ("heading", "at", "text"),
    [
        ('import { f } from "../src/calc.js";', "src/calc.js", "export function f(number) {"),
        ('import f from "../src/new.js";', "src/new.js", "export default function main(number) {"),
        ('const { f } = require("../src/new");', "src/new.js", "module.exports.f = f;"),
    ],
)
def test_a_module_exports_as_the_test_imports(world: World, heading: str, at: str, text: str) -> None:
    found = shown(world, "test/f.test.js", f'{heading}\nit("f", () => {{ expect(f(1)).toBe(2); }});\n')
    assert text in found[at].splitlines()


def test_a_namespace_and_what_is_there(world: World) -> None:
    heading = (
        'import * as calc from "../src/calc.js";\nimport { it } from "vitest";\nimport x from "some-package";'
    )
    found = shown(
        world, "test/f.test.js", f'{heading}\nit("f", () => {{ calc.add(1, calc.sub(2)); x(); }});\n'
    )
    assert found == {"src/calc.js": 'export function sub(number) {\n  throw new Error("STUB:TDD");\n}\n'}


@pytest.mark.slow
@pytest.mark.usefixtures("recorded_tools")
def test_a_round_from_a_test_to_green(world: World) -> None:
    world.write("test/money.test.ts", TYPED)
    assert isinstance(write_stubs(world.project, "test/money.test.ts", cwd=world.root), Stubbed)
    world.write(
        "test/sub.test.js",
        'import { expect, it } from "vitest";\nimport { sub } from "../src/calc.js";\n'
        'it("subs", () => { expect(sub(3, 2)).toBe(1); });\n',
    )
    write_stubs(world.project, "test/sub.test.js", cwd=world.root)
    reds = {run.native_id: run.red for run in world.test("test/money.test.ts", "test/sub.test.js").tests}
    assert reds == dict.fromkeys((*TYPED_IDS, "test/sub.test.js::subs"), "valid")
    assert isinstance(world.claim("test/sub.test.js::subs", "src/calc.js"), Claimed)
    world.write("src/calc.js", NODE["src/calc.js"] + "\nexport function sub(a, b) {\n  return a - b;\n}\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED
