"""Records which files of the worktree are opened in a room, by Linux' inotify.

The process outside holds the descriptor. The child that makes the room adds the folders, as they are mounted
there. Nothing inside can find or stop it. It gets the names, not the processes that opened them.
"""

from __future__ import annotations

import os
import sys

from verdigris.core.paths import CACHES, ENVIRONMENTS, FILLED, NODE_MODULES
from verdigris.sandbox.syscalls import inotify, unwatch_folder, watch_folder

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_OPEN, _IN_ONLYDIR, _IN_DONT_FOLLOW = 0x20, 0x01000000, 0x02000000
_IN_ISDIR, _IN_Q_OVERFLOW = 0x40000000, 0x4000
_MEANT = _IN_OPEN | _IN_ONLYDIR | _IN_DONT_FOLLOW
_NONBLOCKING = os.O_NONBLOCK | os.O_CLOEXEC
_HEAD = 16
"""Bytes of an event before its name: descriptor, mask, cookie, length."""
_PASSED_OVER = frozenset((".git", NODE_MODULES, *FILLED, *CACHES))
MOST_FOLDERS = 8_192
_NO_MORE = -1
_MOST_SPARE = 4
_spare: list[int] = []
"""Descriptors without folders, for the next rooms: closing one that had folders takes Linux 10 to 20 ms."""
LOST = "not every file that the run opened could be recorded"


class Opens:
    """The files that are opened in one room."""

    def __init__(self) -> None:
        """OSError if the system has no inotify, or no descriptor is left."""
        self._folders = os.memfd_create("folders", os.MFD_CLOEXEC)
        try:
            self.events = _spare.pop() if _spare else inotify(_NONBLOCKING)
        except BaseException:
            os.close(self._folders)
            raise
        self.lost = False

    def watch(self, root: str) -> None:
        """In the child, where the room is mounted: all folders of its own file system but environments."""
        lines: list[str] = []
        try:
            for relative, folder in _walk_folders(root):
                if len(lines) >= MOST_FOLDERS:
                    raise OSError("too many folders")  # noqa: TRY301 - as where the kernel says so
                lines.append(f"{watch_folder(self.events, folder, _MEANT)} {relative}\0")
        except OSError:
            lines.append(f"{_NO_MORE} \0")
        os.write(self._folders, os.fsencode("".join(lines)))

    def opened_paths(self) -> tuple[str, ...]:
        """Relative paths of files, each once."""
        folders = self._read_folders()
        found: dict[str, None] = {}
        while data := self._read():
            at = 0
            while at < len(data):
                number, mask, size = (
                    int.from_bytes(data[at + skip : at + skip + 4], sys.byteorder) for skip in (0, 4, 12)
                )
                name = data[at + _HEAD : at + _HEAD + size].rstrip(b"\0")
                at += _HEAD + size
                self.lost = self.lost or bool(mask & _IN_Q_OVERFLOW)
                if name and not mask & _IN_ISDIR and number in folders:
                    found[folders[number] + os.fsdecode(name)] = None
        return tuple(found)

    def close(self) -> None:
        if len(_spare) < _MOST_SPARE and self._forget_folders():
            _spare.append(self.events)
        else:
            os.close(self.events)
        os.close(self._folders)

    def _forget_folders(self) -> bool:
        """Stops watching; False if the folders are unknown, since the room's child was killed."""
        numbers = self._read_folders().keys() - {_NO_MORE}
        for number in numbers:
            try:
                unwatch_folder(self.events, number)
            except OSError:
                continue  # it went with the room
        while self._read():
            continue
        return bool(numbers)

    def _read(self) -> bytes:
        try:
            return os.read(self.events, 1 << 18)
        except BlockingIOError:
            return b""

    def _read_folders(self) -> dict[int, str]:
        size = os.fstat(self._folders).st_size
        lines = os.fsdecode(os.pread(self._folders, size, 0)).split("\0")[:-1]
        told = {int(number): path for number, _, path in (line.partition(" ") for line in lines)}
        self.lost = self.lost or not told or _NO_MORE in told
        return told


def _close_spare() -> None:
    while _spare:
        os.close(_spare.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_spare)  # else two processes would read from the same one


def _walk_folders(root: str) -> Iterator[tuple[str, str]]:
    """Relative and absolute, the root first; of any depth."""
    device = os.lstat(root).st_dev
    waiting = [("", root)]
    while waiting:
        prefix, folder = waiting.pop()
        yield prefix, folder
        try:
            with os.scandir(folder) as entries:
                waiting += [(f"{prefix}{e.name}/", e.path) for e in entries if _counts(e, device)]
        except OSError:
            continue


def _counts(entry: os.DirEntry[str], device: int) -> bool:
    if entry.name in _PASSED_OVER or not entry.is_dir(follow_symlinks=False):
        return False
    if entry.name in ENVIRONMENTS and os.path.lexists(f"{entry.path}/pyvenv.cfg"):
        return False
    return entry.stat(follow_symlinks=False).st_dev == device
