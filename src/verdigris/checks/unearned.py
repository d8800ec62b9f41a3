"""Which source a move of git's would bring that nobody earned and, for all that can be seen, an agent made.

A commit counts as others' where a remote's branch holds it, or where its object was stored before the laws
were set up here: git's dates can be forged, when a file came into being cannot.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.checks.observation import unclaimed
from verdigris.storage.git import null_split, users_git
from verdigris.storage.repository import head
from verdigris.storage.snapshots import committed, moves

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project

LOOKED_AT = 1000
"""Commits; a move that brings more that are no remote's is not judged by each, but by its files."""


def unearned(project: Project, state: WorktreeState, before: str, since: str | None) -> tuple[str, ...]:
    """Source that differs from the tree `before` by more than stubs; `since` is where HEAD was then."""
    tree = project.workspace.snapshot()
    changed = {found.path for found in unclaimed(project, before, tree)}
    changed -= _once_ground(project, state, tree, changed)
    if not changed:
        return ()
    suspect = changed - _checked_out(project, changed) | made_here(project, since, changed)
    return tuple(sorted(suspect))


def _once_ground(project: Project, state: WorktreeState, tree: str, paths: Iterable[str]) -> set[str]:
    """What lies there as it did in a ground: it was earned then, or found."""
    now = project.workspace.read_many(tree, paths)
    known = dict.fromkeys([state.ground, *(g for grounds in state.grounds.values() for g in grounds)])
    found: set[str] = set()
    for ground in filter(None, known):
        there = project.workspace.read_many(ground, now)
        found |= {path for path, data in now.items() if there[path] == data}
    return found


def _checked_out(project: Project, paths: Iterable[str]) -> set[str]:
    """Those that lie there as HEAD has them, bytes and all: a filter may be the agent's own."""
    commit = head(project.repo).commit
    if commit is None:
        return set()
    held = {entry.path: entry for entry in committed.listing(project.repo, commit).files}
    git = users_git(project.repo)
    found = set()
    for path in paths:
        entry, file = held.get(path), project.root / path
        data = file.read_bytes() if file.is_file() and not file.is_symlink() else None
        blob = git.run("cat-file", "blob", entry.blob) if entry else None
        if data == blob or (data and blob and data.replace(b"\r\n", b"\n") == blob.replace(b"\r\n", b"\n")):
            found.add(path)
    return found


def made_here(project: Project, since: str | None, paths: set[str]) -> set[str]:
    """Those that a commit had a hand in which is no remote's, and younger than the laws."""
    now = head(project.repo).commit
    if now is None:
        return set()
    git = users_git(project.repo)
    known = () if since is None else (since,)
    listed = git.run("rev-list", f"--max-count={LOOKED_AT}", now, "--not", "--remotes", *known)
    young = [commit for commit in os.fsdecode(listed).split() if _young(project, commit)]
    if not young:
        return set()
    if len(young) == LOOKED_AT:
        return paths
    asked = "".join(f"{commit}\n" for commit in young).encode()
    names = git.run(
        "diff-tree", "--stdin", "--root", "-r", "-c", "--name-only", "--no-commit-id", "-z", stdin=asked
    )
    return paths.intersection(null_split(names))


def _young(project: Project, commit: str) -> bool:
    (first,) = project.log.records(limit=1)
    return moves.stored_at(project.repo, commit) > first.ts / 1000
