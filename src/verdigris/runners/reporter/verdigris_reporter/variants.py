"""Leads a run with variants: plain, then each variant, all forked from a process without project code."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
import tokenize
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from .outcomes import Outcomes  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .channel import Channel  # noqa: TID252 - same

_SPENT = "no time was left"
_JUDGED = {0, 1}
"""Exit codes of a plain run after which its variants mean something: passed, and failed."""


class Lead:
    """Runs nothing of the project itself, so that what it says about a variant is its own observation."""

    def __init__(
        self,
        channel: Channel,
        load: Callable[[], None],
        shadowed: Callable[[], bool],
        start: Callable[[Any], int],
    ) -> None:
        self.channel = channel
        self.load = load
        self.shadowed = shadowed
        self.start = start
        self.settings = channel.settings
        self.variants: list[dict[str, Any]] = self.settings.pop("variants")
        self.seconds = self.settings.pop("variant_seconds")
        self.disposable = self.settings.pop("disposable")

    def lead(self) -> int | None:
        """The exit code of the plain run; None in the process that shall make it."""
        if not hasattr(os, "fork") or not self.disposable:
            self._give_up("no processes can be forked" if self.disposable else "the tree is not disposable")
            return None
        early = not _may_hide(os.getcwd())  # noqa: PTH109 - without pathlib
        if early:
            self._get_ready()
        plain = os.fork()
        if plain == 0:
            self.channel.own()
            return None
        if not early:
            self._get_ready()
        _, status = os.waitpid(plain, 0)
        if os.WIFSIGNALED(status):
            _die_of(os.WTERMSIG(status))
        code = os.WEXITSTATUS(status)
        if code not in _JUDGED:
            self._give_up("the tests themselves did not run to their end")
        elif self.shadowed():
            self._give_up("the project hides a module that pytest needs")
        else:
            self._try_all()
        return code

    def _give_up(self, why: str) -> None:
        for index in range(len(self.variants)):
            self._tell(index, Outcomes(), why)

    def _get_ready(self) -> None:
        """Load pytest with its own plugins, from the environment alone."""
        path = list(sys.path)
        sys.path[:] = _elsewhere(os.getcwd())  # noqa: PTH109
        self.load()
        with contextlib.suppress(Exception):  # a plugin that cannot be loaded here will say so in the run
            from _pytest.config import default_plugins

            for name in ("pdb", "_pytest._argcomplete", *(f"_pytest.{name}" for name in default_plugins)):
                __import__(name)
        sys.path[:] = path

    def _try_all(self) -> None:
        gc.freeze()
        deadline = time.monotonic() + self.seconds
        for index, variant in enumerate(self.variants):
            if time.monotonic() >= deadline:
                self._tell(index, Outcomes(), _SPENT)
                continue
            outcomes = Outcomes(variant["files"])
            try:
                with _written(self.settings["worktree"], variant["files"], index):
                    why = self._try(variant, outcomes, deadline)
            except _Unwritten as error:
                why = str(error)
            self._tell(index, outcomes, why)

    def _tell(self, index: int, outcomes: Outcomes, why: str) -> None:
        self.channel.send("variant", index=index, why=why, **outcomes.told())

    def _try(self, variant: dict[str, Any], outcomes: Outcomes, deadline: float) -> str:
        """Why tests are missing from the outcomes, if any are."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(ours)
                self._run(variant, theirs)
            finally:
                os._exit(0)
        os.close(theirs)
        try:
            return _listen(ours, outcomes, deadline)
        finally:
            os.close(ours)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _run(self, variant: dict[str, Any], fd: int) -> None:
        settings = {
            "worktree": self.settings["worktree"],
            "fresh": self.settings.get("fresh", False),
            "select": variant["select"],
            "single": True,
        }
        self.channel.divert(fd, settings)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (1, 2):
            os.dup2(nowhere, standard)
        sys.argv[1:] = variant["argv"]
        self.channel.send("end", code=self.start(self.channel.send))


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


class _Unwritten(Exception):
    """A file that cannot be changed."""


@contextlib.contextmanager
def _written(root: str, files: dict[str, str], index: int) -> Iterator[None]:
    """The files as the variant has them; each time a version of its own to whoever keeps byte code."""
    kept = []
    try:
        for path, text in files.items():
            name = os.path.join(root, path)  # noqa: PTH118 - as everywhere here
            try:
                kept.append(_write(name, text, index))
            except (OSError, SyntaxError, UnicodeError) as error:
                raise _Unwritten(f"{path} cannot be changed: {error}") from None
        yield
    finally:
        for name, data, status in kept:
            with open(name, "wb") as file:  # noqa: PTH123
                file.write(data)
            os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns))


def _write(name: str, text: str, index: int) -> tuple[str, bytes, os.stat_result]:
    with open(name, "rb") as file:  # noqa: PTH123
        encoding, _ = tokenize.detect_encoding(file.readline)
        file.seek(0)
        kept = name, file.read(), os.stat(name)  # noqa: PTH116
    data = text.encode("utf-8" if encoding == "utf-8-sig" else encoding, "surrogateescape")
    with open(name, "r+b") as file:  # noqa: PTH123
        file.truncate()
        file.write(data)
    seconds = int(kept[2].st_mtime) + 60 * (index + 1)
    os.utime(name, (seconds, seconds))
    return kept


def _listen(fd: int, outcomes: Outcomes, deadline: float) -> str:
    rest = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return _SPENT
        data = os.read(fd, 1 << 16)
        if not data:
            return outcomes.why or "the run ended early"
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                message = json.loads(line)
                if message["kind"] == "end":
                    return outcomes.why
                outcomes.take(message)


def _die_of(number: int) -> None:
    """As the plain run did, so that whoever waits for us sees it."""
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
