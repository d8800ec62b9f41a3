"""Locks a file, so that only one process at a time works; names the holder if it has to wait."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError, UserError, storage_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

POLL_SECONDS = 0.01
SILENT_SECONDS = 2.0
MOST = 4096
SHOWN = 60
"""The most characters of a command that are shown."""
_deadline: float | None = None


@contextmanager
def hold_lock(path: Path, *, wait: float | None = None) -> Iterator[int]:
    """Holds the lock at `path` and gives its descriptor. `wait`: the most seconds to wait; None: no limit.

    A child that inherits the descriptor keeps the lock when its parent is killed, so that no other process
    gets it while an orphan still writes.
    """
    descriptor = _open_lock(path)
    try:
        acquire(descriptor, path.name, wait)
        with suppress(OSError):  # on a full disk the holder's name is missing, but the lock is held
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def hold_alone(path: Path, why: str, hint: str, *, wait: float | None = 0) -> Iterator[None]:
    """Holds the lock, or raises a UserError at once: `why`, with the holder, and the `hint`."""
    held = hold_lock(path, wait=wait)
    try:
        held.__enter__()
    except UserError as error:
        raise UserError(f"{why}: {error.message}", hint=hint) from None
    try:
        yield
    finally:
        held.__exit__(None, None, None)


def is_held(path: Path) -> bool:
    """Whether another process holds the lock now; a lock that cannot be opened counts as free."""
    if not path.exists():
        return False
    try:
        with hold_lock(path, wait=0):
            return False
    except StorageError:
        return False
    except UserError:
        return True


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise storage_error(f"cannot open the lock {path}", error, path.parent) from error


def acquire(descriptor: int, name: str, wait: float | None = None, operation: int = fcntl.LOCK_EX) -> None:
    """Waits for a lock. A longer wait names the holder on stderr; `answer_within` limits every wait."""
    started = time.monotonic()
    limits = [limit for limit in (None if wait is None else started + wait, _deadline) if limit is not None]
    told = False
    while not _take(descriptor, operation):
        now = time.monotonic()
        if limits and now >= min(limits):
            raise _busy(descriptor, name)
        if not told and now - started >= SILENT_SECONDS:
            told = True
            os.write(
                2, f"tdd: waiting for {holder(descriptor)} to end (it holds the lock `{name}`)\n".encode()
            )
        time.sleep(POLL_SECONDS)


def answer_within(seconds: float) -> None:
    """Limits every wait for a lock: a hook has to answer before its client stops it."""
    global _deadline  # noqa: PLW0603 - of this process, which is one call
    _deadline = time.monotonic() + seconds


def seconds_left() -> float | None:
    """The seconds until this process has to answer; None: it may take as long as it likes."""
    return None if _deadline is None else _deadline - time.monotonic()


def holder(descriptor: int) -> str:
    """The process that holds a lock on the file, by the system's list; the file's text may be outdated."""
    found = os.fstat(descriptor)
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    with suppress(OSError), open("/proc/locks", encoding="ascii") as locks:
        for line in locks:
            words = line.split()
            if file in words and "FLOCK" in words and "->" not in words:
                return _describe_process(int(words[4]))
    noted = os.pread(descriptor, 32, 0).strip()
    return _describe_process(int(noted)) if noted.isdigit() else "another process"


def _describe_process(pid: int) -> str:
    """Names a process, with its command in short where it still runs."""
    command = ""
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        command = shorten(file.read(MOST).decode(errors="replace").split("\0"))
    return f"process {pid}" + (f" ({command})" if command else "")


_OURS = {"tdd": "tdd", "verdigris": "tdd", "__main__": "tdd", "entry": "hook"}


def shorten(argv: Sequence[str]) -> str:
    """The command as a person would type it: one of ours without its interpreter, none with its folder."""
    names = [word.rpartition("/")[2] for word in argv]
    ours = ((at, _OURS.get(name.partition(".")[0])) for at, name in enumerate(names))
    at, name = next(((at, name) for at, name in ours if name), (0, names[0] if names else ""))
    words = [name, *argv[at + 1 :]]
    shown = " ".join(" ".join(words).split())
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"


def _take(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in {errno.EAGAIN, errno.EACCES}:
            raise
        return False
    return True


def _busy(descriptor: int, name: str) -> UserError:
    who = holder(descriptor)
    return UserError(
        f"{who} is at work here (it holds the lock `{name}`)", hint=f"wait for {who} to end, then try again"
    )
