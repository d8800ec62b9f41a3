"""The folder where tools stay that take long to install or build, for all runs of this suite by one user.

It is not among the temporary files, because those of a whole run lie in memory and vanish with it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def kept_folder(name: str, variable: str) -> Path:
    """The folder; call this before a test changes HOME. `variable` names another folder, for a CI job that
    keeps it.
    """
    if named := os.environ.get(variable):
        return Path(named)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        (home / "verdigris").mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir()) / f"verdigris-{name}-{os.getuid()}"
    return home / "verdigris" / name
