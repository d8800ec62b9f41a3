"""Removes the folders of rooms after a command has answered.

A room has a dozen folders, and some file systems wait for the disk at each that is removed: 2 to 3 ms where
ext4 discards what it frees. So a short command leaves them to a process that outlives it, with their locks.
When that is killed, they are swept as the rooms of every killed command are.
"""

# Plain calls, as this is loaded by every short command:
# ruff: noqa: PTH112, PTH208

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Held = dict[str, int]
    """Folders, each with the descriptor of its lock."""

MOST = 16
"""Folders that wait: a command with many rooms removes the others as it goes, for the sake of the disk."""
_STANDARD = 3
_POLITE = 10
_DESCRIPTORS = ("/proc/self/fd", "/dev/fd")


class _Waiting:
    """The folders that this process removes at its end."""

    def __init__(self) -> None:
        self.allowed = False
        self.held: Held = {}
        self.remove: Callable[[Held], None] = dict.clear


_waiting = _Waiting()


def allow() -> None:
    """From here on folders may wait: the caller has to call `remove_behind` at the end."""
    _waiting.allowed = True


def put_off(held: Held, remove: Callable[[Held], None]) -> bool:
    """Whether these folders wait for the end of the process; otherwise the caller removes them."""
    if not _waiting.allowed or len(_waiting.held) + len(held) > MOST:
        return False
    _waiting.held |= held
    _waiting.remove = remove
    return True


def remove_behind() -> None:
    """Starts what removes the folders that wait; where it cannot be started, they are removed here."""
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
        os.setsid()
        os.nice(_POLITE)
        _let_go_of_all_but(held.values())
        _waiting.remove(held)
    finally:
        os._exit(0)


def _let_go_of_all_but(kept: Iterable[int]) -> None:
    """Closes our descriptors, so that nobody waits for this process who waits for the end of our output."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(_STANDARD):
        os.dup2(nowhere, number)
    folder = next(folder for folder in _DESCRIPTORS if os.path.isdir(folder))
    for number in {int(name) for name in os.listdir(folder)}.difference(range(_STANDARD), kept):
        try:
            os.close(number)
        except OSError:
            continue  # the one that listed them
