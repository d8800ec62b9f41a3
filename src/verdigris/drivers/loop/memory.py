"""The branch that holds the programs' state files: read and written without a checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.storage.git import git
from verdigris.turns.commit import CommitIdentity, author_environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BRANCH = "memory/autoloop"
_AUTHOR = CommitIdentity("TDD Loop", "tdd-loop@localhost")


def read_state(root: Path, name: str, branch: str = BRANCH) -> str:
    """The state file of a program; empty where there is none yet."""
    said = git(root, "show", f"refs/heads/{branch}:{name}.md")
    return said.out if said.ok else ""


def write_state(root: Path, name: str, text: str, why: str, branch: str = BRANCH) -> str:
    """Commits one file on top of the branch, which need not be checked out anywhere; the commit's id.

    The branch moves only if it is still where it was read: a second writer is told to try again.
    """
    old = git(root, "rev-parse", "--quiet", "--verify", f"refs/heads/{branch}").out.strip()
    blob = _asked(root, "hash-object", "-w", "--stdin", stdin=text)
    listed = git(root, "ls-tree", "-z", old).out.split("\0") if old else []
    kept = [line for line in listed if line and line.partition("\t")[2] != f"{name}.md"]
    tree = _asked(root, "mktree", "-z", stdin="\0".join([*kept, f"100644 blob {blob}\t{name}.md", ""]))
    parents = ("-p", old) if old else ()
    made = _asked(root, "commit-tree", tree, *parents, "-m", why, env=author_environment(root, _AUTHOR))
    moved = git(root, "update-ref", "-m", why, f"refs/heads/{branch}", made, old or "0" * 40)
    if not moved.ok:
        raise UserError(f"{branch} moved while {name}.md was written: {moved.err.strip()}", hint="try again")
    return made


def _asked(root: Path, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
    said = git(root, *words, stdin=stdin, env=env or {})
    if not said.ok:
        raise UserError(f"git {words[0]} failed: {said.err.strip()}", hint="`git fsck` checks the repository")
    return said.out.strip()
