"""The folder where tools stay that take long to install or build, for all runs of this suite by one user.

It is not among the temporary files, because those of a whole run lie in memory and vanish with it.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_CERTIFICATES, _LEFT_OUT = "NODE_EXTRA_CA_CERTS", "SUITE_NODE_CERTIFICATES"
_UNTIL_ANOTHER_TRY = 900


def leave_out_certificates() -> None:
    """Removes the user's certificates from the environment: each start of node reads them, for 50 ms.

    Only installs of packages need them (`install_once`).
    """
    if named := os.environ.pop(_CERTIFICATES, ""):
        os.environ[_LEFT_OUT] = named


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


@contextmanager
def locked(folder: Path) -> Iterator[Path]:
    """A folder that all runs of this suite share; it is locked while this run makes or uses it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def install_once(
    what: str, folder: Path, command: Sequence[str], *, seconds: int, path: str | None = None
) -> None:
    """Runs a command in the folder that fetches packages, unless it did so before; skips where it fails.

    A failure is not tried again by the next test: each would wait as long. The fetching program uses its own
    cache and configuration, though HOME is empty. `path`: another PATH.
    """
    done, failure = folder / ".done", folder / ".failed"
    if done.exists():
        return
    if failure.exists() and time.time() - failure.stat().st_mtime < _UNTIL_ANOTHER_TRY:
        pytest.skip(failure.read_text("utf-8"))
    env = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir, "PATH": path or os.environ["PATH"]}
    if named := os.environ.get(_LEFT_OUT):
        env[_CERTIFICATES] = named
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        why = f"{what} cannot be installed: {error}"
    else:
        why = f"{what} cannot be installed: {ran.stderr[-300:]}" if ran.returncode else ""
    if why:
        failure.write_text(why, encoding="utf-8")
        pytest.skip(why)
    done.touch()
