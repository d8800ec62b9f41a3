"""One process at a time: a lock on a file, held until its holder and the children given it have ended."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POLL_SECONDS = 0.01


@contextmanager
def locked(path: Path, *, wait: float | None = None) -> Iterator[int]:
    """Hold the lock at `path` and give its descriptor; `wait` in seconds, None for as long as it takes.

    A child that inherits the descriptor keeps the lock when its parent is killed, so that nobody
    comes in while an orphan still writes.
    """
    descriptor = _open(path)
    try:
        _acquire(descriptor, path, wait)
        with suppress(OSError):  # on a full disk nobody is told who holds it, and it is held all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(
            f"cannot open the lock {path}: {error.strerror}", hint="make that folder writable and try again"
        ) from error


def _acquire(descriptor: int, path: Path, wait: float | None) -> None:
    if wait is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.EAGAIN, errno.EACCES}:
                raise
        else:
            return
        if time.monotonic() >= deadline:
            raise _busy(descriptor, path)
        time.sleep(POLL_SECONDS)


def _busy(descriptor: int, path: Path) -> UserError:
    holder = os.pread(descriptor, 32, 0).strip()
    who = f"process {holder.decode()}" if holder.isdigit() else "another process"
    return UserError(f"{who} is using {path.name}", hint=f"wait for {who} to end, then try again")
