"""Forks and executes a program; `subprocess` does as much, and takes as long to load as a head start wins."""

# Loaded before a head start, and names stay `str`:
# ruff: noqa: PTH208

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations first
import errno
import os
import sys

TYPE_CHECKING = False  # see starting.py
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

_STANDARD = 3
_NOT_EXECUTED = 127
_ASKED = b"?"
_IGNORED_BY_PYTHON = (_signal.SIGPIPE, _signal.SIGXFSZ)
_DESCRIPTORS = ("/proc/self/fd", "/dev/fd")


class Child:
    """`output` is our end of what it writes; `returncode` is that of `subprocess`, None before the end."""

    __slots__ = ("output", "pid", "returncode")

    def __init__(self, pid: int, output: int) -> None:
        self.pid = pid
        self.output = output
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._reaped(os.WNOHANG)

    def wait(self) -> int:
        code = self._reaped(0)
        assert code is not None  # noqa: S101 - it was waited for
        return code

    def ended(self) -> bool:
        """Without reaping, so that its number stays the group's until the group is gone."""
        if self.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end_of(self) -> int | None:
        """A new descriptor that can be read from when it has ended, where the system has such."""
        return os.pidfd_open(self.pid) if sys.platform == "linux" else None

    def _reaped(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def spawn(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    kept: int | None,
    prepare: Callable[[Callable[[], None]], None],
    ids: Mapping[str, str],
) -> Child:
    """In a session of its own, with an empty input and one pipe for all output; raises what kept it from it.

    `kept` is the one other descriptor that the program is given. `prepare` is called in the child before it,
    with what it may call to have `ids` written into its maps, which only a process outside of it can do.
    """
    output, theirs = os.pipe()
    said, tell = os.pipe()
    wait, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go)
        _become(argv, cwd, env, theirs, kept, _Voice(tell, wait), prepare)
    for descriptor in (theirs, tell, wait):
        os.close(descriptor)
    child = Child(pid, output)
    heard = os.read(said, 16)  # ends at the exec
    if heard == _ASKED:
        _map(pid, ids, go)
    os.close(go)
    failure = os.read(said, 16) if heard == _ASKED else heard
    os.close(said)
    if failure:
        child.wait()
        os.close(output)
        raise OSError(int(failure), os.strerror(int(failure)), argv[0])
    return child


def _map(pid: int, ids: Mapping[str, str], go: int) -> None:
    """Where it cannot be done the child is not told to go on, and ends."""
    try:
        for name, lines in ids.items():
            written = os.open(f"/proc/{pid}/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(written, lines.encode())
            finally:
                os.close(written)
    except OSError:
        return
    os.write(go, b".")


class _Voice:
    """How a child speaks to the one outside before the exec ends it."""

    def __init__(self, tell: int, wait: int) -> None:
        self.tell = tell
        self.wait = wait

    def ask(self) -> None:
        os.write(self.tell, _ASKED)
        if not os.read(self.wait, 1):
            raise OSError("its ids could not be set")


def _become(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    output: int,
    kept: int | None,
    voice: _Voice,
    prepare: Callable[[Callable[[], None]], None],
) -> NoReturn:
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(cwd)
        prepare(voice.ask)
        for number in _IGNORED_BY_PYTHON:
            _signal.signal(number, _signal.SIG_DFL)
        _close_all_but({voice.tell, kept})
        if kept is not None:
            os.set_inheritable(kept, True)
        os.execvpe(argv[0], list(argv), env)  # noqa: S606 - whoever calls has chosen the program
    except (OSError, ValueError) as error:  # the latter for a NUL in a word
        os.write(voice.tell, str(getattr(error, "errno", None) or errno.EINVAL).encode())
    finally:
        os._exit(_NOT_EXECUTED)


def _close_all_but(kept: set[int | None]) -> None:
    """One by one: where their number is not limited, to count through them takes minutes."""
    folder = next(folder for folder in _DESCRIPTORS if os.path.isdir(folder))  # noqa: PTH112
    for descriptor in map(int, os.listdir(folder)):
        if descriptor >= _STANDARD and descriptor not in kept:
            try:
                os.close(descriptor)
            except OSError:
                continue  # the one that listed them
