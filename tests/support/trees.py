"""Copies and reads folders with many small files, several times as fast as `shutil` and `pathlib`."""

# ruff: noqa: PTH101, PTH103, PTH115, PTH116, PTH123, PTH211

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def walk(folder: str, without: frozenset[str], above: str = "") -> Iterator[tuple[str, str, int]]:
    """Files and links below the folder: path relative to it, whole path, mode."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in without:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path, without, f"{above}{entry.name}/")
            else:
                yield f"{above}{entry.name}", entry.path, entry.stat(follow_symlinks=False).st_mode


def read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def copy_tree(source: Path, target: Path) -> None:
    """Copy with modes, times and links; existing files of the target may stay."""
    _copy_folder(os.fspath(source), os.fspath(target))


def _copy_folder(source: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            to = f"{target}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), to)
            elif entry.path.endswith("/tdd/rooms"):
                os.makedirs(to, exist_ok=True)  # what lies there is about to be removed
            elif entry.is_dir():
                _copy_folder(entry.path, to)
            else:
                _copy_file(entry.path, to, entry.stat())
    _stamp(target, os.stat(source))


def _copy_file(source: str, target: str, status: os.stat_result) -> None:
    with open(target, "wb", buffering=0) as file:
        file.write(read(source))
    _stamp(target, status)


def _stamp(path: str, status: os.stat_result) -> None:
    os.chmod(path, status.st_mode & 0o7777)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def remove_tree(folder: Path) -> None:
    """Rooms may be removed meanwhile by those that made them."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
