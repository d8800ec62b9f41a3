"""Keeps small files: a reader finds the old one or the new one whole, whoever is killed meanwhile.

Also lists folders that may be gone.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from typing import Any


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    fresh = f"{os.fspath(path)}.{os.getpid()}"
    with open(fresh, "wb") as file:
        file.write(data)
    os.replace(fresh, path)


def remember(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a note that only saves time: an error of the disk is ignored."""
    try:
        replace_file(path, data)
    except OSError:
        return


def recall(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a note in JSON; empty if there is none, or it is damaged."""
    import json

    try:
        with open(path, "rb") as file:
            noted = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def names_in(folder: str) -> list[str]:
    """The names in a folder; none if it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
