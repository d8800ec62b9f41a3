"""Records which files of the worktree are opened in a room, by Linux's inotify.

The process outside holds the descriptor. The child that makes the room adds the folders, as they are mounted
there. A process in the room can neither find nor stop it. It records names, not who opened the files.
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
_EVENTS = _IN_OPEN | _IN_ONLYDIR | _IN_DONT_FOLLOW
_NONBLOCKING = os.O_NONBLOCK | os.O_CLOEXEC
_HEAD = 16
"""The bytes of an event before its name: descriptor, mask, cookie, length."""
_SKIPPED = frozenset((".git", NODE_MODULES, *FILLED, *CACHES))
MOST_FOLDERS = 8_192
_INCOMPLETE = -1
_MOST_SPARE = 4
_spare: list[int] = []
"""Descriptors for the next rooms, which watch no folder now.

Closing one that had folders takes 10 to 20 ms.
"""
LOST = "not every file that the run opened could be recorded"


class Opens:
    """The files that are opened in one room."""

    def __init__(self) -> None:
        """Raises OSError if the system has no inotify, or no descriptor is left."""
        self._folders = os.memfd_create("folders", os.MFD_CLOEXEC)
        try:
            self.events = _spare.pop() if _spare else inotify(_NONBLOCKING)
        except BaseException:
            os.close(self._folders)
            raise
        self.lost = False

    def watch(self, root: str) -> None:
        """Watches all folders on the root's file system but environments.

        Call it in the child, where the room is.
        """
        lines: list[str] = []
        try:
            for relative, folder in _walk_folders(root):
                if len(lines) >= MOST_FOLDERS:
                    raise OSError("too many folders")  # noqa: TRY301 - handled like the kernel's own limit
                lines.append(f"{watch_folder(self.events, folder, _EVENTS)} {relative}\0")
        except OSError:
            lines.append(f"{_INCOMPLETE} \0")
        os.write(self._folders, os.fsencode("".join(lines)))

    def opened_paths(self) -> tuple[str, ...]:
        """Relative paths of the files that were opened, each once."""
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
        """Stops watching. Returns False if the folders are unknown, because the room's child was killed."""
        numbers = self._read_folders().keys() - {_INCOMPLETE}
        for number in numbers:
            try:
                unwatch_folder(self.events, number)
            except OSError:
                continue  # the kernel dropped it with the room
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
        self.lost = self.lost or not told or _INCOMPLETE in told
        return told


def _close_spare() -> None:
    while _spare:
        os.close(_spare.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_spare)  # else two processes would read from the same one


def _walk_folders(root: str) -> Iterator[tuple[str, str]]:
    """All folders that count, as relative and absolute paths, the root first."""
    device = os.lstat(root).st_dev
    waiting = [("", root)]
    while waiting:
        prefix, folder = waiting.pop()
        yield prefix, folder
        try:
            with os.scandir(folder) as entries:
                waiting += [(f"{prefix}{e.name}/", e.path) for e in entries if _is_watched(e, device)]
        except OSError:
            continue


def _is_watched(entry: os.DirEntry[str], device: int) -> bool:
    if entry.name in _SKIPPED or not entry.is_dir(follow_symlinks=False):
        return False
    if entry.name in ENVIRONMENTS and os.path.lexists(f"{entry.path}/pyvenv.cfg"):
        return False
    return entry.stat(follow_symlinks=False).st_dev == device
