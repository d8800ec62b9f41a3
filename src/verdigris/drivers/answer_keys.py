"""Names for kept answers: of what was asked, and of the code that answered.

A cache or a result folder outlives a release. Code that comes from git also changes under one version, so an
answer is known by a digest of our files.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import verdigris
from verdigris import __version__

CODE = Path(verdigris.__file__).parent


def key_of(*parts: Any) -> str:
    """A name for what depends on these parts and on our version, and not on how our code judges."""
    text = json.dumps([__version__, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40]


def answer_key(*parts: Any) -> str:
    """A name for what our code found out from these parts."""
    return key_of(digest_code(CODE), *parts)


@cache
def digest_code(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        if file.parent.name != "__pycache__":
            name = str(file.relative_to(folder))
            digest.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
