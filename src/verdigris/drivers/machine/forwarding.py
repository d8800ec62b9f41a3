"""The user's branch follows the machine's: forward only, and only where the user's checkout is clean."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.state import Phase
from verdigris.drivers.machine.worktree import ancestor, ref, taken_back
from verdigris.storage.lock import locked
from verdigris.storage.repository import head, in_progress
from verdigris.storage.usersgit import git
from verdigris.turns.sync import sync

if TYPE_CHECKING:
    from verdigris.storage.project import Project

_TOLD = 160


def forward(home: Project, branch: str, to: str) -> str | None:
    """Why the user's checkout stays where it is; None when it stands where the machine does."""
    now = head(home.repo)
    target = git(home.root, "rev-parse", "--verify", "--quiet", to).out.strip()
    if now.branch == branch and now.commit == target:
        return None
    return hindrance(home, branch, to) or _moved(home, to)


def hindrance(home: Project, branch: str, to: str) -> str | None:
    """Why it could not be moved now, if it had to be."""
    if head(home.repo).branch != branch:
        return f"{branch} is not checked out here any more"
    if unfinished := in_progress(home.repo):
        return f"a {unfinished} is in progress"
    if home.state().phase in {Phase.GREEN, Phase.REFACTOR}:
        return f"the {home.state().phase} phase is open in your checkout"
    changed = git(home.root, "status", "--porcelain", "--untracked-files=no").out.splitlines()
    if changed:
        return f"your checkout has changes ({changed[0][3:]}{' …' if len(changed) > 1 else ''})"
    if not ancestor(home.root, "HEAD", to):
        return f"{branch} has gone another way"
    if taken_back(home.root, ref(branch), to):
        return f"{branch} was taken back behind the machine's commits"
    try:
        with locked(home.repo.lock("operation"), wait=0):
            return None
    except UserError:
        return "another tdd command is at work in your checkout"


def _moved(home: Project, to: str) -> str | None:
    match sync(home, ("merge", "--quiet", "--ff-only", to), quiet=True):
        case Deny() as no:
            return no.reason
        case moved if moved.exit_code != 0:
            return f"git would not fast-forward it: {shorten(moved.said, _TOLD, placeholder=' …')}"
        case _:
            return None
