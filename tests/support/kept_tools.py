"""The folder where tools stay that take long to install or build, for all runs of this suite by one user.

It is not among the temporary files, because those of a whole run lie in memory and vanish with it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_CERTIFICATES, _LEFT_OUT = "NODE_EXTRA_CA_CERTS", "SUITE_NODE_CERTIFICATES"


def leave_out_certificates() -> None:
    """Removes the user's certificates from the environment: each start of node reads them, for 50 ms.

    Only installs of packages need them (`fetching_environment`).
    """
    if named := os.environ.pop(_CERTIFICATES, ""):
        os.environ[_LEFT_OUT] = named


def fetching_environment() -> dict[str, str]:
    """The environment of a command that fetches packages: with the certificates."""
    named = os.environ.get(_LEFT_OUT)
    return {**os.environ, **({_CERTIFICATES: named} if named else {})}


def kept_folder(name: str, variable: str) -> Path:
    """The folder for a tool. Call this before a test changes HOME.

    `variable`: an environment variable that may name another folder, which a CI job keeps.
    """
    if named := os.environ.get(variable):
        return Path(named)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        (home / "verdigris").mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir()) / f"verdigris-{name}-{os.getuid()}"
    return home / "verdigris" / name
