"""Makes the folders of one room, and removes them, whatever permissions a run gave them."""

from __future__ import annotations

import errno
import fcntl
import os

from verdigris.core.confinement import SHARED_MEMORY, TEMPORARY
from verdigris.sandbox import removal
from verdigris.sandbox.notes import names_in

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable

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
ROOMS = "rooms"
"""The folder of all rooms in the control area. An agent's shell and the runs see an empty folder instead."""
_SEEN = "tdd."
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN = ("home", "tmp", "cache")


class Folders:
    """The folders of one room, in `place`.

    `home`, `tmp` and `cache` are the run's own, and `own` is the folder with them. A confined run sees them
    at other paths: `own` and the others are what the run sees, `kept` is `own` as we see it, and `reports`
    is `cache`. They lie on the disk, because tests may write more than the memory has.
    """

    def __init__(
        self, place: str, *, confined: bool = True, memory: bool = False, lasting: bool = False
    ) -> None:
        """`memory`: the file system of `place` cannot hold the upper layer of an overlay. `lasting`: it may
        be unmounted meanwhile.
        """
        self._held: dict[str, int] = {}
        try:
            folder = self._make_folder(place, _opening(lasting=lasting))
            self.kept = f"{folder}/own"
            self.memory = f"{folder}/memory"
            self._top = self.memory if memory else folder
            self.own = f"{_temporary_inside()}/{_SEEN}{folder.rpartition('.')[2]}" if confined else self.kept
            for name in _OWN:
                os.makedirs(f"{self.kept}/{name}")
            if confined:
                os.mkdir(self.memory)
        except BaseException:
            self.discard()
            raise
        self.home, self.tmp, self.cache = (f"{self.own}/{name}" for name in _OWN)
        self.reports = f"{self.kept}/cache"
        self.layer, self.control = f"{self.memory}/layer", f"{self.memory}/control"

    def pair(self) -> tuple[str, str]:
        """Makes a pair of folders for an overlay, `upper` and `work`; in memory the child makes them."""
        end = os.urandom(4).hex()
        upper, work = (f"{self._top}/{name}.{end}" for name in ("upper", "work"))
        for folder in (upper, work) if self._top != self.memory else ():
            os.mkdir(folder)
        return upper, work

    def discard(self, *, in_time: bool = False) -> None:
        """Removes the folders. One that a process left over from the run still fills is removed by a later
        `sweep`.

        `in_time`: removal may wait for the end of the command, if no later run could read the folders: a
        confined run does not see the control area.
        """
        held, self._held = self._held, {}
        if not (in_time and removal.put_off(held, _remove_rooms)):
            _remove_rooms(held)

    def _make_folder(self, place: str, opening: Callable[[str, int], int]) -> str:
        """Makes a folder and locks it.

        Another process may get the lock first, and then removes the folder.
        """
        while True:
            folder = f"{place}/{PREFIX}{os.urandom(6).hex()}"
            os.makedirs(folder, 0o700)
            lock = _lock_folder(folder, opening)
            if lock is not None and os.path.isdir(folder):
                self._held[folder] = lock
                return folder
            if lock is not None:
                os.close(lock)


def _opening(*, lasting: bool) -> Callable[[str, int], int]:
    if not lasting:
        return os.open
    from verdigris.sandbox.own_mounts import open_apart

    return open_apart


def _remove_rooms(held: dict[str, int]) -> None:
    """Removes rooms. `held`: the locks by folder."""
    for folder, lock in held.items():
        _remove_if_possible(folder)
        os.close(lock)
    for place in {os.path.dirname(folder) for folder in held}:
        sweep(place)


def sweep(place: str) -> None:
    """Removes the rooms whose makers were killed: nobody holds their locks."""
    for name in names_in(place):  # the worktree may have been removed meanwhile
        if not name.startswith(PREFIX):
            continue
        folder = f"{place}/{name}"
        lock = _lock_folder(folder)
        if lock is not None:
            _remove_if_possible(folder)
            os.close(lock)


def outside(place: str, path: str) -> str:
    """Where a path that a run sees in `own` lies, for us. `place`: the folder of all rooms.

    Raises OSError for any other path.
    """
    head = f"{_temporary_inside()}/{_SEEN}"
    top, *rest = path.removeprefix(head).split("/")
    if not path.startswith(head) or ".." in rest:
        raise OSError(errno.EINVAL, "it lies in no room", path)
    return "/".join((f"{place}/{PREFIX}{top}/own", *rest))


def _temporary_inside() -> str:
    """The folder in which a confined run finds its own folders: `entry` mounts a new one there.

    It has a short path, because the path of a socket is limited to about 100 bytes.
    """
    usable = (path for path in TEMPORARY if os.path.isdir(path) and not os.path.islink(path))
    return next(usable, SHARED_MEMORY)


def _lock_folder(folder: str, opening: Callable[[str, int], int] = os.open) -> int | None:
    try:
        held = opening(folder, _OPEN_FOLDER)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(held)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return held


def _remove_if_possible(folder: str) -> None:
    try:
        clear(folder)
        os.rmdir(folder)
    except OSError:
        return
