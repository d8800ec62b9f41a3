"""Opens a folder that is ours whatever mode a run gave it, and never by way of a link."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH101

from __future__ import annotations

import os

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def opened_anyway(name: str, parent: int | None = None) -> int:
    """The overlay leaves its own work folder with mode 0, and a test may do the same.

    By descriptor, since a process left over from the run may put a link where the folder was.
    """
    try:
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    except PermissionError:
        held = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{held}", 0o700)
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    finally:
        os.close(held)
