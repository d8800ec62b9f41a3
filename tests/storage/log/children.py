"""Forked children, children that die at the n-th thing they do to the disk, and what was read from it."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from verdigris.storage.log import files

CALLS = [
    (fcntl, "flock"),
    (files, "_sync"),
    *((os, name) for name in ("open", "pwrite", "ftruncate", "replace", "unlink", "link", "fsync")),
]


def start(work: Callable[[], object]) -> int:
    """Run in a child, which exits with 0 or prints its traceback and exits with 1."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - nothing may leave the child and run on as a second pytest
        traceback.print_exc()
    finally:
        os._exit(status)


def outcome(pid: int) -> int:
    """The exit code; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def at_call(number: int, strike: Callable[[Any, Any], None]) -> Iterator[None]:
    """`strike(call, arguments)` comes in place of the n-th call that touches the disk."""
    calls = count(1)

    def struck(call: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if next(calls) == number:
                strike(call, args)
            return call(*args, **kwargs)

        return wrapper

    with pytest.MonkeyPatch.context() as patched:
        for module, name in CALLS:
            patched.setattr(module, name, struck(getattr(module, name)))
        yield


@contextmanager
def bytes_read() -> Iterator[list[int]]:
    """How much each read of the log brought."""
    sizes: list[int] = []
    pread = os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        data = pread(fd, size, offset)
        sizes.append(len(data))
        return data

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "pread", counted)
        yield sizes


def die(call: Any, args: Any) -> None:
    """Killed before the call; in the middle of it, where it is a write."""
    if call.__name__ == "pwrite":
        fd, data, offset = args
        call(fd, data[: len(data) // 2], offset)
    os.kill(os.getpid(), signal.SIGKILL)


def fail(call: Any, args: Any) -> None:
    """A full disk: half of a write may still find room."""
    if call.__name__ == "pwrite":
        fd, data, offset = args
        call(fd, data[: len(data) // 2], offset)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def deaths(work: Callable[[], object], prepare: Callable[[], object]) -> Iterator[int]:
    """Kill a child at its first call, another at its second, until one lives; after each, the number."""
    for number in count(1):
        prepare()

        def doomed(number: int = number) -> None:
            with at_call(number, die):
                work()

        status = outcome(start(doomed))
        assert status in {0, -signal.SIGKILL}
        yield number
        if status == 0:
            return
