"""Keeps the temporary files of a whole run of the suite in memory: a disk took a quarter of its CPU time.

In a mount namespace of our own, a tmpfs lies over the temporary folder, under the same name. It vanishes with
the last process of the run, and nobody else sees it. Where that is not possible, or would hide what a test
needs, nothing changes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from verdigris.sandbox.confinement import mount_tmpfs
from verdigris.sandbox.syscalls import CLONE_NEWNS, MS_PRIVATE, MS_REC, mount, unshare

ON_DISK = "SUITE_ON_DISK"
"""The variable to set if you want to look at the files of a failed test afterwards."""
ENOUGH = 8 << 20
"""Kilobytes of memory that must be free; the suite writes about one gigabyte."""


def take_own_mounts() -> bool:
    """Give this worker mounts of its own; answers whether that worked.

    Then no worker sees what another one mounts. A sandbox in a user namespace cannot show a temporary folder
    in which something else is mounted.
    """
    if os.geteuid() != 0:
        return False
    try:
        unshare(CLONE_NEWNS)
        mount(None, "/", None, MS_REC | MS_PRIVATE)
    except OSError:
        return False
    return True


def move_temporary_files_into_memory() -> bool:
    """Mount a tmpfs over the temporary folder; answers whether that worked.

    Call it before the first process starts that shall share the folder."""
    folder = Path(tempfile.gettempdir()).resolve()
    if (
        os.environ.get(ON_DISK)
        or _free_memory() < ENOUGH
        or hides(folder, _needed())
        or not take_own_mounts()
    ):
        return False
    try:
        mount_tmpfs(str(folder), 0o1777)
    except OSError:
        return False
    return True


def hides(folder: Path, needed: Iterable[str]) -> bool:
    """Whether one of these paths lies in the folder and exists; the folder itself does not count."""
    paths = (Path(path).resolve() for path in needed if path.startswith("/"))
    return any(folder in path.parents and path.exists() for path in paths)


def _needed() -> list[str]:
    """Our working folder, the folders of our modules, and all paths in the environment."""
    named = (part for text in os.environ.values() for part in text.split(os.pathsep))
    return [str(Path.cwd()), sys.prefix, sys.base_prefix, __file__, *sys.path, *sys.argv, *named]


def _free_memory() -> int:
    rows = Path("/proc/meminfo").read_text().splitlines()
    return next((int(row.split()[1]) for row in rows if row.startswith("MemAvailable:")), 0)
