"""A process in which the runner is ready and nothing of the project is loaded: tries branch off from it.

It grows while the plain run goes on, and loads from the environment what that has loaded.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from .preload import preload  # noqa: TID252 - the package has another name when injected
from .tries import Tries, silence  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GRACE = 5
"""Seconds after which a stem that should have ended is left alone."""
_REPORTERS = {"pytest": "verdigris_reporter.plugin", "unittest": "verdigris_reporter.cases.running"}


class Stem:
    def __init__(
        self, tries: Tries, tool: str, start: Callable[[Any], int], argv: list[str], names: int
    ) -> None:
        """`argv`: of the plain run; `names`: a descriptor from which that tells what it has loaded."""
        self._tool = tool
        self._tries = tries
        self._argv = argv
        self._names = names
        self._told, self._tell = os.pipe()
        self._asked, self._ask = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._grow(start)
            finally:
                os._exit(1)
        for fd in (self._tell, self._asked, names):
            os.close(fd)

    def results(self, seconds: float) -> Iterator[dict[str, Any]]:
        """What was seen of the variants: of all, unless it ended early or could not go on."""
        with contextlib.suppress(OSError):
            os.write(self._ask, json.dumps(seconds).encode("ascii") + b"\n")
        deadline = time.monotonic() + seconds + _GRACE
        rest = b""
        while select.select([self._told], [], [], max(0, deadline - time.monotonic()))[0]:
            data = os.read(self._told, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)

    @property
    def private(self) -> tuple[int, ...]:
        return self._told, self._ask

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._told)
        os.close(self._ask)

    def _grow(self, start: Callable[[Any], int]) -> None:
        silence()
        if self._tool == "pytest":
            self._branch_in_pytest()
        else:
            self._branch()
        self._tries.end(start(self._tries.channel.send))

    def _branch_in_pytest(self) -> None:
        """Where it is about to load the first plugin that is not its own."""
        from _pytest import config

        manager_type: Any = config.PytestPluginManager
        load = manager_type.consider_preparse

        def branching(manager: Any, args: Any, *, exclude_only: bool = False) -> None:
            if not exclude_only:
                manager_type.consider_preparse = load
                self._branch()
                self._retarget(args)
            load(manager, args, exclude_only=exclude_only)

        manager_type.consider_preparse = branching

    def _branch(self) -> None:
        """Returns in the child of a try only."""
        __import__(_REPORTERS[self._tool])
        os.close(self._told)
        os.close(self._ask)
        loaded = self._load()
        asked = os.read(self._asked, 64)
        deadline = time.monotonic() + (json.loads(asked) if asked else 0)
        gc.freeze()
        for index in range(len(self._tries.variants)):
            seen = self._tries.try_one(index, deadline, (self._tell, self._asked, self._names))
            if seen is None:
                return
            told = json.dumps({**seen, "index": index, "clear": seen["clear"] or not loaded})
            _write(self._tell, told.encode("ascii") + b"\n")
        os._exit(0)

    def _load(self) -> int:
        """What the plain run has loaded, if it says so in time."""
        told = b""
        while not told.endswith(b"\n"):
            ready = select.select([self._names, self._asked], [], [])[0]
            data = os.read(self._names, 1 << 16) if self._names in ready else b""
            if not data:
                return 0
            told += data
        return preload([str(name) for name in json.loads(told)])

    def _retarget(self, args: Any) -> None:
        """From the files of the plain run to those of this try, behind what the configuration adds."""
        if isinstance(args, list) and args[-len(self._argv) :] == self._argv:
            args[-len(self._argv) :] = sys.argv[1:]


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
