"""What a run leaves besides its commits: worktrees, their branches and `.tdd`; `tdd uninit` removes them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.drivers.machine.keeping import FOLDER, IGNORING
from verdigris.drivers.machine.worktree import BRANCHES, ancestor, ref
from verdigris.storage.usersgit import git

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = frozenset({"plan", "logs", ".gitignore"})


@value
class Leftover:
    what: str
    """As a person is told it."""
    kept: str = ""
    """Why it stays, and how to take it away; empty where it can go."""
    worktree: str = ""
    branch: str = ""
    folder: str = ""


def leftovers(root: Path) -> tuple[Leftover, ...]:
    """Nothing is changed: what is there, and what of it holds something that is nowhere else."""
    return (*_branches(root), *_folder(root))


def _branches(root: Path) -> Iterator[Leftover]:
    said = git(root, "for-each-ref", "--format=%(refname:short)%00%(worktreepath)", ref(BRANCHES)).out
    for line in said.splitlines():
        branch, _, place = line.partition("\0")
        theirs = branch.removeprefix(BRANCHES)
        where = f" in {place}" if place else ""
        what = f"the machine's branch {branch}{where}"
        yield Leftover(what, _unsafe(root, branch, theirs, place), place, branch)


def _unsafe(root: Path, branch: str, theirs: str, place: str) -> str:
    if not ancestor(root, ref(branch), ref(theirs)):
        moves = f"`git merge --ff-only {branch}`, or `git branch -D {branch}`"
        return f"{theirs} does not have its commits: {moves}"
    dirty = _dirty(Path(place)) if place else []
    return f"it has changes ({dirty[0]}): `git worktree remove --force {place}`" if dirty else ""


def _dirty(place: Path) -> list[str]:
    """Besides the links to environments that the machine made itself."""
    if not place.is_dir():
        return []
    said = git(place, "status", "--porcelain", "--untracked-files=all").out.splitlines()
    return [line[3:] for line in said if not (place / line[3:]).is_symlink()]


def _folder(root: Path) -> Iterator[Leftover]:
    """Only where nobody put anything else into it."""
    folder = root / FOLDER
    ignoring = folder / ".gitignore"
    if not ignoring.is_file() or ignoring.read_text("utf-8", "replace") != IGNORING:
        return
    others = sorted(path.name for path in folder.iterdir() if path.name not in _OURS)
    kept = f"it holds {others[0]}, which is not the machine's" if others else ""
    yield Leftover(f"{FOLDER}/ with the machine's plans and logs", kept, folder=str(folder))


def remove(root: Path, found: tuple[Leftover, ...]) -> None:
    """Those that can go."""
    for one in found:
        if one.kept:
            continue
        if one.worktree:
            git(root, "worktree", "remove", "--force", one.worktree)
            git(root, "worktree", "prune")
        if one.branch:
            git(root, "branch", "--delete", "--force", one.branch)
        if one.folder:
            shutil.rmtree(one.folder, ignore_errors=True)
