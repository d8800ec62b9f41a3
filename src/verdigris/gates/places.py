"""Resolves a path in a tool call: which worktree, the control area, or a switch outside."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from verdigris.core.errors import VerdigrisError
from verdigris.storage.project import open_project
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.storage.project import Project

LONGEST = 4096
_GLOB = frozenset("*?[{")
_FILE = "file://"


def readings(spelling: str) -> tuple[str, ...]:
    """What clients make of a spelling before they open it: trimmed, `~` and `file:` resolved, composed."""
    trimmed = spelling.strip().strip("\ufeff").strip()
    found = {spelling: None, trimmed: None, unicodedata.normalize("NFC", trimmed): None}
    if trimmed.startswith("~"):
        found[os.path.expanduser(trimmed)] = None  # noqa: PTH111 - a spelling, not yet a path
    if trimmed.startswith(_FILE):
        found[unquote(trimmed.removeprefix(_FILE))] = None
    return tuple(name for name in found if is_name(name))


def is_name(text: str) -> bool:
    """Whether the system could take it for a path."""
    try:
        return 0 < len(os.fsencode(text)) < LONGEST and "\0" not in text
    except UnicodeEncodeError:
        return False


def resolve(spelling: str, cwd: Path) -> Path:
    return Path(os.path.realpath(os.path.join(cwd, spelling)))  # noqa: PTH118 - as the client's system will read it


def home(project: Project, spelling: str, cwd: Path) -> Project:
    """The worktree of this repository that the path lies in, each with a phase of its own."""
    try:
        repo = find_repository(_folder(resolve(spelling, cwd)))
        if repo.common_dir != project.repo.common_dir or repo.root == project.root:
            return project
        return open_project(repo.root, project.actor)
    except VerdigrisError:
        return project


def _folder(path: Path) -> Path:
    """The nearest folder above that exists."""
    return next(folder for folder in path.parents if folder.is_dir()) if path.parents else path


def is_switch(project: Project, spelling: str, cwd: Path, guarded: Iterable[Path]) -> bool:
    """The git folder that all worktrees share, and what the gate stands on outside the worktree."""
    path = resolve(spelling, cwd)
    around = {path, *path.parents}
    return any(place in around for place in (project.repo.common_dir, *guarded))


def is_control(project: Project, spelling: str, cwd: Path) -> bool:
    """Whether reading there may show what is held out: the control area, or a search from right above."""
    fixed = spelling[: next((i for i, c in enumerate(spelling) if c in _GLOB), len(spelling))]
    path = resolve(fixed or ".", cwd)
    control = project.repo.control
    return path == control or control in path.parents or path == project.repo.common_dir
