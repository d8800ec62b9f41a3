"""Folders in which the kernel keeps what compilers made, in the control area; tests never write there.

A run of tests finds such a folder below a layer of its own, which is thrown away with the room.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

from verdigris.sandbox import clear

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FOLDER = "caches"
_KEPT = 3
"""Of one kind: another toolchain or other options make another."""


def kept(area: Path, kind: str, words: Sequence[str] = ()) -> Path:
    """The folder of a kind for these words, made where it is missing; those used least lately go."""
    above = area / FOLDER / kind
    folder = above / hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
    if not folder.is_dir():
        folder.mkdir(parents=True)
        older = sorted((one for one in above.iterdir() if one != folder), key=lambda one: one.stat().st_mtime)
        for one in older[: -(_KEPT - 1)]:
            emptied(one)
            one.rmdir()
    os.utime(folder)
    return folder


def emptied(folder: Path) -> None:
    clear(str(folder))
