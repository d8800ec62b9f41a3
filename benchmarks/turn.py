"""The verbs of a turn against the plain suite: `test`, `claim`, `settle` and `refactor end`.

Each round adds a function test first, and gives it another shape in a refactor. Every verb is a process of
its own, as agents start them.
`turn.py go 450` measures one suite.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from timing import Row, against, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SIZES = {"python": (10, 450, 5_000), "go": (450,), "vitest": (450,)}
ROUNDS = {10: 9, 450: 7, 5_000: 3}
A_FILE = 50
"""Tests in a file."""
SETTLE_SECONDS = 0.5
"""For ten tests."""


class _Project(ABC):
    """A suite of quick tests, with a module for each test file."""

    config: str
    plain: tuple[str, ...]

    def __init__(self, root: Path, size: int) -> None:
        self.root = root
        self.turn = 0
        for number in range(-(-size // A_FILE)):
            self.write(*self.source(number, A_FILE))
            self.write(*self.tests(number, min(A_FILE, size - number * A_FILE)))

    def write(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    @abstractmethod
    def prepare(self) -> None:
        """Adds what the test tool needs."""

    @abstractmethod
    def source(self, number: int, functions: int, own: Iterable[str] = ()) -> tuple[str, str]:
        """Path and text of a module. `own`: the bodies of the functions that rounds have added."""

    @abstractmethod
    def tests(self, number: int, tests: int) -> tuple[str, str]: ...

    @abstractmethod
    def new_test(self, turn: int) -> tuple[str, str, str]:
        """Path, text and id of a test of a function that is not there yet."""

    @abstractmethod
    def bodies(self, turn: int) -> tuple[str, str]:
        """The function that this test asks for, in two shapes."""

    def stub(self, turn: int) -> str:  # noqa: ARG002 - of a language that compiles
        """What the test needs in order to be built."""
        return ""


class _Python(_Project):
    config = f"stacks:\n  - root: .\n    python: {sys.executable}\n"
    plain = (sys.executable, "-m", "pytest", "-q")

    def prepare(self) -> None:
        self.write("conftest.py", "")
        self.write("shop/__init__.py", "")

    def source(self, number: int, functions: int, own: Iterable[str] = ()) -> tuple[str, str]:
        every = [
            f"def price{n}(count):\n    if count < 0:\n        raise ValueError\n    return count * {n}\n"
            for n in range(functions)
        ]
        return f"shop/part{number}.py", "\n\n".join((*every, *own))

    def tests(self, number: int, tests: int) -> tuple[str, str]:
        every = [f"def test_price{n}():\n    assert part.price{n}(3) == {3 * n}\n" for n in range(tests)]
        return f"tests/test_part{number}.py", "\n\n".join(
            (f"from shop import part{number} as part\n", *every)
        )

    def new_test(self, turn: int) -> tuple[str, str, str]:
        name = f"test_rebate{turn}"
        path = f"tests/test_rebate{turn}.py"
        lines = (
            "from shop import part0\n\n",
            f"def {name}():",
            f"    assert part0.rebate{turn}(9) == 9",
            f"    assert part0.rebate{turn}(10) == 5",
            f"    assert part0.rebate{turn}(12) == 6\n",
        )
        return path, "\n".join(lines), f"{path}::{name}"

    def bodies(self, turn: int) -> tuple[str, str]:
        head, keep = f"def rebate{turn}(count):\n", "        return count\n"
        return (
            f"{head}    if count >= 10:\n        return count // 2\n    return count\n",
            f"{head}    if count < 10:\n{keep}    half = divmod(count, 2)[0]\n    return half\n",
        )


class _Go(_Project):
    config = "stacks:\n  - {root: ., language: go, runner: go}\n"
    plain = ("go", "test", "-count=1", "./...")

    def prepare(self) -> None:
        self.write("go.mod", "module example.com/shop\n\ngo 1.21\n")

    def source(self, number: int, functions: int, own: Iterable[str] = ()) -> tuple[str, str]:
        every = [f"func Price{n}(count int) int {{\n\treturn count * {n}\n}}\n" for n in range(functions)]
        return f"part{number}/part.go", "\n".join((f"package part{number}\n", *every, *own))

    def tests(self, number: int, tests: int) -> tuple[str, str]:
        every = [
            f"func TestPrice{n}(t *testing.T) {{\n\tif got := Price{n}(3); got != {3 * n} {{\n"
            f'\t\tt.Errorf("got %d", got)\n\t}}\n}}\n'
            for n in range(tests)
        ]
        head = f'package part{number}\n\nimport "testing"\n'
        return f"part{number}/part_test.go", "\n".join((head, *every))

    def new_test(self, turn: int) -> tuple[str, str, str]:
        path = f"part0/rebate{turn}_test.go"
        asked = ((9, 9), (10, 5), (12, 6))
        lines = (
            f"\tif got := Rebate{turn}({count}); got != {price} {{\n"
            f'\t\tt.Fatalf("got %d, want {price}", got)\n\t}}\n'
            for count, price in asked
        )
        body = "".join(lines)
        text = f'package part0\n\nimport "testing"\n\nfunc TestRebate{turn}(t *testing.T) {{\n{body}}}\n'
        return path, text, f"{path}::TestRebate{turn}"

    def bodies(self, turn: int) -> tuple[str, str]:
        head = f"func Rebate{turn}(count int) int {{\n"
        return (
            f"{head}\tif count >= 10 {{\n\t\treturn count / 2\n\t}}\n\treturn count\n}}\n",
            f"{head}\tif count < 10 {{\n\t\treturn count\n\t}}\n\treturn count / 2\n}}\n",
        )

    def stub(self, turn: int) -> str:
        return f'func Rebate{turn}(count int) int {{\n\tpanic("STUB:TDD")\n}}\n'


class _Vitest(_Project):
    config = "stacks:\n  - {root: ., language: node, runner: vitest}\n"
    plain = ("npx", "vitest", "run")

    def prepare(self) -> None:
        self.write("package.json", json.dumps({"private": True, "type": "module"}))
        self.write(".gitignore", "node_modules\n")
        install = ("npm", "install", "--no-audit", "--no-fund", "--save-dev", "vitest@3", "typescript@5")
        subprocess.run(install, cwd=self.root, capture_output=True, check=True)

    def source(self, number: int, functions: int, own: Iterable[str] = ()) -> tuple[str, str]:
        every = [
            f"export function price{n}(count: number): number {{\n  return count * {n};\n}}\n"
            for n in range(functions)
        ]
        return f"src/part{number}.ts", "\n".join((*every, *own))

    def tests(self, number: int, tests: int) -> tuple[str, str]:
        head = f'import {{ expect, it }} from "vitest";\nimport * as part from "../src/part{number}";\n'
        every = [
            f'it("price{n}", () => {{\n  expect(part.price{n}(3)).toBe({3 * n});\n}});\n'
            for n in range(tests)
        ]
        return f"test/part{number}.test.ts", "\n".join((head, *every))

    def new_test(self, turn: int) -> tuple[str, str, str]:
        path = f"test/rebate{turn}.test.ts"
        head = f'import {{ expect, it }} from "vitest";\nimport {{ rebate{turn} }} from "../src/part0";\n'
        asked = ((9, 9), (10, 5), (12, 6))
        body = "".join(f"  expect(rebate{turn}({count})).toBe({price});\n" for count, price in asked)
        return path, f'{head}\nit("rebates {turn}", () => {{\n{body}}});\n', f"{path}::rebates {turn}"

    def bodies(self, turn: int) -> tuple[str, str]:
        head = f"export function rebate{turn}(count: number): number {{\n"
        return (
            f"{head}  if (count >= 10) {{\n    return count / 2;\n  }}\n  return count;\n}}\n",
            f"{head}  return count >= 10 ? count / 2 : count;\n}}\n",
        )


_KINDS: dict[str, tuple[type[_Project], str]] = {
    "python": (_Python, sys.executable),
    "go": (_Go, "go"),
    "vitest": (_Vitest, "npm"),
}


class _Turns:
    """Takes turns in a project; what is not measured is left for after the verb before it."""

    def __init__(self, project: _Project) -> None:
        self.project = project
        self.own: list[str] = []
        self.id = ""
        self.env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        project.prepare()
        project.write("tdd.yaml", project.config)
        self._run("git", "init", "--quiet")
        self._tdd("init", "--yes")
        self.suite()

    def verbs(self) -> dict[str, Callable[[], object]]:
        return {
            "the plain suite": self.suite,
            "tdd test, one new test": self.test,
            "tdd claim": self.claim,
            "tdd settle": self.settle,
            "tdd refactor end": self.end_refactor,
        }

    def suite(self) -> Callable[[], None]:
        self._run(*self.project.plain)
        return self._write_test

    def _write_test(self) -> None:
        self.project.turn += 1
        path, text, self.id = self.project.new_test(self.project.turn)
        self.project.write(path, text)
        if stub := self.project.stub(self.project.turn):
            self.project.write(*self.project.source(0, A_FILE, (*self.own, stub)))

    def test(self) -> None:
        self._tdd("test", self.id, code=1)

    def claim(self) -> Callable[[], None]:
        path, _ = self.project.source(0, 0)
        self._tdd("claim", self.id, path)
        return lambda: self._write_body(0)

    def settle(self) -> Callable[[], None]:
        self._tdd("settle")
        return self._begin_refactor

    def end_refactor(self) -> None:
        self._tdd("refactor", "end")

    def _begin_refactor(self) -> None:
        self._tdd("refactor", "begin")
        self.own.pop()
        self._write_body(1)

    def _write_body(self, shape: int) -> None:
        self.own.append(self.project.bodies(self.project.turn)[shape])
        self.project.write(*self.project.source(0, A_FILE, self.own))

    def _tdd(self, *words: str, code: int = 0) -> None:
        self._run(sys.executable, "-m", "verdigris", *words, code=code)

    def _run(self, *argv: str, code: int = 0) -> None:
        ended = subprocess.run(argv, cwd=self.project.root, env=self.env, check=False, capture_output=True)
        if ended.returncode != code:
            output = (ended.stdout + ended.stderr).decode(errors="replace")
            raise SystemExit(f"{' '.join(argv)} ended with {ended.returncode}:\n{output}")


def rows(kinds: Iterable[str] = (), sizes: Iterable[int] = ()) -> list[Row]:
    chosen = frozenset(sizes)
    return [
        row
        for kind in kinds or SIZES
        for size in SIZES[kind]
        if not chosen or size in chosen
        for row in _measure(kind, size)
    ]


def _measure(kind: str, size: int) -> list[Row]:
    """No rows where the test tool is missing."""
    make, program = _KINDS[kind]
    if shutil.which(program) is None:
        return []
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        turns = _Turns(make(Path(name).resolve(), size))
        medians = interleaved(turns.verbs(), ROUNDS[size])
    settle = f"≤ 2; ≤ {SETTLE_SECONDS:g} s" if size == min(ROUNDS) else "≤ 2"
    targets = {"tdd settle": settle, "tdd refactor end": "≤ 4"}
    named = {f"{kind}, {size:,} tests: {what}": ms for what, ms in medians.items()}
    head = f"{kind}, {size:,} tests: "
    return against(named, f"{head}the plain suite", {f"{head}{what}": text for what, text in targets.items()})


if __name__ == "__main__":
    from timing import table

    words = sys.argv[1:]
    print(table(rows([w for w in words if w in SIZES], [int(w) for w in words if w.isdecimal()])))
