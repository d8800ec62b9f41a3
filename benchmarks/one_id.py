"""`tdd test` of one id by a fresh process, against cold lean pytest of that id; warm.py has the others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

from timing import Row, against, interleaved

ROUNDS = 15
ID = "tests/test_calc.py::test_add"
LEAN, TDD = "cold lean pytest, one id", "tdd test, one id"


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name)
        _project(root)
        versions = count()
        tdd = str(Path(sys.executable).with_name("tdd"))
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "1", "VERDIGRIS_WARM": "0"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)

        def run(*argv: str) -> None:
            # The tree differs each time, so that no answer comes from the log.
            (root / "calc.py").write_text(
                f"def add(a, b):\n    return a + b\n\n\nVERSION = {next(versions)}\n"
            )
            subprocess.run(argv, cwd=root, env=env, check=True, capture_output=True)

        medians = interleaved(
            {
                LEAN: lambda: run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ID),
                TDD: lambda: run(tdd, "test", ID),
            },
            ROUNDS,
        )
        return against(medians, LEAN, {TDD: "≤ 1.3 × lean"})


def _project(root: Path) -> None:
    (root / "tests").mkdir()
    (root / "conftest.py").write_text("")
    (root / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (root / "tests" / "test_calc.py").write_text(
        "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n"
    )
    (root / "tdd.yaml").write_text(f"stacks:\n  - root: .\n    python: {sys.executable}\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(
        [Path(sys.executable).with_name("tdd"), "init", "--yes"], cwd=root, check=True, capture_output=True
    )
