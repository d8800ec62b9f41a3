"""A process in which the runner is ready and nothing of the project is loaded: runs branch off from it.

It does not know which texts there are. Whoever leads the runs writes them, and tells it when to branch.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
from typing import TYPE_CHECKING, Any

from .. import code_loading  # noqa: TID252 - the package has another name when injected
from ..preload import from_the_environment, load_plugins, preload  # noqa: TID252 - same
from ..tracing import start as start_tracing  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..channel import Channel  # noqa: TID252 - same


RUN, TRACED, STOP = b"r", b"t", b"s"
_GENERATIONS = 50
_HEAD = 4
"""Bytes in which a frame tells its length; one of length 0 says that the run has ended."""


class ReadyProcess:
    def __init__(
        self,
        channel: Channel,
        tool: str,
        load: Callable[[], None],
        start: Callable[[Any], int],
        known: list[str] | None,
        watched: dict[str, Any],
    ) -> None:
        """`known`: modules of the environment to load beforehand; None: not even the runner.
        `watched`: what is set otherwise in a run that is traced.
        """
        self._channel = channel
        self._tool = tool
        self._watched = watched
        self._told, tell = os.pipe()
        asked, self._ask = os.pipe()
        self._rest = b""
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._told)
                os.close(self._ask)
                channel.leave(_settings(channel.settings))
                self._grow(load, start, known, asked, tell)
            finally:
                os._exit(1)
        os.close(tell)
        os.close(asked)

    def is_ready(self, seconds: float) -> bool:
        """Whether it could load what it should."""
        with contextlib.suppress(OSError, EOFError):
            return self._frame(lambda: seconds) == b""
        return False

    def messages(self, kind: bytes, deadline: Callable[[], float]) -> Iterator[bytes]:
        """The lines that one run writes until it ends; None of them when the time is over."""
        os.write(self._ask, kind)
        rest = b""
        while True:
            data = self._frame(deadline)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from lines

    def stop(self) -> None:
        """The run that goes on; what it wrote meanwhile is lost."""
        with contextlib.suppress(OSError):
            os.write(self._ask, STOP)
            while self._frame(lambda: 60):
                pass

    def end(self) -> None:
        os.close(self._ask)
        os.close(self._told)
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def _frame(self, left: Callable[[], float]) -> bytes:
        """Empty at the end of a run; OSError when the time is over or the process is gone."""
        head = self._exactly(_HEAD, left)
        return self._exactly(int.from_bytes(head, "big"), left)

    def _exactly(self, size: int, left: Callable[[], float]) -> bytes:
        while len(self._rest) < size:
            if not select.select([self._told], [], [], max(0, left()))[0]:
                raise TimeoutError
            data = os.read(self._told, 1 << 16)
            if not data:
                raise EOFError
            self._rest += data
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _grow(
        self,
        load: Callable[[], None],
        start: Callable[[Any], int],
        known: list[str] | None,
        asked: int,
        tell: int,
    ) -> None:
        _silence()
        tracer = None

        def branch() -> None:
            nonlocal tracer
            traced = _branch(self._channel, asked, tell)
            code_loading.take(self._channel.settings)
            if traced:
                self._channel.settings.update(self._watched)
                tracer = start_tracing(self._channel.settings)

        if known is None:
            branch()
        else:
            self._get_ready(load, known, branch)
        code = start(self._channel.send)
        for path, lines in (tracer.stop() if tracer else {}).items():
            self._channel.send("lines", path=path, lines=sorted(lines))
        self._channel.send("end", code=code)
        os._exit(0)

    def _get_ready(self, load: Callable[[], None], known: list[str], branch: Callable[[], None]) -> None:
        with from_the_environment():
            load()
            if self._tool == "pytest":
                load_plugins()
                # Not there, or standing on the project itself: then each run must load it for itself.
                __import__("pytest")
        if self._tool == "pytest":
            __import__("verdigris_reporter.plugin")
        preload(known)
        if self._tool == "pytest":
            _branch_in_pytest(branch)
        else:
            branch()


def _branch_in_pytest(branch: Callable[[], None]) -> None:
    """Where it is about to load the first plugin that is not its own."""
    from _pytest import config

    manager_type: Any = config.PytestPluginManager
    load = manager_type.consider_preparse

    def branching(manager: Any, args: Any, *, exclude_only: bool = False) -> None:
        if not exclude_only:
            manager_type.consider_preparse = load
            branch()
        load(manager, args, exclude_only=exclude_only)

    manager_type.consider_preparse = branching


def _branch(channel: Channel, asked: int, tell: int) -> bool:
    """Returns in the process of a run only; whether it is to be traced."""
    with contextlib.suppress(OSError, ImportError, AttributeError):
        from ..resident.namespaces import adopt_orphans  # noqa: TID252 - it needs what not every system has

        adopt_orphans()
    gc.collect()
    gc.freeze()
    _write(tell, bytes(_HEAD))
    while True:
        kind = os.read(asked, 1)
        if not kind:
            os._exit(0)
        if kind == STOP:
            continue
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            for fd in (ours, asked, tell):
                os.close(fd)
            channel.divert(theirs)
            return kind == TRACED
        os.close(theirs)
        _relay(child, ours, asked, tell)


def _relay(child: int, fd: int, asked: int, tell: int) -> None:
    """What the run writes, in frames that it cannot make itself; nothing of it is kept here."""
    while asked not in select.select([fd, asked], [], [])[0]:
        data = os.read(fd, 1 << 16)
        if not data:
            break
        _write(tell, len(data).to_bytes(_HEAD, "big") + data)
    else:
        if os.read(asked, 1) == b"":
            os.kill(child, signal.SIGKILL)
            os._exit(0)
    os.close(fd)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    _end_orphans()
    _write(tell, bytes(_HEAD))


def _end_orphans() -> None:
    """What the run left running; they have become our children."""
    for _ in range(_GENERATIONS):
        try:
            with open("/proc/thread-self/children") as children:  # noqa: PTH123
                left = [int(word) for word in children.read().split()]
        except OSError:
            return
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The same in every run of the set."""
    kept: dict[str, Any] = {name: given[name] for name in ("worktree", "select", "withheld") if name in given}
    return {**kept, "fresh": True, "single": True}


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
