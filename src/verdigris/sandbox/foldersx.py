"""The folders that one room has for itself: made, thrown away, and swept up when their maker was killed."""

# Plain calls, as this is loaded before a head start:
# ruff: noqa: PTH102, PTH103, PTH106, PTH208

from __future__ import annotations

import fcntl
import os

from verdigris.sandbox.discarding import clear
from verdigris.sandbox.places import temporary

PREFIX = "tdd-room."
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PARTS = ("upper", "work", "layer", "control")
_SHARED, _OWN = "own", ("home", "tmp", "cache")


class Folders:
    """`upper` and `work` lie where an overlay may be; HOME and TMPDIR where programs may be executed."""

    def __init__(self, place: str) -> None:
        self._held: dict[str, int] = {}
        try:
            folder = self._made(place)
            usual = temporary()
            own = f"{folder if usual == place else self._made(usual)}/{_SHARED}"
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
        """Another pair like `upper` and `work`."""
        made = f"{self._top}/{os.urandom(4).hex()}"
        os.makedirs(f"{made}/upper")
        os.mkdir(f"{made}/work")
        return f"{made}/upper", f"{made}/work"

    def discard(self) -> None:
        """What a process left over from the run still fills stays, to be swept when that has ended."""
        for folder, lock in self._held.items():
            _remove_if_possible(folder)
            os.close(lock)
        for place in {os.path.dirname(folder) for folder in self._held}:  # noqa: PTH120
            sweep(place)
        self._held.clear()

    def _made(self, place: str) -> str:
        """Ours as long as we live: whoever gets the lock may clear the folder away."""
        while True:
            folder = f"{place}/{PREFIX}{os.urandom(6).hex()}"
            os.mkdir(folder, 0o700)
            lock = _locked(folder)
            if lock is not None and os.path.isdir(folder):  # noqa: PTH112
                self._held[folder] = lock
                return folder
            if lock is not None:
                os.close(lock)


def sweep(place: str) -> None:
    """Rooms whose makers were killed."""
    for name in os.listdir(place):
        if not name.startswith(PREFIX):
            continue
        folder = f"{place}/{name}"
        lock = _locked(folder)
        if lock is not None:
            if not _around_us(folder):
                _remove_if_possible(folder)
            os.close(lock)


def _around_us(folder: str) -> bool:
    """In a room its lock is not seen, since an overlay has locks of its own; what is mounted in it is."""
    own = f"{folder}/{_SHARED}"
    try:
        return os.lstat(own).st_dev != os.lstat(folder).st_dev
    except OSError:
        return False


def _locked(folder: str) -> int | None:
    try:
        held = os.open(folder, _FOLDER)
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
