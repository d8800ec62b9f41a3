"""The log's files on disk: locks them, and changes them so that a failure leaves them as they were."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from verdigris.core.errors import storage_error
from verdigris.storage.lock import acquire
from verdigris.storage.log.light import digest
from verdigris.storage.log.lines import LogHead, decode, parse, render

Look = tuple[int, int, int, int]

LOG = "events.jsonl"
HEAD = "head"
LOCK = "lock"
REPAIRED_HEAD = "head.repaired"
"""The head of a repaired log, until it becomes `head`. It contains the inode of that log."""


LONGEST_COPY = 1 << 12


class LogFiles:
    def __init__(self, control: str) -> None:
        self.control = control

    def path(self, name: str) -> str:
        return os.path.join(self.control, name)

    def rename(self, old: str, new: str) -> None:
        os.replace(self.path(old), self.path(new))

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path(name))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the log alone, without another writer or reader."""
        with storage_errors(self.control):
            os.makedirs(self.control, exist_ok=True)
            lock = self._lock(os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(lock)

    @contextmanager
    def reading(self) -> Iterator[bool]:
        """Holds the log together with other readers; gives False if the log's folder does not exist."""
        lock = self._lock_shared()
        try:
            yield lock is not None or self._exists()
        finally:
            if lock is not None:
                os.close(lock)

    def _exists(self) -> bool:
        with storage_errors(self.control):  # a folder that cannot be read is not a missing one
            try:
                os.stat(self.control)
            except FileNotFoundError:
                return False
            return True

    def _lock_shared(self) -> int | None:
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
            # On a read-only disk there is no writer to wait for.
            with suppress(OSError):
                return self._lock(flags, fcntl.LOCK_SH)
        return None

    def _lock(self, flags: int, operation: int) -> int:
        while True:
            lock = os.open(self.path(LOCK), flags, 0o666)
            try:
                acquire(lock, LOCK, operation=operation)
                if os.path.samestat(os.fstat(lock), os.stat(self.path(LOCK))):
                    return lock
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)  # the file was replaced while we waited: others lock the new one

    @contextmanager
    def open_log(self) -> Iterator[int | None]:
        """Opens the log for reading; None if there is none."""
        with storage_errors(self.control):
            try:
                fd = os.open(self.path(LOG), os.O_RDONLY)
            except FileNotFoundError:
                fd = None
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)

    def look(self) -> Look | None:
        """Facts that change with every write to the log; None if there is no log."""
        try:
            found = os.stat(self.path(LOG))
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns

    def head(self, log: int | None) -> LogHead | None:
        """The head record of the log; raises ValueError if it cannot be read."""
        with storage_errors(self.control):
            stored = self._repaired_head(log) or self._bytes(HEAD)
        return None if stored is None else parse(stored)

    def _repaired_head(self, log: int | None) -> bytes | None:
        """The head that belongs to this log, if a repair was killed before it could replace `head`."""
        head = self._bytes(REPAIRED_HEAD)
        if head is None or log is None:
            return None
        with suppress(ValueError):
            return head if decode(head).get("inode") == os.fstat(log).st_ino else None
        return None

    def _bytes(self, name: str) -> bytes | None:
        try:
            fd = os.open(self.path(name), os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return os.read(fd, 1 << 16)
        finally:
            os.close(fd)

    def replace_head(self, head: LogHead) -> None:
        with storage_errors(self.control), self._remove_failed_head():
            self.put(HEAD + ".new", render(head))
            self.rename(HEAD + ".new", HEAD)

    def settle_repair(self, log: int | None) -> bool:
        """Finishes a repair that was killed, or removes what it prepared. Writes the last line again if that
        alone was cut, and returns whether it was.
        """
        with storage_errors(self.control):
            if self._repaired_head(log) is not None:
                self.rename(REPAIRED_HEAD, HEAD)
            else:
                self.remove(REPAIRED_HEAD)
            return self._mend_last_line()

    def _mend_last_line(self) -> bool:
        """The head record has a copy of the last line. A machine that crashes can lose the line itself."""
        try:
            stored = self._bytes(HEAD) or b""
            head, copy = parse(stored), decode(stored).get("last")
        except ValueError:
            return False
        line = copy.encode("ascii", "replace") + b"\n" if isinstance(copy, str) else b""
        start = head.size - len(line)
        if digest(line[:-1]) != head.hash or start < 0:
            return False
        try:
            fd = os.open(self.path(LOG), os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            left = os.fstat(fd).st_size - start
            cut = 0 <= left < len(line) and os.pread(fd, left, start) == line[:left]
            if cut:
                write_all(fd, line, start)
            return cut
        finally:
            os.close(fd)

    def put(self, name: str, data: bytes, *, sync: bool = False) -> None:
        fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            write_all(fd, data, 0)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def extend(self, head: LogHead, lines: bytes, then: LogHead, *, sync: bool) -> None:
        """Writes lines after the head, and a new head. If that fails, raises StorageError and changes
        nothing.

        The new head is written to the disk first, so that a full disk is noticed before the log is changed.
        """
        with storage_errors(self.control), self._remove_failed_head(), self._cut_back(head.size) as fd:
            self.put(HEAD + ".new", render(then, **_copy_of_last(lines)))
            os.ftruncate(fd, head.size)
            write_all(fd, lines, head.size)
            if sync:
                _sync(fd)
            self.rename(HEAD + ".new", HEAD)

    @contextmanager
    def _remove_failed_head(self) -> Iterator[None]:
        """Removes a new head that could not be put in place."""
        try:
            yield
        except OSError:
            with suppress(OSError):
                self.remove(HEAD + ".new")
            raise

    @contextmanager
    def _cut_back(self, size: int) -> Iterator[int]:
        """Opens the log for writing; cuts it back to this size if that fails."""
        fd = os.open(self.path(LOG), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            yield fd
        except OSError:
            with suppress(OSError):
                os.ftruncate(fd, size)
            raise
        finally:
            os.close(fd)


def _copy_of_last(lines: bytes) -> dict[str, str]:
    """The last line, for the head record; a checkpoint can be long, and is left out then."""
    last = lines[:-1].rpartition(b"\n")[2]
    return {"last": last.decode("ascii")} if len(last) <= LONGEST_COPY else {}


# macOS has no fdatasync.
_sync = getattr(os, "fdatasync", os.fsync)


def write_all(fd: int, data: bytes, offset: int) -> None:
    if os.pwrite(fd, data, offset) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def storage_errors(control: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise storage_error("the log cannot be used, and nothing was changed", error, control) from error
