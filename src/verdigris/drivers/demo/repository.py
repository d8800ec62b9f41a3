"""The made-up repositories of the play; nobody's hooks, keys or names have a say in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.storage.usersgit import asked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SETTINGS = {
    "user.name": "demo",
    "user.email": "demo@example.invalid",
    "commit.gpgsign": "false",
    "core.hooksPath": ".git/hooks",
}


def lay_out(files: Mapping[str, str], root: Path, subject: str) -> None:
    """The files in a new folder, in one commit."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    asked(root, "init", "--quiet", "--initial-branch=main")
    for name, setting in _SETTINGS.items():
        asked(root, "config", name, setting)
    asked(root, "add", "--all")
    asked(root, "commit", "--quiet", "--message", subject)
