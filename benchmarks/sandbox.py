"""A confined command against a bare one: what starts, and a short pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from timing import Row, against, interleaved

from verdigris.sandbox.child import available, preexec
from verdigris.sandbox.confinement import Confinement
from verdigris.sandbox.folders import clear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verdigris.sandbox.confinement import Network

NETWORKS: tuple[Network, ...] = ("none", "loopback", "host")
ROUNDS = 50
PYTEST_ROUNDS = 15
TRUE, PYTEST = ("true",), (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def rows() -> list[Row]:
    if not available().ok:
        return [Row(f"no sandbox here: {available().why}", 0)]
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        folder = Path(name)
        root = folder / "root"
        root.mkdir()
        (root / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n")
        return [
            *_measure("true", TRUE, folder, ROUNDS, "≤ 20 ms over bare"),
            *_measure("pytest of one test", PYTEST, folder, PYTEST_ROUNDS, "≤ 1.25"),
        ]


def _measure(what: str, argv: Sequence[str], folder: Path, rounds: int, target: str) -> list[Row]:
    numbers = count()
    bare = f"{what}, bare"
    subjects: dict[str, Callable[[], object]] = {bare: lambda: _run(argv, folder, None)}
    for network in NETWORKS:
        confined = partial(_confined, argv, folder, numbers, network)
        subjects[f"{what}, confined, network {network}"] = confined
    # One without a preparation in the child tells what the fork itself costs.
    subjects[f"{what}, forked"] = lambda: _run(argv, folder, os.getpid)
    medians = interleaved(subjects, rounds)
    return against(medians, bare, {name: target for name in subjects if "confined" in name})


def _confined(argv: Sequence[str], folder: Path, numbers: Iterator[int], network: Network) -> None:
    number = next(numbers)
    upper, work = folder / f"upper{number}", folder / f"work{number}"
    upper.mkdir()
    work.mkdir()
    confinement = Confinement(str(folder / "root"), str(upper), str(work), network=network)
    _run(argv, folder, preexec(confinement))
    for left in (upper, work):
        clear(str(left))
        left.rmdir()


def _run(argv: Sequence[str], folder: Path, confine: Callable[[], object] | None) -> None:
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        argv,
        cwd=folder / "root",
        env=env,
        check=True,
        capture_output=True,
        preexec_fn=confine,
    )
