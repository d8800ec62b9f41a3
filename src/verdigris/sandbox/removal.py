"""Removes the folders of rooms after a command has answered.

A room has a dozen folders, and some file systems wait for the disk when a folder is removed: 2 to 3 ms for
ext4 with `discard`. So a short command leaves its folders, with their locks, to a process that lives longer.
If that is killed, a later command removes them, like the rooms of any killed command.
"""

from __future__ import annotations

import os

from verdigris.sandbox.process_table import detach

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable

    Held = dict[str, int]
    """Folders, each with the descriptor of its lock."""

MOST = 16
"""The most folders that may wait.

A command with more rooms removes the others at once, to save disk space.
"""
_POLITE = 10


class _Waiting:
    """The folders that are removed at the end of this process."""

    def __init__(self) -> None:
        self.allowed = False
        self.held: Held = {}
        self.remove: Callable[[Held], None] = dict.clear


_waiting = _Waiting()


def allow() -> None:
    """Allows folders to wait. The caller has to call `remove_behind` at its end."""
    _waiting.allowed = True


def put_off(held: Held, remove: Callable[[Held], None]) -> bool:
    """Lets folders wait for the end of the process.

    Returns False if they cannot: the caller then removes them.
    """
    if not _waiting.allowed or len(_waiting.held) + len(held) > MOST:
        return False
    _waiting.held |= held
    _waiting.remove = remove
    return True


def remove_behind() -> None:
    """Forks a process that removes the waiting folders; if that fails, removes them here."""
    held, _waiting.held, _waiting.allowed = _waiting.held, {}, False
    if not held:
        return
    try:
        if os.fork():
            return
    except OSError:
        _waiting.remove(held)
        return
    try:
        detach(set(held.values()))
        os.nice(_POLITE)
        _waiting.remove(held)
    finally:
        os._exit(0)
