"""Finds where a stack keeps its source and its tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.errors import NotARepository
from verdigris.core.languages import suffixes_of
from verdigris.core.paths import Detected, Where, compile_glob, where
from verdigris.core.value import replace
from verdigris.languages.folders import text_in
from verdigris.languages.registry import language_named
from verdigris.storage.git import null_split, users_git
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.settings import Settings, Stack

_SPECIAL = frozenset("*?[!#\\ ")


def layouts(root: Path, settings: Settings) -> dict[Where, Detected]:
    return {where(stack): layout(root, stack) for stack in settings.stacks}


def layout(root: Path, stack: Stack) -> Detected:
    """Where a stack keeps its source and its tests, as far as names alone do not tell."""
    found = language_named(stack.language).layout(root / stack.root)
    generated = _generated_files(root, stack)
    return replace(found, generated=generated) if generated else found


def _generated_files(root: Path, stack: Stack) -> tuple[str, ...]:
    """Files of the language that a `.gitignore` names, each by its whole name, and that git does not hold.

    Patterns are left out: `lib/` or `*.py` would open more than what a build writes. So is what a stack's
    `source` names.
    """
    home = root / stack.root
    lines = [line.strip() for line in text_in(home, ".gitignore").splitlines()]
    names = [
        line for line in lines if line.endswith(suffixes_of(stack.language)) and not set(line) & _SPECIAL
    ]
    globs = [name.lstrip("/") if "/" in name else f"**/{name}" for name in names if name not in stack.source]
    held = _tracked_files(root, stack.root) if globs else []
    return tuple(glob for glob in globs if not any(map(re.compile(compile_glob(glob)).fullmatch, held)))


def _tracked_files(root: Path, folder: str) -> list[str]:
    """What git holds of a folder, as seen from there."""
    try:
        listed = null_split(users_git(find_repository(root)).run("ls-files", "-z"))
    except NotARepository:
        return []
    prefix = "" if folder == "." else f"{folder}/"
    return [path.removeprefix(prefix) for path in listed if path.startswith(prefix)]
