"""Finds files that an agent's process has mapped, and could change without a trace.

A page that is written through a mapping gets its timestamp once, until it is clean again: what is mapped at
one look has to be read by the next, whatever it looks like.
"""

# Plain calls, and names stay `str`:
# ruff: noqa: PTH116, PTH123, PTH208

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from verdigris.storage import open_calls

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

NOTE = "mapped.json"
_PERMISSIONS, _INODE = 1, 4


def read_note(private: Path) -> list[str]:
    """What was mapped at the last look."""
    try:
        return list(map(str, json.loads((private / NOTE).read_bytes())))
    except (OSError, ValueError, TypeError):
        return []


def note(private: Path, paths: Collection[str]) -> None:
    file = private / NOTE
    if not paths:
        file.unlink(missing_ok=True)
        return
    draft = file.with_name(f"{NOTE}.{os.getpid()}")
    draft.write_text(json.dumps(sorted(paths)))
    draft.replace(file)


def shared_inodes(private: Path) -> frozenset[int]:
    """Inodes that are mapped, shared, by a process in another mount namespace; none while no call's lives."""
    if not open_calls.alive(str(private)):
        return frozenset()
    mine = os.stat("/proc/self/ns/mnt").st_ino
    found: set[int] = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{pid}/ns/mnt").st_ino != mine:
                with open(f"/proc/{pid}/maps", "rb") as lines:
                    found.update(_inodes_in(lines))
        except OSError:
            continue
    return frozenset(found - {0})


def among(root: Path, paths: Iterable[str], inodes: Collection[int]) -> set[str]:
    return {path for path in paths if _inode(f"{root}/{path}") in inodes}


def _inodes_in(lines: Iterable[bytes]) -> Iterable[int]:
    for line in lines:
        fields = line.split(maxsplit=_INODE + 1)
        if fields[_PERMISSIONS].endswith(b"s"):
            yield int(fields[_INODE])


def _inode(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return 0
