"""A full verdict against lean pytest, and against the commit from which issue 11 began.

`BASE` is checked out into a temporary worktree of this repository and run by the same interpreter, so that
both meet the same machine, packages and load. Each round settles one small turn in a project of each; in a
third one liveness is off, which tells what it costs; and the agent's shell of both starts once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from timing import Row, against, interleaved

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = "3e555d2"
HERE = Path(__file__).resolve().parents[1]
SUITE = 20
"""Tests before the first round; each round claims one more."""
ROUNDS = 9
TAKES = 0.05
"""Seconds that each test takes: a test that takes none tells only what a process costs."""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name, _checkout(BASE) as old:
        top = Path(name).resolve()
        now = _Bench(top / "now", HERE / "src")
        benches = [now, _Bench(top / "quick", HERE / "src", config="liveness: {enabled: false}\n")]
        subjects = {"lean pytest of the suite": now.lean, "tdd settle": now.settle}
        subjects |= {"lean pytest of the claimed test": now.claimed, "… without liveness": benches[1].settle}
        if old is not None:
            benches.append(_Bench(top / "then", old))
            subjects[f"tdd settle at {BASE}"] = benches[2].settle
        subjects |= {"agent's shell, true": now.shell, "bash -c true": now.bash}
        if old is not None:
            subjects[f"agent's shell at {BASE}, true"] = benches[2].shell

        def claim() -> None:
            for bench in benches:
                bench.claim()

        return _compared(interleaved(subjects, ROUNDS, claim))


def _compared(medians: dict[str, float]) -> list[Row]:
    settle, claimed = medians["tdd settle"], medians["lean pytest of the claimed test"]
    found = against(medians, "lean pytest of the suite", {})
    live = settle - medians["… without liveness"]
    found.append(Row("liveness", live, live / claimed, "the claimed test alone", "≤ 2 × the claimed test"))
    then = medians.get(f"tdd settle at {BASE}")
    if then is None:
        return [*found, Row(f"{BASE} is not in this repository: nothing was compared with it", 0)]
    more = medians["agent's shell, true"] - medians[f"agent's shell at {BASE}, true"]
    return [
        *found,
        Row(f"settlement against {BASE}", settle, settle / then, BASE, "≤ 1.3"),
        Row(f"shell's start over {BASE}'s", more, None, BASE, "≤ +20 ms"),
    ]


@contextmanager
def _checkout(commit: str) -> Iterator[Path | None]:
    """Its source in a worktree of its own; None where the repository does not have it."""
    with tempfile.TemporaryDirectory(prefix="tdd-base-") as name:
        place = Path(name) / "tree"
        git = ("git", "-C", str(HERE), "worktree")
        made = subprocess.run((*git, "add", "-q", "--detach", str(place), commit), check=False)
        try:
            yield place / "src" if made.returncode == 0 else None
        finally:
            subprocess.run((*git, "remove", "--force", str(place)), check=False, capture_output=True)


@dataclass(slots=True)
class _Bench:
    root: Path
    source: Path
    """Of the Verdigris that is measured."""
    config: str = ""
    functions: int = 0
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(self.source)}
        (self.root / "tests").mkdir(parents=True)
        (self.root / "conftest.py").write_text("")
        stacks = f"stacks:\n  - root: .\n    python: {sys.executable}\n"
        (self.root / "tdd.yaml").write_text(stacks + self.config)
        for _ in range(SUITE):
            self._test()
            self._source()
        self._run("git", "init", "--quiet")
        self._tdd("init", "--yes", "--agent", "claude")
        self._tdd("test")

    def claim(self) -> None:
        test_id = self._test()
        subprocess.run(
            (sys.executable, "-m", "verdigris", "test", test_id),
            cwd=self.root,
            env=self.env,
            check=False,
            capture_output=True,
        )
        self._tdd("claim", test_id, "calc.py")
        self._source()

    def settle(self) -> None:
        self._tdd("settle")

    def lean(self) -> None:
        self._run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")

    def claimed(self) -> None:
        name = f"tests/test_f{self.functions}.py"
        self._run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name)

    def shell(self) -> None:
        self._run(str(self.root / ".git" / "tdd" / "shell"), "true")

    def bash(self) -> None:
        self._run("bash", "-c", "true")

    def _test(self) -> str:
        self.functions += 1
        number = self.functions
        name = f"tests/test_f{number}.py"
        (self.root / name).write_text(
            f"import time\n\nimport calc\n\n\ndef test_f{number}():\n    time.sleep({TAKES})\n"
            f"    assert calc.f{number}(2) == {2 * number}\n"
        )
        return f"{name}::test_f{number}"

    def _source(self) -> None:
        functions = (f"def f{n}(a):\n    return a * {n}\n" for n in range(1, self.functions + 1))
        (self.root / "calc.py").write_text("\n\n".join(functions))

    def _tdd(self, *words: str) -> None:
        self._run(sys.executable, "-m", "verdigris", *words)

    def _run(self, *argv: str) -> None:
        subprocess.run(argv, cwd=self.root, env=self.env, check=True, capture_output=True)


if __name__ == "__main__":
    from timing import table

    print(table(rows()))
