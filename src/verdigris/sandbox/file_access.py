"""Which files of the worktree a run opened, and which protected paths it tried to change.

Linux tells what is opened. The process outside holds the descriptor, and the child that makes the room says
which folders are meant, as they are mounted there. Nothing inside can find or silence it. It tells names, not
who asked. What a run changed lies in the upper folders of the room's overlays.
"""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH112, PTH114, PTH115, PTH208
from __future__ import annotations

import os
import stat
import sys

from verdigris.core.paths import CACHES, ENVIRONMENTS, FILLED, NODE_MODULES, PathClass
from verdigris.languages.folders import walk_tree
from verdigris.sandbox.folders import opened_anyway
from verdigris.sandbox.syscalls import inotify, unwatch_folder, watch_folder

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.sandbox.confinement import Confinement


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
"""Without folders, for the next rooms: to close one that had some waits until Linux has forgotten them, which
takes 10 to 20 ms.
"""
LOST = "not every file that the run opened could be heard of"


class Opens:
    """The files that are opened in one room."""

    def __init__(self) -> None:
        """OSError where there is no such thing, or none is left."""
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
        """Whether nothing more will be heard; a room whose child was killed does not say what it watches."""
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
    os.register_at_fork(after_in_child=_close_spare)  # else two processes would hear by the same one


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


_KERNELS_OWN = ".git/tdd/"
_SWITCHES_OF_GIT = (_KERNELS_OWN, ".git/hooks/")
"""All the rest of `.git` is written by reading it, as `git status` does."""
_CACHES = frozenset({"__pycache__", ".hypothesis", ".pytest_cache"})
_OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")


def report(confinement: Confinement, classify: Callable[[str], PathClass]) -> tuple[str, ...]:
    """Protected paths, relative to the root, that the run wrote or deleted, in order.

    A file that has been opened for writing and is as it was does not count, nor do caches. What it wrote
    into a decoy goes by the name of the kernel's own folder.
    """
    changed = set(_changed_paths(confinement))
    for path in confinement.removed:
        changed.difference_update(_missing_files(confinement, path))
    counting = {path for path in changed if _is_reported(path, classify)}
    for decoy, _ in confinement.decoys:
        counting.update(_KERNELS_OWN + file for file in _written_below(decoy))
    return tuple(sorted(counting))


def _is_reported(path: str, classify: Callable[[str], PathClass]) -> bool:
    if path.startswith(".git/"):
        return path.startswith(_SWITCHES_OF_GIT)
    parts = path.split("/")
    name = parts[-1]
    if name.endswith(".pyc") or name == ".coverage" or name.startswith(".coverage."):
        return False
    return not _CACHES.intersection(parts) and classify(path) is not PathClass.OTHER


def _written_below(folder: str) -> Iterator[str]:
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for name in _names(folder, prefix):
            path = prefix + name
            if _is_folder(f"{folder}/{path}"):
                waiting.append(f"{path}/")
            else:
                yield path


def _changed_paths(confinement: Confinement) -> Iterator[str]:
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for name in _names(confinement.upper, prefix):
            path = prefix + name
            if _is_folder(f"{confinement.upper}/{path}"):
                waiting.append(f"{path}/")
            yield from _changed_at(confinement, path)


def _changed_at(confinement: Confinement, path: str) -> Iterator[str]:
    written, below = f"{confinement.upper}/{path}", _found_before(confinement, path)
    if _is_folder(written):
        if _opaque(written) or not _is_folder(below):
            yield from _missing_files(confinement, path)
    elif _whiteout(written) or _is_folder(below):
        yield from _missing_files(confinement, path)
        if not _whiteout(written):
            yield path
    elif not _is_same(written, below):
        yield path


def _names(upper: str, prefix: str) -> list[str]:
    folder = opened_anyway(f"{upper}/{prefix}")
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def _found_before(confinement: Confinement, path: str) -> str:
    """What the run found at a path before it wrote there."""
    found = (f"{layer}/{path}" for layer in confinement.laid)
    return next((name for name in found if os.path.lexists(name)), f"{confinement.root}/{path}")


def _missing_files(confinement: Confinement, path: str) -> Iterator[str]:
    """The files at or below a path that the run found, and that are there no more."""
    for layer in (*confinement.laid, confinement.root):
        for file in _files(layer, path):
            written = f"{confinement.upper}/{file}"
            if not os.path.lexists(written) or _is_folder(written) or _whiteout(written):
                yield file


def _files(layer: str, path: str) -> Iterator[str]:
    if not _is_folder(f"{layer}/{path}"):
        if os.path.lexists(f"{layer}/{path}"):
            yield path
        return
    for folder, _, files in walk_tree(f"{layer}/{path}"):
        for name in files:
            yield f"{folder}/{name}"[len(layer) + 1 :]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _whiteout(path: str) -> bool:
    """How an overlay writes down that a file is deleted."""
    status = os.lstat(path)
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _opaque(folder: str) -> bool:
    """A folder put in the place of another one, of which nothing shows any more."""
    return bool(set(_OPAQUE) & set(os.listxattr(folder, follow_symlinks=False)))


def _is_same(written: str, below: str) -> bool:
    import filecmp

    try:
        new, old = os.lstat(written), os.lstat(below)
        if new.st_mode != old.st_mode:
            return False
        if stat.S_ISLNK(new.st_mode):
            return os.readlink(written) == os.readlink(below)
        return stat.S_ISREG(new.st_mode) and filecmp.cmp(written, below, shallow=False)
    except OSError:
        return False
