"""A command in an agent's shell against the same command bare, from the client's prefix to its end.

The last row is of a worktree in which processes of an earlier call are alive, as those of a dev server are.
"""

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
ALIVE = 20
SECONDS_ALIVE = 30
ROUNDS = 40
FLOOR = "python -I -S -c pass"


def rows() -> list[Row]:
    return [*(row for size in SIZES for row in _measure(size)), *_measure(SIZES[0], ALIVE)]


def _measure(size: int, alive: int = 0) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name).resolve()
        _project(root, size)
        prefix = str(write_launcher(find_repository(root)))
        case = f"{size:,} files" + (f", {alive} processes alive" if alive else "")
        bare, ours = f"sh -c true, {case}", f"shell prefix, true, {case}"
        subjects = {
            bare: ["bash", "-c", "true"],
            f"{FLOOR}, {case}": [sys.executable, "-I", "-S", "-c", "pass"],
            ours: [prefix, "true"],
        }
        run = partial(subprocess.run, cwd=root, check=True)
        run([prefix, "true"])
        run([prefix, f"for n in $(seq {alive}); do sleep {SECONDS_ALIVE} & done"], stdout=subprocess.DEVNULL)
        medians = interleaved({what: partial(run, argv) for what, argv in subjects.items()}, ROUNDS)
        return against(medians, bare, {ours: "≤ 25 ms over bare"})


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
