"""The scaffold of a TypeScript project, and the demo's repository."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from verdigris.core.settings import Stack
from verdigris.languages.starter import Program, ScaffoldForm, Script, StarterTools

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.languages.starter import FindPython


TAKEN = frozenset({"test", "tests", "node_modules", "vitest", "typescript", "prettier", "favicon_ico"})

_TSCONFIG = """\
{
  "compilerOptions": {
    "target": "ES2022",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "moduleDetection": "force",
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "skipLibCheck": true,
    "noEmit": true,
    "types": []
  },
  "include": ["src", "test"]
}
"""
_VITEST = """\
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/**/*.test.ts"] },
});
"""
_SMOKE = """\
// Shows that the tools work and find the source; the kata's own tests stand beside it.
import { expect, test } from "vitest";
import * as kata from "../src/index";

test("the module can be imported", () => {
  expect(typeof kata).toBe("object");
});
"""
_BIN = "node_modules/.bin"
_TOOLS = {"prettier": "^3", "typescript": "^5", "vitest": "^3"}
_INSTALL = "npm install && git add package-lock.json && git commit -m 'chore: lock the tools'"
_MISSING = "install Node 20 or newer"


def form(name: str, title: str) -> ScaffoldForm:
    package = {
        "name": name,
        "version": "0.1.0",
        "private": True,
        "type": "module",
        "engines": {"node": ">=20"},
        "scripts": {"test": "vitest run", "check": "tsc", "format": "prettier --write src test"},
        "devDependencies": _TOOLS,
    }
    return ScaffoldForm(
        "package.json",
        {
            "package.json": json.dumps(package, indent=2) + "\n",
            "tsconfig.json": _TSCONFIG,
            "vitest.config.ts": _VITEST,
            "src/index.ts": f"// {title}.\n",
            "test/smoke.test.ts": _SMOKE,
        },
        ("node_modules", "coverage/"),
    )


def equipment(root: Path, _find_python: FindPython) -> StarterTools:
    stack = Stack(
        language="node",
        runner="vitest",
        check=f"{_BIN}/tsc",
        format=f"{_BIN}/prettier --write --log-level warn",
    )
    if (root / _BIN / "vitest").exists():
        return StarterTools(stack)
    return StarterTools(stack, (_INSTALL,) if shutil.which("npm") else (_MISSING, _INSTALL))


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

_NO_NODE = "install Node.js, and have `node` on PATH"
_BROKEN_NODE = "mend the installation of Node.js: `node --version` has to work"


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
        needs=Program("node", "--version", _NO_NODE, _BROKEN_NODE),
    )
