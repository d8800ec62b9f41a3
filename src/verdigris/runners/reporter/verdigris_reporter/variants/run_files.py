"""Writes the texts of each run into the tree, and removes what each run leaves behind.

A run must not be able to tell which texts it has. So the files have the same size, times and inode in all
runs. Nor may it see that another run came before it. So files in the tree, in HOME and in the temporary
folders are restored, and shared memory, queues, semaphores and processes (see `ready_process`) are removed. A
very large tree and large files are left as they are.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tokenize

_LEAST = 3
"""The least bytes that are added to each text: a line end and the start of a comment."""


class Unwritten(Exception):
    """A test file cannot be changed."""


class Written:
    """The test files, which `write` changes for each run, and `put_back` restores at the end."""

    def __init__(self, root: str, runs: list[dict[str, str]]) -> None:
        self._kept: dict[str, tuple[bytes, os.stat_result]] = {}
        self._runs: list[dict[str, bytes]] = [{} for _ in runs]
        for path in {path for files in runs for path in files}:
            name = os.path.join(root, path)  # noqa: PTH118 - as everywhere here
            try:
                data, encoding, status = _read(name)
                texts = [files[path].encode(encoding, "surrogateescape") for files in runs]
            except (OSError, SyntaxError, UnicodeError, KeyError) as error:
                raise Unwritten(f"{path} cannot be changed: {error}") from None
            self._kept[name] = data, status
            size = max(map(len, texts)) + _LEAST + os.urandom(1)[0] % 32
            for number, text in enumerate(texts):
                self._runs[number][name] = _pad_text(text, size)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kept)

    def write(self, number: int) -> None:
        for name, data in self._runs[number].items():
            self._write_file(name, data)

    def put_back(self) -> None:
        for name, (data, _) in self._kept.items():
            with contextlib.suppress(OSError):
                self._write_file(name, data)

    def _write_file(self, name: str, data: bytes) -> None:
        try:
            with open(name, "r+b") as file:  # noqa: PTH123
                file.write(data)
                file.truncate()
        except OSError as error:
            raise Unwritten(f"{name} cannot be changed: {error}") from None
        for attribute in os.listxattr(name) if hasattr(os, "listxattr") else ():
            with contextlib.suppress(OSError):
                os.removexattr(name, attribute)
        status = self._kept[name][1]
        os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns))


def _read(name: str) -> tuple[bytes, str, os.stat_result]:
    with open(name, "rb") as file:  # noqa: PTH123
        encoding, _ = tokenize.detect_encoding(file.readline)
        file.seek(0)
        return file.read(), "utf-8" if encoding == "utf-8-sig" else encoding, os.stat(name)  # noqa: PTH116


def _pad_text(text: bytes, size: int) -> bytes:
    """Adds a comment at the end, up to the size. Every text gets one, so its length says nothing."""
    text += b"" if text.endswith(b"\n") else b"\n"
    return text + b"#".ljust(size - len(text), b"-")


_FILES, _BYTES, _SMALL = 50_000, 32 << 20, 1 << 18
"""The most files that are looked at, the most bytes that are kept, and the largest file that is kept."""
_QUEUES = {"shm": "shmctl", "msg": "msgctl", "sem": "semctl"}
_SHARED = "/dev/shm"  # noqa: S108 - where POSIX shared memory is


class Leavings:
    """What runs leave behind: files, shared memory, queues and semaphores."""

    def __init__(self, root: str, private: list[str], besides: frozenset[str]) -> None:
        """`private`: folders that only a confined run sees. `besides`: paths that `Written` takes care of.

        If there are no private folders, other programs write here too: then only the tree is cleared.
        """
        self._root = root
        self._besides = besides
        self._alone = bool(private)
        self._known: dict[str, tuple[int, ...] | None] = {}
        self._kept: dict[str, bytes] = {}
        places = [root, *private, *([_SHARED] if private else ())]
        self._places = [place for place in places if self._remember(place)]

    def clear(self) -> None:
        """Restores the files after a run, and removes what is new."""
        found: dict[str, os.stat_result | None] = {}
        for place in self._places:
            self._walk(place, found)
        for path in sorted(found, reverse=True):
            status = found[path]
            if path not in self._known:
                _remove(path)
            elif status is not None and self._known[path] != _signature(status):
                self._restore(path, status)
        for path in self._known.keys() - found.keys():
            self._restore(path, None)
        for path, known in self._known.items():
            if known is not None and stat.S_ISDIR(known[0]):
                with contextlib.suppress(OSError):
                    os.utime(path, ns=(known[1], known[1]))
        if self._alone:
            _clear_queues()

    def _remember(self, place: str) -> bool:
        """Notes the files of a folder; returns False if there are too many."""
        found: dict[str, os.stat_result | None] = {}
        if not self._walk(place, found):
            return False
        left = _BYTES - sum(map(len, self._kept.values()))
        for path, status in found.items():
            self._known[path] = None if status is None else _signature(status)
            if status is not None and stat.S_ISREG(status.st_mode) and status.st_size <= min(_SMALL, left):
                with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
                    self._kept[path] = file.read()
                    left -= status.st_size
        return True

    def _walk(self, folder: str, found: dict[str, os.stat_result | None]) -> bool:
        """Lists the files below a folder; returns False if there are too many.

        Installed ones are listed without status, and what is mounted in a private folder is left out.
        """
        folders = [(folder, False)]
        device = None if folder == self._root else os.lstat(folder).st_dev
        while folders and len(found) < _FILES:
            place, installed = folders.pop()
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                listed = list(entries)
                installed = installed or any(entry.name == "pyvenv.cfg" for entry in listed)
                for entry in listed:
                    if entry.path in self._besides:
                        continue
                    inner = entry.is_dir(follow_symlinks=False)
                    if inner and device not in {None, entry.stat(follow_symlinks=False).st_dev}:
                        continue
                    found[entry.path] = None if installed and not inner else entry.stat(follow_symlinks=False)
                    if inner:
                        folders.append((entry.path, installed or entry.name == "node_modules"))
        return not folders

    def _restore(self, path: str, status: os.stat_result | None) -> None:
        known = self._known[path]
        if known is None:
            return
        mode, mtime, _ = known
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(mode):
                if status is None:
                    os.makedirs(path, exist_ok=True)  # noqa: PTH103
                _remove_attributes(path)
            elif path in self._kept:
                if status is not None:
                    os.unlink(path)  # noqa: PTH108 - which removes its extended attributes too
                os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
                with open(path, "wb") as file:  # noqa: PTH123
                    file.write(self._kept[path])
            os.chmod(path, stat.S_IMODE(mode))  # noqa: PTH101
            os.utime(path, ns=(mtime, mtime))
            self._known[path] = _signature(os.lstat(path))


def _signature(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a run changes a file.

    Each change shows in the change time of a file. That of a folder is left out: it also changes with its
    entries.
    """
    changed = 0 if stat.S_ISDIR(status.st_mode) else status.st_ctime_ns
    return status.st_mode, status.st_mtime_ns, changed


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        (os.rmdir if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink)(path)


def _remove_attributes(path: str) -> None:
    for name in os.listxattr(path, follow_symlinks=False):
        if name.startswith("user."):
            os.removexattr(path, name, follow_symlinks=False)


def _clear_queues() -> None:
    for kind, control in _QUEUES.items():
        with contextlib.suppress(OSError, ValueError), open(f"/proc/sysvipc/{kind}", "rb") as table:  # noqa: PTH123
            for line in table.readlines()[1:]:
                from ..resident.namespaces import remove_queue  # noqa: TID252 - only where there is one

                remove_queue(control, int(line.split()[1]))
