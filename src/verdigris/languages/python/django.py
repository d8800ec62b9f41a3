"""Recognises a Django project by its `manage.py`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SETTINGS = re.compile(r"""DJANGO_SETTINGS_MODULE["']\s*[,\]]\s*=?\s*["']([\w.]+)["']""")


def settings_of(home: Path) -> str:
    """The settings module that `manage.py` names; empty if the folder is no Django project."""
    try:
        found = _SETTINGS.search((home / "manage.py").read_text("utf-8", "replace"))
    except OSError:
        return ""
    return found[1] if found else ""
