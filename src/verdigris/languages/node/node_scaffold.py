"""The scaffold of a TypeScript project: vitest, the compiler as the linter, and prettier."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from verdigris.core.languages import NODE
from verdigris.core.settings import Stack
from verdigris.languages.form import Equipment, Form

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.languages.form import FindPython

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


def form(name: str, title: str) -> Form:
    package = {
        "name": name,
        "version": "0.1.0",
        "private": True,
        "type": "module",
        "engines": {"node": ">=20"},
        "scripts": {"test": "vitest run", "check": "tsc", "format": "prettier --write src test"},
        "devDependencies": _TOOLS,
    }
    return Form(
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


def equipment(root: Path, _find_python: FindPython) -> Equipment:
    stack = Stack(
        language=NODE,
        runner="vitest",
        check=f"{_BIN}/tsc",
        format=f"{_BIN}/prettier --write --log-level warn",
    )
    if (root / _BIN / "vitest").exists():
        return Equipment(stack)
    return Equipment(stack, (_INSTALL,) if shutil.which("npm") else (_MISSING, _INSTALL))
