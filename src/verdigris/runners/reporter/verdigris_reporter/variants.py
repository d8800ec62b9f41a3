"""Leads a run with variants: plain, then each variant, all forked from a process without project code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from .outcomes import Outcomes  # noqa: TID252 - the package has another name when injected
from .preload import load_plugins  # noqa: TID252 - same
from .stem import Stem  # noqa: TID252 - same
from .tries import Tries  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable

    from .channel import Channel  # noqa: TID252 - same

_JUDGED = {0, 1}
"""Exit codes of a plain run after which its variants mean something: passed, and failed."""


class Lead:
    """Runs nothing of the project itself, so that what it says about a variant is its own observation."""

    def __init__(
        self,
        channel: Channel,
        tool: str,
        load: Callable[[], None],
        shadowed: Callable[[], bool],
        start: Callable[[Any], int],
    ) -> None:
        self.channel = channel
        self.tool = tool
        self.load = load
        self.shadowed = shadowed
        self.start = start
        self.settings = channel.settings
        self.variants: list[dict[str, Any]] = self.settings.pop("variants")
        self.seconds = self.settings.pop("variant_seconds")
        self.disposable = self.settings.pop("disposable")
        self.tries = Tries(channel, self.variants)

    def lead(self) -> int | None:
        """The exit code of the plain run; None in the process that shall make it."""
        if not hasattr(os, "fork") or not self.disposable:
            self._give_up("no processes can be forked" if self.disposable else "the tree is not disposable")
            return None
        early = not _may_hide(os.getcwd())  # noqa: PTH109 - without pathlib
        if early:
            self._get_ready()
        ours, theirs = os.pipe()
        plain = os.fork()
        if plain == 0:
            os.close(ours)
            self.channel.own()
            self.settings["names"] = theirs
            return None
        os.close(theirs)
        stem = Stem(self.tries, self.tool, self.start, sys.argv[1:], ours) if early else None
        if stem is None:
            os.close(ours)
            self._get_ready()
        try:
            return self._follow(plain, stem)
        finally:
            if stem is not None:
                stem.end()

    def _follow(self, plain: int, stem: Stem | None) -> int:
        _, status = os.waitpid(plain, 0)
        if os.WIFSIGNALED(status):
            _die_of(os.WTERMSIG(status))
        code = os.WEXITSTATUS(status)
        if code not in _JUDGED:
            self._give_up("the tests themselves did not run to their end")
        elif self.shadowed():
            self._give_up("the project hides a module that the test runner needs")
        else:
            self._try_all(stem)
        return code

    def _give_up(self, why: str) -> None:
        for index in range(len(self.variants)):
            self._tell(index, {"why": why, **Outcomes().told()})

    def _get_ready(self) -> None:
        """Load the runner, and what it loads itself, from the environment alone."""
        path = list(sys.path)
        sys.path[:] = _elsewhere(os.getcwd())  # noqa: PTH109
        self.load()
        if self.tool == "pytest":
            load_plugins()
        sys.path[:] = path

    def _try_all(self, stem: Stem | None) -> None:
        """From the stem; anew from here what did not fail there as honest code does."""
        deadline = time.monotonic() + self.seconds
        unclear = dict.fromkeys(range(len(self.variants)))
        for seen in stem.results(self.seconds) if stem else ():
            if seen.pop("clear"):
                index = seen.pop("index")
                self._tell(index, seen)
                del unclear[index]
        for index in unclear:
            again = self.tries.try_one(index, deadline, stem.private if stem else ())
            if again is None:
                self._make_the_try()
                return
            del again["clear"]
            self._tell(index, again)

    def _make_the_try(self) -> None:
        try:
            self.tries.end(self.start(self.channel.send))
        finally:
            os._exit(0)

    def _tell(self, index: int, seen: dict[str, Any]) -> None:
        self.channel.send("variant", index=index, **seen)


def _may_hide(folder: str) -> bool:
    """Whether a module here has the name of one elsewhere: then the plain run must load pytest for itself."""
    for name in os.listdir(folder):  # noqa: PTH208
        stem, extension = os.path.splitext(name)  # noqa: PTH122
        package = not extension and os.path.exists(os.path.join(folder, name, "__init__.py"))  # noqa: PTH110, PTH118
        if package or extension in {".py", ".so"}:
            found = PathFinder.find_spec(stem.split(".")[0], _elsewhere(folder))
            if found is not None and found.origin is not None:
                return True
    return False


def _elsewhere(folder: str) -> list[str]:
    return [entry for entry in sys.path if entry not in {"", folder}]


def _die_of(number: int) -> None:
    """As the plain run did, so that whoever waits for us sees it."""
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
