"""Which file lacks what a test asked for, by the imports of the test; the words are those of real errors."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.node_tools import present

SUBJECT = Path(__file__).parents[4] / "src/verdigris/runners/reporter/node/subject.cjs"
ASK = """
const [module, message, file, stack] = process.argv.slice(1);
console.log(JSON.stringify(require(module).subject({ name: "TypeError", message, stack }, file) ?? null));
"""


@pytest.mark.parametrize(
    ("test", "message", "found"),
    [
        ("import { sub } from '../calc';\nsub(1);", "(0 , __vi_import_1__.sub) is not a function", True),
        ("import * as calc from '../calc';\ncalc.sub(1);", "calc.sub is not a function", True),
        (
            "import * as calc from '../calc';\ncalc.sub(1);",
            "(0 , __vi_import_1__.sub) is not a function",
            True,
        ),
        ("import * as calc from 'calc';\ncalc.sub(1);", "(0 , __vi_import_1__.sub) is not a function", False),
        ("const calc = {};\ncalc.sub(1);", "calc.sub is not a function", False),
    ],
)
def test_what_lacks_it(tmp_path: Path, test: str, message: str, found: bool) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "calc.ts").write_text("export {};\n")
    file = tmp_path / "test" / "a.test.ts"
    file.write_text(test)
    argv = [present(), "-e", ASK, str(SUBJECT), message, str(file)]
    told = json.loads(subprocess.run(argv, capture_output=True, check=True, text=True).stdout)
    assert told == (str(tmp_path / "calc.ts") if found else None)


PART = "(intermediate value)"
UNDEFINED = "Cannot read properties of undefined (reading '{}')"


@pytest.mark.parametrize(
    ("body", "message", "found"),
    [
        ("expect(new Money(1).format()).toBe('1');", f"{PART}.format is not a function", True),
        ("new Money(1).add(two).format();", f"{PART}.add(...).format is not a function", True),
        ("new Money(1)\n  .add(two)\n  .format();", f"{PART}.add(...).format is not a function", True),
        ("const ms = [new Money(1)];\nms[0].format();", "ms[0].format is not a function", True),
        ("const ms = Money.all();\nms[0].format();", "ms[0].format is not a function", True),
        ("expect(await new Money(1).fetch()).toBe(1);", f"{PART}.fetch is not a function", True),
        ("(await Money.load()).fetch();", f"{PART}.fetch is not a function", True),
        ("const x = new Money(1);\nexpect(x.currency.code).toBe(1);", UNDEFINED.format("code"), True),
        ("expect(new Money(1).currency.code).toBe(1);", UNDEFINED.format("code"), True),
        ("expect(new Money(1).currency['iso-code']).toBe(1);", UNDEFINED.format("iso-code"), True),
        ("const { currency } = new Money(1);\ncurrency.code;", UNDEFINED.format("code"), True),
        ("const [m] = Money.all();\nm.format();", "m.format is not a function", True),
        ("for (const m of Money.all()) m.format();", "m.format is not a function", True),
        ("[new Money(1)].map((m) => m.format());", "m.format is not a function", True),
        ("const make = (n: number) => new Money(n);\nmake(1).format();", "make(...).format is not a", True),
        ("it.each([[new Money(1)]])('%s', (m) => {\n  m.format();\n});", "m.format is not a function", True),
        ("const m: Money = new Money(1);\nm.format();", "m.format is not a function", True),
        ("const two = { a: 1 };\ntwo.b.c;", UNDEFINED.format("c"), False),
        ("const two = {};\nnew Money(two.a.b);", UNDEFINED.format("b"), False),
        ("const d = new Date();\nd.format();", "d.format is not a function", False),
        ("new Date().format(new Money(1));", f"{PART}.format is not a function", False),
        ("clone(new Money(1)).format();", "clone(...).format is not a function", False),
        ("vi.fn().format();", "vi.fn(...).format is not a function", False),
    ],
)
def test_whatever_the_receiver(tmp_path: Path, body: str, message: str, found: bool) -> None:
    (tmp_path / "money.ts").write_text("export class Money {}\n")
    head = "import { vi } from 'vitest';\nimport { clone } from 'lodash';\nimport { Money } from './money';\n"
    file = tmp_path / "money.test.ts"
    file.write_text(f"{head}const other = {{}};\n{body}\nexpect(other).toBe(1);\n")
    line = 5 + next((at for at, text in enumerate(body.split("\n")) if is_last(body, at)), 0)
    stack = f"TypeError: {message}\n    at {file}:{line}:9\n    at node:internal/x:1:1"
    message = message if message.endswith(("function", "')")) else f"{message} function"
    argv = [present(), "-e", ASK, str(SUBJECT), message, str(file), stack]
    told = json.loads(subprocess.run(argv, capture_output=True, check=True, text=True).stdout)
    assert told == (str(tmp_path / "money.ts") if found else None)


def is_last(body: str, at: int) -> bool:
    """The line of the statement that fails: the last that starts without a dot or a bracket."""
    lines = body.split("\n")
    starts = [number for number, text in enumerate(lines) if not text.lstrip().startswith((".", "}"))]
    return at == starts[-1]
