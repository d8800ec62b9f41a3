"""The machine's private worktree: how it follows the user's branch, and how it is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.drivers import private_worktree
from verdigris.drivers.private_worktree import (
    Leftover,
    ancestor,
    current_branch,
    describe_changes,
    is_made,
    make,
    ref,
)
from verdigris.storage import tdd_folder
from verdigris.storage.git import ask_users_git, git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.storage.repository import Repository

DRIVER, BRANCHES = "machine", "tdd-machine/"


@value
class Private:
    root: Path
    branch: str
    made: bool
    """It was not there before."""


def private(home: Repository, branch: str) -> Private:
    """The private worktree of the user's branch: made or found, and moved along with that branch."""
    root, ours = place(home, branch), f"{BRANCHES}{branch}"
    made = not is_made(root)
    if made:
        make(home, DRIVER, root, ours, ref(branch))
    _move_along(home, root, ours, branch)
    return Private(root, ours, made)


def place(home: Repository, branch: str) -> Path:
    return private_worktree.place(home, DRIVER, branch)


def _move_along(home: Repository, root: Path, ours: str, branch: str) -> None:
    """Only ever forward: what diverged is for a person to bring together."""
    if current_branch(root) != ours:
        raise UserError(
            f"the machine's worktree {root} is not on its branch {ours}",
            hint=f"git -C {root} switch {ours}, or remove it: git worktree remove --force {root}",
        )
    if not ancestor(home.root, ref(branch), ref(ours)) and not ancestor(home.root, ref(ours), ref(branch)):
        raise UserError(
            f"{branch} and the machine's branch {ours} have diverged",
            hint=f"put yours on top: `git rebase {ours}`; {_given_up(root, ours, branch)}",
        )
    if taken_back(home.root, ref(branch), ref(ours)):
        raise UserError(
            f"{branch} was reset to before the machine's commits, which are still on {ours}",
            hint=f"to have them again: `git merge --ff-only {ours}`; {_given_up(root, ours, branch)}",
        )


def _given_up(root: Path, ours: str, branch: str) -> str:
    words = f"git worktree remove --force {root} && git branch --force {ours} {branch}"
    return f"or give the machine's up: `{words}`"


def taken_back(root: Path, theirs: str, ours: str) -> bool:
    """Whether the user's branch had commits of ours once, and has them no more: a person took them away."""
    ahead = ask_users_git(root, "rev-list", f"{theirs}..{ours}").split()
    had = git(root, "reflog", "show", "--format=%H", theirs).out.split() if ahead else []
    return not frozenset(had).isdisjoint(ahead)


def behind(root: Path, branch: str) -> bool:
    """Whether the user's branch has commits that the worktree has not."""
    return not ancestor(root, ref(branch), "HEAD")


def leftovers(root: Path) -> tuple[Leftover, ...]:
    """Lists what is there, and what of it exists nowhere else; changes nothing."""
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
    return describe_changes(place) if place else ""


def _folder(root: Path) -> Iterator[Leftover]:
    """Only where nobody put anything else into it."""
    folder = root / tdd_folder.NAME
    if not tdd_folder.is_made_here(root):
        return
    others = sorted(path.name for path in folder.iterdir() if path.name not in tdd_folder.PRIVATE)
    kept = f"it holds {others[0]}, which is not the machine's" if others else ""
    yield Leftover(f"{tdd_folder.NAME}/ with the machine's plans and logs", kept, folder=str(folder))
