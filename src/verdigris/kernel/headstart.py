"""A head start: the user's interpreter loads pytest while we are still getting ready to use it.

Nothing of the project runs in it before the run's greeting comes, and one that is not needed is killed.
"""

from __future__ import annotations

import os

from verdigris.kernel.starting import Started, start

TYPE_CHECKING = False  # see starting.py
if TYPE_CHECKING:
    from pathlib import Path

CHANNEL = "VERDIGRIS_CHANNEL"
EAGER = "VERDIGRIS_EAGER"
NOTE = "headstart"
"""The folder and the words of the command, parted by NUL: reading it imports nothing."""

_waiting: dict[tuple[str, ...], Started] = {}
"""By folder and command; at most one."""


def begin(folder: str) -> None:
    """Start what the last run in this worktree started; any doubt is a reason not to."""
    try:
        with open(os.path.join(_private(folder), NOTE), "rb") as file:  # noqa: PTH118, PTH123 - before pathlib
            cwd, *argv = os.fsdecode(file.read()).split("\0")
        started = start(argv, cwd, {**os.environ, EAGER: "1"}, CHANNEL)
    except (OSError, ValueError, IndexError):
        return
    _waiting[cwd, *argv] = started


def take(argv: tuple[str, ...], cwd: str) -> Started | None:
    """The waiting process, if it is the one that would be started now."""
    started = _waiting.pop((cwd, *argv), None)
    if started is not None and started.child.poll() is not None:
        started.end()
        return None
    return started


def cancel() -> None:
    while _waiting:
        _waiting.popitem()[1].end()


def remember(private: Path, argv: tuple[str, ...], cwd: str) -> None:
    """For the next command; only saves time, so a disk that refuses it is no matter."""
    words = os.fsencode("\0".join((cwd, *argv)))
    try:
        note = private / NOTE
        if not note.is_file() or note.read_bytes() != words:
            fresh = private / f"{NOTE}.{os.getpid()}"
            fresh.write_bytes(words)
            fresh.replace(note)
    except OSError:
        return


def _private(folder: str) -> str:
    """Of the main worktree, found without more than a look upwards."""
    while not os.path.isdir(os.path.join(folder, ".git")):  # noqa: PTH112, PTH118 - before pathlib
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            raise FileNotFoundError(folder)
        folder = above
    return os.path.join(folder, ".git", "tdd", "worktrees", "main")  # noqa: PTH118
