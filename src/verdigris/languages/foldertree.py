"""Walks and makes trees of folders of any depth, where the standard library calls itself per level."""

# Plain calls, and names stay `str`:
# ruff: noqa: PTH102, PTH120

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def walk(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, a folder before what is in it; who takes names out of the folders keeps them unseen."""
    waiting = [top]
    while waiting:
        here = waiting.pop()
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
        except OSError:
            continue
        yield here, folders, files
        waiting += [f"{here}/{name}" for name in reversed(folders)]


def make_folders(path: str) -> None:
    """As `os.makedirs` where the folder may exist already."""
    missing: list[str] = []
    while path and not os.path.isdir(path):  # noqa: PTH112
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not os.path.isdir(folder):  # noqa: PTH112
                raise
