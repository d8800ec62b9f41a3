"""Makes of a commit's tree what a checkout shows: files of submodules and of LFS, not references."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

from verdigris.core.paths import FILE
from verdigris.storage.git import null_split, users_git

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.storage.project import Project

_LINK = "160000"
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")
_LONGEST = 1024
"""Bytes of a pointer."""

Contents = dict[str, tuple[str, bytes] | None]


def check_out(project: Project, tree: str, worktree: str) -> str:
    """Submodules are as they lie in the worktree, which no commit of ours says more about; what LFS has
    fetched takes the place of its pointers. Most trees have neither, and stay as they are.
    """
    listed = null_split(users_git(project.repo).run("ls-tree", "-r", "-l", "-z", "--full-tree", tree))
    rows = [(row.split("\t", 1)[0].split(), row.split("\t", 1)[1]) for row in listed]
    links = [path for (mode, *_), path in rows if mode == _LINK]
    contents: Contents = dict.fromkeys(links)
    contents |= _files_of_submodules(project, worktree, links)
    if any(path.rpartition("/")[2] == ".gitattributes" for _, path in rows):
        small = {
            path: mode for (mode, _, _, size), path in rows if size.isdecimal() and int(size) <= _LONGEST
        }
        contents |= _fetched_files(project, tree, worktree, small)
    return project.workspace.compose(tree, contents)


def _files_of_submodules(project: Project, worktree: str, links: Iterable[str]) -> Contents:
    below = tuple(f"{path}/" for path in links)
    if not below:
        return {}
    found = {e.path: e.mode for e in project.workspace.files(worktree) if e.path.startswith(below)}
    texts = project.workspace.read_many(worktree, found)
    return {path: (found[path], data) for path, data in texts.items() if data is not None}


def _fetched_files(project: Project, tree: str, worktree: str, small: dict[str, str]) -> Contents:
    told = b"".join(
        data
        for path, data in project.workspace.read_many(
            tree, [p for p in small if p.endswith(".gitattributes")]
        ).items()
        if data is not None
    )
    if b"filter=lfs" not in told:
        return {}
    found: Contents = {}
    for path, data in project.workspace.read_many(tree, small).items():
        pointer = None if data is None else _POINTER.match(data)
        if (
            pointer is not None
            and (real := _object(project, worktree, path, pointer[1].decode())) is not None
        ):
            found[path] = (small[path] or FILE, real)
    return found


def _object(project: Project, worktree: str, path: str, oid: str) -> bytes | None:
    """From what LFS keeps, or from the worktree where it is the same file."""
    kept = project.repo.common_dir / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    if os.path.isfile(kept):  # noqa: PTH113 - a broken link is none
        return kept.read_bytes()
    here = project.workspace.read(worktree, path)
    return here if here is not None and hashlib.sha256(here).hexdigest() == oid else None
