"""A snapshot where one file changed, against `git status` of the same tree."""

from __future__ import annotations

import subprocess
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from timing import Row, against, interleaved

from verdigris.core.paths import PathClass
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (100, 5_000, 50_000)
FOLDER = 100
"""Files to a folder."""
ROUNDS = 9


def rows(sizes: Sequence[int] = SIZES) -> list[Row]:
    return [row for size in sizes for row in _measure(size)]


def _measure(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name)
        make_tree(root, size)
        workspace = Workspace(find_repository(root), lambda _: PathClass.SOURCE)
        workspace.snapshot()
        versions = count()
        changing = root / "src" / "d0" / "m0.py"

        def snapshot() -> None:
            changing.write_text(f"VALUE = {next(versions)}\n")
            workspace.snapshot()

        def status() -> None:
            changing.write_text(f"VALUE = {next(versions)}\n")
            subprocess.run(["git", "status", "--porcelain"], cwd=root, check=True, capture_output=True)

        reference = f"git status, {size:,} files"
        subject = f"snapshot, {size:,} files, one changed"
        medians = interleaved({reference: status, subject: snapshot}, ROUNDS)
        return against(medians, reference, {subject: "≤ 2 × git status" if size == max(SIZES) else ""})


def make_tree(root: Path, size: int) -> None:
    for n in range(size):
        folder = root / "src" / f"d{n // FOLDER}"
        if n % FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"m{n % FOLDER}.py").write_text(f"VALUE = {n}\n")
    # A gc in the background would write where the folder is being removed.
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "maintenance.auto=false"]
    for argv in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "tree"]):
        subprocess.run(["git", *argv], cwd=root, check=True, capture_output=True)
