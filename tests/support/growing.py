"""A tree of files for a test to read."""

from __future__ import annotations

from pathlib import Path


def grow(root: Path, *names: str, **texts: str) -> Path:
    """Empty files by name, and files with a text; `__` stands for the dot."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name, text in texts.items():
        (root / name.replace("__", ".")).write_text(text)
    return root


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
