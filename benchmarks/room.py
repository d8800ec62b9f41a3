"""A room in which a process could start, against `git worktree add`: the tree to judge differs a little."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot import make_tree
from timing import Row, against, interleaved

from verdigris.core.records import Actor
from verdigris.execution.children import start
from verdigris.execution.room import Layer
from verdigris.execution.rooms import possible, room
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.storage.project import Project

SIZES = (100, 5_000)
DRIFT = 3
"""Files in which the tree to judge differs from the worktree's."""
ROUNDS = 11


def rows() -> list[Row]:
    return [row for size in SIZES for row in _measure(size)]


def _measure(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name, "root").resolve()
        root.mkdir()
        make_tree(root, size)
        initialise(root, Actor())
        project = open_project(root, Actor())
        if possible(project).way is None:
            return [Row("no room here without a sandbox", 0)]
        layer = _drifted(project)
        places = (Path(name, f"worktree{number}") for number in count())
        git, ours = f"git worktree add, {size:,} files", f"room, {size:,} files, {DRIFT} of them other ones"
        subjects = {git: lambda: _worktree(root, next(places)), ours: lambda: _room(project, layer)}
        target = "≤ 0.05" if size == max(SIZES) else ""
        return against(interleaved(subjects, ROUNDS), git, {ours: target})


def _drifted(project: Project) -> Layer:
    """The tree to judge is the one before a few files were changed."""
    wanted = project.workspace.snapshot()
    for number in range(DRIFT):
        (project.root / "src" / "d0" / f"m{number}.py").write_text("VALUE = -1\n")
    return Layer(wanted, project.workspace.snapshot())


def _worktree(root: Path, place: Path) -> None:
    """It stays until the end: to remove so many files slows the next one down tenfold."""
    words = ("git", "worktree", "add", "--quiet", "--detach", str(place))
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(words, cwd=root, env=env, check=True, capture_output=True)


def _room(project: Project, layer: Layer) -> Callable[[], object]:
    """`start` returns when the program is executed."""
    with ExitStack() as stack:
        made = stack.enter_context(room(project, layer=layer))
        started = start(("true",), str(project.root), made.env, None, made.confine)
        stack.callback(started.end)
        return stack.pop_all().close
