"""The play in JavaScript, with node:test: it comes with Node, so nothing is to be installed."""

from __future__ import annotations

from verdigris.languages.script import Program, Script

_PACKAGE = """\
{
  "name": "calc",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
"""
_CALC = "export function add(a, b) {\n  return a + b;\n}\n"
_SUB = "\nexport function sub(a, b) {\n  return a - b;\n}\n"
_STUB = '\nexport function sub(a, b) {\n  throw new Error("STUB:TDD");\n}\n'
_TESTS = """\
import assert from "node:assert/strict";
import { test } from "node:test";
import { add } from "../src/calc.js";

test("adds", () => {
  assert.equal(add(2, 3), 5);
});
"""
_EASY = """
test("adds zero", () => {
  assert.equal(add(2, 0), 2);
});
"""
_ASKED = """
test("subtracts", () => {
  assert.equal(sub(5, 3), 2);
});
"""
_REAL = _TESTS.replace("{ add }", "{ add, sub }") + _ASKED

_MISSING = "install Node.js, and have `node` on PATH"
_BROKEN = "mend the installation of Node.js: `node --version` has to work"


def script() -> Script:
    return Script(
        files={"package.json": _PACKAGE, "src/calc.js": _CALC, "test/calc.test.js": _TESTS},
        source="src/calc.js",
        tests="test/calc.test.js",
        nothing_new="test/calc.test.js::adds zero",
        asked="test/calc.test.js::subtracts",
        eager=_CALC + _SUB,
        easy=_TESTS + _EASY,
        real=_REAL,
        stub=_CALC + _STUB,
        weaker=_REAL.replace("assert.equal(sub(5, 3), 2)", "assert.ok(sub(5, 3))"),
        careless=_CALC.replace("a + b", "a - b") + _SUB,
        good=_CALC + _SUB,
        needs=Program("node", "--version", _MISSING, _BROKEN),
    )
