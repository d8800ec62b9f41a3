"""Remembers how freshly hashed files looked, to the nanosecond: git's index may compare whole seconds."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000_000

Look = tuple[int, ...]
"""ctime, mtime, size, inode and mode of a file."""


def look(root: Path, path: str) -> Look | None:
    try:
        return look_of(os.lstat(root / path))
    except OSError:
        return None


def look_of(state: os.stat_result) -> Look:
    return state.st_ctime_ns, state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode


def load(file: Path) -> dict[str, Look]:
    try:
        return {path: tuple(look) for path, look in json.loads(file.read_bytes()).items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def save(file: Path, looks: dict[str, Look]) -> None:
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(json.dumps(looks))
    draft.replace(file)


def young(looks: dict[str, Look], now: int) -> dict[str, Look]:
    """Those that a write from `now` on could change within the second of their ctime."""
    return {path: seen for path, seen in looks.items() if seen[0] // SECOND >= now // SECOND}
