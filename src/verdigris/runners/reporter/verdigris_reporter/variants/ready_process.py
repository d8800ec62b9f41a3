"""A process with the test runner loaded and nothing of the project. Each run of a set is forked from it.

It does not know the texts of the test files. The leader of the runs writes them, and says when to fork.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
from typing import TYPE_CHECKING, Any

from .. import code_loading, tracing  # noqa: TID252 - the package has another name when injected
from ..preload import installed_imports_only, load_plugins, preload  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..channel import Channel  # noqa: TID252 - same


RUN, TRACED, STOP = b"r", b"t", b"s"
_GENERATIONS = 50
"""How often orphans are looked for: each round may orphan the children of those that it killed."""
_HEAD = 4
"""The bytes of a frame's length.

A frame of length 0 means that the process is ready, or that the run has ended.
"""


class ReadyProcess:
    """The leader's handle of the process."""

    def __init__(
        self,
        channel: Channel,
        tool: str,
        load: Callable[[], None],
        start: Callable[[Any], int],
        known: list[str] | None,
        watched: dict[str, Any],
    ) -> None:
        """`known`: installed modules to load in advance; None: load nothing, not even the runner.

        `watched`: settings that a traced run has instead.
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
                channel.leave(_run_settings(channel.settings))
                self._serve_runs(load, start, known, asked, tell)
            finally:
                os._exit(1)
        os.close(tell)
        os.close(asked)

    def is_ready(self, seconds: float) -> bool:
        """Waits for the process; returns whether it could load what it should."""
        with contextlib.suppress(OSError, EOFError):
            return self._read_frame(lambda: seconds) == b""
        return False

    def messages(self, kind: bytes, select: list[str], deadline: Callable[[], float]) -> Iterator[bytes]:
        """Starts a run of these tests and yields the lines that it writes until it ends.

        Raises TimeoutError when the time is up.
        """
        names = json.dumps(select).encode("ascii")
        _write(self._ask, kind + len(names).to_bytes(_HEAD, "big") + names)
        rest = b""
        while True:
            data = self._read_frame(deadline)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from lines

    def stop(self) -> None:
        """Stops the current run; what it has written and nobody has read is lost."""
        with contextlib.suppress(OSError):
            os.write(self._ask, STOP)
            while self._read_frame(lambda: 60):
                pass

    def end(self) -> None:
        os.close(self._ask)
        os.close(self._told)
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def _read_frame(self, left: Callable[[], float]) -> bytes:
        """Reads a frame; it is empty at the end of a run.

        Raises TimeoutError when the time is up, and EOFError when the process has ended.
        """
        head = self._read_exactly(_HEAD, left)
        return self._read_exactly(int.from_bytes(head, "big"), left)

    def _read_exactly(self, size: int, left: Callable[[], float]) -> bytes:
        while len(self._rest) < size:
            if not select.select([self._told], [], [], max(0, left()))[0]:
                raise TimeoutError
            data = os.read(self._told, 1 << 16)
            if not data:
                raise EOFError
            self._rest += data
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _serve_runs(
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
            traced, self._channel.settings["select"] = _branch(self._channel, asked, tell)
            code_loading.withhold_texts(self._channel.settings)
            if traced:
                self._channel.settings.update(self._watched)
                tracer = tracing.start(self._channel.settings, windows=self._tool == "pytest")

        if known is None:
            branch()
        else:
            self._get_ready(load, known, branch)
        code = start(self._channel.send)
        if tracer is not None:
            tracing.report(tracer, self._channel.send)
        self._channel.send("end", code=code)
        os._exit(0)

    def _get_ready(self, load: Callable[[], None], known: list[str], branch: Callable[[], None]) -> None:
        with installed_imports_only():
            load()
            if self._tool == "pytest":
                load_plugins()
                # Fails if pytest is missing or needs modules of the project: then each run loads it itself.
                __import__("pytest")
        if self._tool == "pytest":
            __import__("verdigris_reporter.plugin")
        preload(known)
        if self._tool == "pytest":
            _branch_in_pytest(branch)
        else:
            branch()


def _branch_in_pytest(branch: Callable[[], None]) -> None:
    """Has pytest fork when it is about to load the first plugin that is not its own."""
    from _pytest import config

    manager_type: Any = config.PytestPluginManager
    load = manager_type.consider_preparse

    def branch_and_load(manager: Any, args: Any, *, exclude_only: bool = False) -> None:
        if not exclude_only:
            manager_type.consider_preparse = load
            branch()
        load(manager, args, exclude_only=exclude_only)

    manager_type.consider_preparse = branch_and_load


def _branch(channel: Channel, asked: int, tell: int) -> tuple[bool, list[str]]:
    """Forks a run for each request. It returns only in the process of a run: whether that is to be traced,
    and the ids of its tests.
    """
    with contextlib.suppress(OSError, ImportError, AttributeError):
        from ..resident.namespaces import adopt_orphans  # noqa: TID252 - it needs Linux

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
        names = _read(asked, int.from_bytes(_read(asked, _HEAD), "big"))
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            for fd in (ours, asked, tell):
                os.close(fd)
            channel.divert(theirs)
            return kind == TRACED, json.loads(names)
        os.close(theirs)
        _relay(child, ours, asked, tell)


def _relay(child: int, fd: int, asked: int, tell: int) -> None:
    """Passes on what the run writes, in frames, which the run itself cannot forge; keeps nothing of it."""
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
    """Kills the processes that the run left. They have become our children (`adopt_orphans`)."""
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


def _run_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run: the same in every run of the set."""
    kept: dict[str, Any] = {name: given[name] for name in ("worktree", "select", "withheld") if name in given}
    return {**kept, "fresh": True, "single": True}


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


def _read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
