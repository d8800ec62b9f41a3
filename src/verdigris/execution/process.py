"""Runs one command with limits of time and of kept output, and leaves none of its processes running."""

from __future__ import annotations

import os
import select
import selectors
import signal
import sys
import time
from _socket import SHUT_WR  # `socket` makes enums of all its numbers first
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from verdigris.core.errors import ToolMissing
from verdigris.core.value import field, mutable, value
from verdigris.execution.children import Child, Started, start
from verdigris.sandbox.syscalls import PR_SET_CHILD_SUBREAPER, prctl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


KEPT = 64 * 1024
"""The bytes of output that are kept at the start and at the end."""
LONGEST_LINE = 4 * 1024 * 1024
MOST_CHANNEL = 64 * 1024 * 1024
GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL, and for reading what is left in a pipe after its writer has ended."""
_CHUNK = 256 * 1024
_TICK = 0.02
_PAUSE_MS, _FEW = 4, 4096
"""After so few bytes the next ones may gather: a test tool writes hundreds of short messages one by one."""
PATIENCE = 10.0
"""Seconds in which all descendants must be killed."""


@value
class Command:
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    channel_env: str | None = None
    """The variable that gives the child the number of its channel's descriptor; None: there is no channel."""
    hello: bytes = b""
    """The bytes that the child reads from the channel, up to their end, before it writes."""
    confine: Callable[[], object] | None = None
    """Called in the child before its program runs."""


@value
class Finished:
    exit_code: int | None
    signal: int | None
    timed_out: bool
    output: bytes
    """Standard output and error, interleaved; the middle of a very long output is left out."""
    channel: bytes
    """The bytes of the channel; empty if the lines were given to `on_line`."""
    duration_ms: int


class _Sink(Protocol):
    def feed(self, data: bytes) -> None: ...


@mutable
class _Ends:
    """The first and the last bytes of a stream."""

    kept: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def feed(self, data: bytes) -> None:
        room = self.kept - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room > 0 else data
        if len(self.tail) > 2 * self.kept:
            self.dropped += len(self.tail) - self.kept
            del self.tail[: -self.kept]

    def bytes(self) -> bytes:
        gap = b"\n... %d bytes left out ...\n" % self.dropped if self.dropped else b""
        return bytes(self.head) + gap + bytes(self.tail)


@mutable
class _Whole:
    """All bytes of a stream, up to a limit."""

    data: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> None:
        self.data += data[: MOST_CHANNEL - len(self.data)]


@mutable
class _Lines:
    """A stream, line by line, as the lines come."""

    on_line: Callable[[bytes], None]
    rest: bytes = b""

    def feed(self, data: bytes) -> None:
        *lines, rest = (self.rest + data).split(b"\n")
        self.rest = rest[:LONGEST_LINE]
        for line in lines:
            self.on_line(line[:LONGEST_LINE])

    def close(self) -> None:
        if self.rest:
            self.on_line(self.rest)


def run(
    command: Command,
    *,
    timeout: float,
    on_line: Callable[[bytes], None] | None = None,
    started: Started | None = None,
    kept: int = KEPT,
) -> Finished:
    """Runs a command. Waits for its own process only, then kills the rest of its process group.

    `started`: a process of this command that runs already. `kept`: instead of `KEPT`, for a tool whose output
    is its report.
    """
    begun = time.monotonic()
    output, channel = _Ends(kept), _Whole() if on_line is None else _Lines(on_line)
    started = started or _start(command)
    try:
        conversation = _RunningProcess(started, command.hello, output, channel)
        timed_out = conversation.read_until(begun + timeout)
    finally:
        started.end()
    if isinstance(channel, _Lines):
        channel.close()
    code = started.child.wait()
    return Finished(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        timed_out=timed_out,
        output=output.bytes(),
        channel=bytes(channel.data) if isinstance(channel, _Whole) else b"",
        duration_ms=round((time.monotonic() - begun) * 1000),
    )


def _start(command: Command) -> Started:
    try:
        return start(command.argv, str(command.cwd), command.env, command.channel_env, command.confine)
    except OSError as error:
        raise _missing_program(command, error) from error


def _missing_program(command: Command, error: OSError) -> ToolMissing:
    if not command.cwd.is_dir():
        return ToolMissing(
            f"the folder {command.cwd} to run in is gone",
            hint="make it, or correct the stack's `root` in tdd.yaml",
        )
    tool = command.argv[0]
    if isinstance(error, FileNotFoundError):
        return ToolMissing(f"{tool} cannot be found", hint=f"install {tool}, or put it on PATH")
    return ToolMissing(f"{tool} cannot be executed: {error.strerror}", hint="give a program that runs here")


@mutable
class _RunningProcess:
    """A running process with its greeting, its output and its channel."""

    started: Started
    hello: bytes
    output: _Sink
    channel: _Sink
    selector: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)

    def read_until(self, deadline: float) -> bool:
        """Reads until the child has ended, or ends it at the deadline; returns whether it was ended so."""
        with self.selector, _end_of(self.started.child) as end:
            self._register_streams()
            if end is not None:
                self.selector.register(end, selectors.EVENT_READ)
            timed_out = not self._read_while_running(deadline, end)
            if timed_out:
                self.started.signal(signal.SIGTERM)
                self._read_while_running(time.monotonic() + GRACE, end)
                self.started.signal(signal.SIGKILL)
            if end is not None:
                self.selector.unregister(end)
            self._drain(time.monotonic() + GRACE)
        return timed_out

    def _register_streams(self) -> None:
        os.set_blocking(self.started.child.output, False)
        self.selector.register(self.started.child.output, selectors.EVENT_READ, self.output)
        if self.started.ours is not None:
            self.selector.register(
                self.started.ours, selectors.EVENT_READ | selectors.EVENT_WRITE, self.channel
            )

    def _read_while_running(self, deadline: float, end: int | None) -> bool:
        only_end = select.poll()
        if end is not None:
            only_end.register(end, select.POLLIN)
        while not self.started.child.has_ended():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if not self.selector.get_map():
                time.sleep(min(left, _TICK))
            if 0 < self._handle_events(min(left, _TICK)) < _FEW and end is not None:
                only_end.poll(_PAUSE_MS)
        return True

    def _drain(self, deadline: float) -> None:
        """Reads what is left.

        All that the child wrote is in the pipes, but a grandchild may write on for ever.
        """
        while self.selector.get_map() and time.monotonic() < deadline:
            if not self._handle_events(0):
                return

    def _handle_events(self, wait: float) -> int:
        """Returns how many bytes were read."""
        count = 0
        for key, events in self.selector.select(wait):
            if events & selectors.EVENT_WRITE:
                self._send_greeting()
            if events & selectors.EVENT_READ and key.data is not None:
                count += self._read(key)
        return count

    def _read(self, key: selectors.SelectorKey) -> int:
        try:
            data = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if data:
            key.data.feed(data)
        else:
            self.selector.unregister(key.fileobj)
        return len(data)

    def _send_greeting(self) -> None:
        assert self.started.ours is not None  # noqa: S101 - only a registered channel gets here
        try:
            self.hello = self.hello[self.started.ours.send(self.hello) :]
            if not self.hello:
                self.started.ours.shutdown(SHUT_WR)
        except BlockingIOError:
            return
        except OSError:
            self.hello = b""
        if not self.hello:
            self.selector.modify(self.started.ours, selectors.EVENT_READ, self.channel)


@contextmanager
def _end_of(child: Child) -> Iterator[int | None]:
    """Yields a descriptor that wakes the selector when the child ends; None if the system has none."""
    end = child.end_of()
    try:
        yield end
    finally:
        if end is not None:
            os.close(end)


class Descendants:
    """All processes that are started from now on, with their own children.

    A process that loses its parent becomes our child, so that killing our children reaches all of them. No
    other part of our program may start a process meanwhile. This works on Linux only.
    """

    def __init__(self) -> None:
        self._others: set[int] = set()
        if sys.platform == "linux":
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            self._others = _children()

    def end(self) -> bool:
        """Kills them all; true if none is left."""
        if sys.platform != "linux":
            return True
        try:
            return self._kill()
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0)

    def _kill(self) -> bool:
        deadline = time.monotonic() + PATIENCE
        while left := _children() - self._others:
            if time.monotonic() > deadline:
                return False
            for pid in left:
                os.kill(pid, signal.SIGKILL)  # no other process gets its number until we wait for it
            for pid in left:
                os.waitpid(pid, 0)
        return True


def _children() -> set[int]:
    mine = str(os.getpid())
    return {int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if _parent(pid) == mine}


def _parent(pid: str) -> str:
    from verdigris.sandbox.processes import stat_fields

    try:
        return stat_fields(pid)[1].decode()
    except OSError:
        return ""
