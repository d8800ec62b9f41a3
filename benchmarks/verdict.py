"""A full verdict, `tdd settle` of one claim by default settings, against lean pytest of the same ids."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import Row, against, interleaved

SUITE = 20
"""Tests before the first round; each round claims one more."""
ROUNDS = 9
LEAN, SETTLE = f"lean pytest of {SUITE} tests", f"tdd settle of one claim, {SUITE} tests"
TDD = str(Path(sys.executable).with_name("tdd"))


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        bench = _Bench(Path(name).resolve())
        medians = interleaved({LEAN: bench.lean, SETTLE: bench.settle}, ROUNDS, bench.claim)
    return against(medians, LEAN, {SETTLE: ""})


class _Bench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "1"}
        self.functions = 0
        (root / "tests").mkdir()
        (root / "conftest.py").write_text("")
        (root / "tdd.yaml").write_text(f"stacks:\n  - root: .\n    python: {sys.executable}\n")
        for _ in range(SUITE):
            self._test()
            self._source()
        self._run("git", "init", "--quiet")
        self._run(TDD, "init", "--yes")

    def claim(self) -> None:
        test_id = self._test()
        subprocess.run((TDD, "test", test_id), cwd=self.root, env=self.env, check=False, capture_output=True)
        self._run(TDD, "claim", test_id, "calc.py")
        self._source()

    def settle(self) -> None:
        self._run(TDD, "settle")

    def lean(self) -> None:
        self._run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")

    def _test(self) -> str:
        self.functions += 1
        number = self.functions
        name = f"tests/test_f{number}.py"
        (self.root / name).write_text(
            f"import calc\n\n\ndef test_f{number}():\n    assert calc.f{number}(2) == {2 * number}\n"
        )
        return f"{name}::test_f{number}"

    def _source(self) -> None:
        functions = (f"def f{n}(a):\n    return a * {n}\n" for n in range(1, self.functions + 1))
        (self.root / "calc.py").write_text("\n\n".join(functions))

    def _run(self, *argv: str) -> None:
        subprocess.run(argv, cwd=self.root, env=self.env, check=True, capture_output=True)


if __name__ == "__main__":
    from timing import table

    print(table(rows()))
