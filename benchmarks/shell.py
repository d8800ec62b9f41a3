"""A command in an agent's shell against the same command bare, from the client's prefix to its end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from timing import Row, against, interleaved

from verdigris.gates.agent_shell.launcher import write_launcher
from verdigris.storage.repository import find_repository

SIZES = (100, 5_000)
ROUNDS = 40
FLOOR = "python -I -S -c pass"


def rows() -> list[Row]:
    return [row for size in SIZES for row in _measure(size)]


def _measure(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name).resolve()
        _project(root, size)
        prefix = str(write_launcher(find_repository(root)))
        bare = f"sh -c true, {size:,} protected files"
        subjects = {
            bare: ["bash", "-c", "true"],
            f"{FLOOR}, {size:,}": [sys.executable, "-I", "-S", "-c", "pass"],
            f"shell prefix, true, {size:,}": [prefix, "true"],
        }
        run = partial(subprocess.run, cwd=root, check=True)
        run([prefix, "true"])
        medians = interleaved({what: partial(run, argv) for what, argv in subjects.items()}, ROUNDS)
        return against(medians, bare, {f"shell prefix, true, {size:,}": "≤ 20 ms over bare"})


def _project(root: Path, size: int) -> None:
    """In red: the source is protected, by one mount for each package and each module at the top."""
    for n in range(size):
        package = root / "src" / f"p{n // 100}"
        package.mkdir(parents=True, exist_ok=True)
        (package / ("__init__.py" if n % 100 == 0 else f"m{n}.py")).write_text(f"VALUE = {n}\n")
    (root / "tdd.yaml").write_text(f"stacks:\n  - root: .\n    python: {sys.executable}\n")
    tdd = str(Path(sys.executable).with_name("tdd"))
    for argv in (["git", "init", "-q"], [tdd, "init", "--yes"]):
        subprocess.run(argv, cwd=root, check=True, capture_output=True)
