"""The part of a room that is in memory: a tmpfs in the run's own namespace, which no other process can reach.

It holds the layer, because no folder in the worktree can lie over the worktree, and the worktree's control
area is where the rest of the room lies. It also holds what the run writes, where that file system cannot.
The process outside hands the layer's files over in a nameless file. It gets a descriptor of the memory back,
by which it reads what the run wrote; the memory is freed with that descriptor.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys

from verdigris.core.paths import EXECUTABLE, LINK
from verdigris.sandbox.syscalls import mount

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Iterable

_REMOVED = "removed"
_AS_NOW = -1
_PIECE = 1 << 20
_NUMBER = 4
_LONGEST = 8192
"""The most bytes of a head: a path, and a few numbers."""


class Memory:
    """`folder`: the mount point, an empty folder. Paths below it lead into the memory, in the child only."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._files = os.memfd_create("layer", os.MFD_CLOEXEC)
        self._ours, self._theirs = _socket.socketpair()
        self._top: int | None = None

    def add(self, path: str, mode: str, pieces: Iterable[bytes], time: int | None = None) -> None:
        """Adds a file to the layer. `time`: its modification time in nanoseconds; None: now."""
        head = os.lseek(self._files, 0, os.SEEK_CUR)
        name = os.fsencode(path)
        os.write(self._files, _head(mode, 0, time, name))
        size = sum(os.write(self._files, piece) for piece in pieces)
        os.pwrite(self._files, _head(mode, size, time, name), head)

    def remove(self, path: str) -> None:
        """Has the layer hide a path."""
        self.add(path, _REMOVED, ())

    def mount(self, folders: Iterable[str], layer: str = "") -> None:
        """Mounts the memory, with those of the folders that lie in it, and the layer: in the child."""
        mount("tmpfs", self.folder, "tmpfs", 0, "mode=700")
        for folder in filter(self.holds, folders):
            os.makedirs(folder)
        if layer:
            self._lay(os.fsencode(layer))
        top = os.open(self.folder, os.O_PATH | os.O_CLOEXEC)
        beside = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, top.to_bytes(_NUMBER, sys.byteorder))]
        self._theirs.sendmsg([b"."], beside)
        os.close(top)

    def holds(self, path: str) -> bool:
        return path.startswith(f"{self.folder}/")

    def is_made(self) -> bool:
        """Whether the child has mounted it."""
        if self._top is None:
            self._top = self._receive()
        return self._top is not None

    def outside(self, path: str) -> str:
        """A path by which this process reaches what is at that path for the child."""
        return f"/proc/self/fd/{self._top}{path[len(self.folder) :]}" if self.holds(path) else path

    def close(self) -> None:
        if self.is_made() and self._top is not None:
            os.close(self._top)
        os.close(self._files)
        self._ours.close()
        self._theirs.close()

    def _receive(self) -> int | None:
        try:
            _, beside, *_ = self._ours.recvmsg(1, _socket.CMSG_SPACE(_NUMBER), _socket.MSG_DONTWAIT)
        except OSError:
            return None
        return next((int.from_bytes(data[:_NUMBER], sys.byteorder) for *_, data in beside), None)

    def _lay(self, layer: bytes) -> None:
        end = os.lseek(self._files, 0, os.SEEK_CUR)
        at = 0
        while at < end:
            mode, size, time, path = _read_head(os.pread(self._files, _LONGEST, at))
            at += len(_head(mode, size, time, path))
            place = layer + b"/" + path
            os.makedirs(os.path.dirname(place), exist_ok=True)
            self._write(place, mode, at, size)
            if time is not None:
                os.utime(place, ns=(time, time), follow_symlinks=False)
            at += size

    def _write(self, place: bytes, mode: str, at: int, size: int) -> None:
        if mode == LINK:
            os.symlink(os.pread(self._files, size, at), place)
        elif mode == _REMOVED:
            _white_out(place)
        else:
            permissions = 0o755 if mode == EXECUTABLE else 0o644
            file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions)
            while size:
                sent = os.write(file, os.pread(self._files, min(size, _PIECE), at))
                at, size = at + sent, size - sent
            os.close(file)


def _head(mode: str, size: int, time: int | None, path: bytes) -> bytes:
    return f"{mode} {size:020} {_AS_NOW if time is None else time} ".encode("ascii") + path + b"\0"


def _read_head(data: bytes) -> tuple[str, int, int | None, bytes]:
    mode, size, time, path = data[: data.index(b"\0")].split(b" ", 3)
    return mode.decode("ascii"), int(size), None if int(time) == _AS_NOW else int(time), path


def _white_out(path: bytes) -> None:
    """Marks a name as removed, in the way of an overlay; if that is not permitted, makes an empty file."""
    try:
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
    except FileExistsError:
        return
    except OSError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444))
