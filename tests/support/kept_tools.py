"""The folder where tools stay that take long to install or build, for all runs of this suite by one user.

It is not among the temporary files, because those of a whole run lie in memory and vanish with it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_CERTIFICATES, _LEFT_OUT = "NODE_EXTRA_CA_CERTS", "SUITE_NODE_CERTIFICATES"


def leave_out_certificates() -> None:
    """Node reads them at each start, which takes twice as long as all the rest. Only installs need them."""
    if named := os.environ.pop(_CERTIFICATES, ""):
        os.environ[_LEFT_OUT] = named


def fetching_environment() -> dict[str, str]:
    """For what fetches packages."""
    named = os.environ.get(_LEFT_OUT)
    return {**os.environ, **({_CERTIFICATES: named} if named else {})}


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
