"""Makes the folders of one room, and removes them, whatever permissions a run gave them."""

# `os` calls on `str` instead of pathlib: this runs between fork and exec.
# ruff: noqa: PTH101, PTH102, PTH103, PTH106, PTH208

from __future__ import annotations

import fcntl
import os

from verdigris.sandbox import removal
from verdigris.sandbox.entry import TEMPORARY, temporary

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_anyway(name: str, parent: int | None = None) -> int:
    """Opens a folder even if its mode is 0: the overlay leaves its work folder so, and a test may do the
    same.

    It changes the mode by a descriptor, since a process left over from the run may put a link at the path.
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


_DEEP = 100
"""The depth from which folders are moved up: each level needs a descriptor and a call of ours."""
_ROUNDS = 20
"""How often a folder is cleared: a process left over from the run may go on writing."""


def clear(folder: str) -> None:
    """Removes all that is in a folder."""
    top = open_anyway(folder)
    try:
        os.fchmod(top, 0o700)
        for _ in range(_ROUNDS):
            for name in os.listdir(top):
                _remove(name, top, top, 0)
            if not os.listdir(top):
                return
    finally:
        os.close(top)


def _remove(name: str, parent: int, top: int, depth: int) -> None:
    """Removes a file or folder.

    A folder that lies very deep is moved to the top, where the next round removes it.
    """
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        if depth == _DEEP:
            os.rename(name, os.urandom(16).hex(), src_dir_fd=parent, dst_dir_fd=top)
            return
        folder = open_anyway(name, parent)
        try:
            os.fchmod(folder, 0o700)
            for inner in os.listdir(folder):
                _remove(inner, folder, top, depth + 1)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=parent)


PREFIX = "tdd-room."
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PARTS = ("upper", "work", "layer", "control")
_UNSEEN = tuple(f"{folder}/" for folder in TEMPORARY)
_SHARED, _OWN = "own", ("home", "tmp", "cache")


class Folders:
    """The folders of one room.

    `upper` and `work` lie where an overlay can be, HOME and TMPDIR where programs can run.
    """

    def __init__(self, place: str) -> None:
        self._held: dict[str, int] = {}
        try:
            folder = self._make_folder(place)
            usual = temporary()
            own = f"{folder if usual == place else self._make_folder(usual)}/{_SHARED}"
            for name in _PARTS:
                os.mkdir(f"{folder}/{name}")
            for name in _OWN:
                os.makedirs(f"{own}/{name}")
        except BaseException:
            self.discard()
            raise
        self._top = folder
        self.upper, self.work, self.layer, self.control = (f"{folder}/{name}" for name in _PARTS)
        self.own = own
        self.home, self.tmp, self.cache = (f"{own}/{name}" for name in _OWN)

    def shadow(self) -> tuple[str, str]:
        """Makes another pair of folders like `upper` and `work`."""
        made = f"{self._top}/{os.urandom(4).hex()}"
        os.makedirs(f"{made}/upper")
        os.mkdir(f"{made}/work")
        return f"{made}/upper", f"{made}/work"

    def discard(self, *, in_time: bool = False) -> None:
        """Removes the folders. One that a process left over from the run still fills is removed by a later
        `sweep`.

        `in_time`: removal may wait for the end of the command, if no later run could read the folders: runs
        do not see the machine's temporary folders.
        """
        held, self._held = self._held, {}
        unseen = all(folder.startswith(_UNSEEN) for folder in held)
        if not (in_time and unseen and removal.put_off(held, _remove_rooms)):
            _remove_rooms(held)

    def _make_folder(self, place: str) -> str:
        """Makes a folder and locks it.

        Another process may get the lock first, and then removes the folder.
        """
        while True:
            folder = f"{place}/{PREFIX}{os.urandom(6).hex()}"
            os.mkdir(folder, 0o700)
            lock = _lock_folder(folder)
            if lock is not None and os.path.isdir(folder):  # noqa: PTH112
                self._held[folder] = lock
                return folder
            if lock is not None:
                os.close(lock)


def _remove_rooms(held: dict[str, int]) -> None:
    """Removes rooms. `held`: the locks by folder."""
    for folder, lock in held.items():
        _remove_if_possible(folder)
        os.close(lock)
    for place in {os.path.dirname(folder) for folder in held}:  # noqa: PTH120
        sweep(place)


def sweep(place: str) -> None:
    """Removes the rooms whose makers were killed: nobody holds their locks."""
    for name in os.listdir(place):
        if not name.startswith(PREFIX):
            continue
        folder = f"{place}/{name}"
        lock = _lock_folder(folder)
        if lock is not None:
            if not _is_around_us(folder):
                _remove_if_possible(folder)
            os.close(lock)


def _is_around_us(folder: str) -> bool:
    """Whether we run in this room.

    Its lock does not say so: an overlay has locks of its own. Its mounts do.
    """
    own = f"{folder}/{_SHARED}"
    try:
        return os.lstat(own).st_dev != os.lstat(folder).st_dev
    except OSError:
        return False


def _lock_folder(folder: str) -> int | None:
    try:
        held = os.open(folder, _OPEN_FOLDER)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


def _remove_if_possible(folder: str) -> None:
    try:
        clear(folder)
        os.rmdir(folder)
    except OSError:
        return
