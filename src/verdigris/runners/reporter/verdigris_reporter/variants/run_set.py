"""Leads a set of runs with different texts of some files. Each text is run once, in a fork of one process.

This process does not know which text is the true one; a process that runs code of the project even less so.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from .ready_process import RUN, TRACED, ReadyProcess  # noqa: TID252 - same
from .run_files import Leavings, Unwritten, Written  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..channel import Channel  # noqa: TID252 - same


SPENT, ENDLESS = "no time was left", "it did not end in its time"
_READY = 120.0
"""Seconds in which the test runner must be loaded; code of the project is not involved."""
_EARLY = "the run ended early"


class RunSet:
    """Runs no code of the project itself, so that no such code can change what it reports about a run."""

    def __init__(
        self, channel: Channel, tool: str, load: Callable[[], None], start: Callable[[Any], int]
    ) -> None:
        self.channel = channel
        self.tool = tool
        self.load = load
        self.start = start
        self.runs: dict[str, Any] = channel.settings.pop("runs")
        self.watched = {"trace": channel.settings.pop("trace", []), "select": self.runs.pop("watched")}
        self._deadline = 0.0

    def run(self) -> int:
        """Makes all runs and reports them; returns the exit code."""
        version = ".".join(map(str, sys.version_info[:3]))
        here = os.getcwd()  # noqa: PTH109 - without pathlib
        self.channel.send("start", python=version, rootdir=here, collect_only=False)
        self.channel.send("collected", ids=[])
        if not hasattr(os, "fork") or not self.runs["disposable"]:
            members = json.loads(self.channel.read_rest())
            why = "the tree is not disposable" if hasattr(os, "fork") else "no processes can be forked"
            self._give_up(len(members), why)
        else:
            self._make_runs()
        self.channel.send("end", code=0)
        return 0

    def _make_runs(self) -> None:
        known = None if self.runs["bare"] or _hides_installed(os.getcwd()) else self.runs["preload"]  # noqa: PTH109
        process = self._start_process(known)
        if not process.is_ready(_READY):
            process.end()
            process = self._start_process(None)
            process.is_ready(_READY)
        _close_memory()
        # Read only now: otherwise the ready process, and so every run, would have the texts in its memory.
        members: list[tuple[dict[str, str], list[str]]] = json.loads(self.channel.read_rest())
        self._deadline = time.monotonic() + self.runs["seconds"]
        try:
            written = Written(self.channel.settings["worktree"], [files for files, _ in members])
        except Unwritten as error:
            self._give_up(len(members), str(error))
            process.end()
            return
        root, private = self.channel.settings["worktree"], self.runs["private"]
        leavings = Leavings(root, private, frozenset(written.names))
        try:
            for number, (files, select) in enumerate(members):
                self._make_run(process, written, number, Outcomes(files, select))
                leavings.clear()
        finally:
            written.put_back()
        if self.watched["trace"] and time.monotonic() < self._deadline:
            seen = Outcomes(select=self.watched["select"])
            self._observe_run(process, TRACED, seen)
            for path, lines in seen.lines.items():
                self.channel.send("lines", path=path, lines=lines, cut=seen.cut)
        process.end()

    def _start_process(self, known: list[str] | None) -> ReadyProcess:
        return ReadyProcess(self.channel, self.tool, self.load, self.start, known, self.watched)

    def _make_run(self, process: ReadyProcess, written: Written, number: int, seen: Outcomes) -> None:
        why = SPENT
        if time.monotonic() < self._deadline:
            try:
                written.write(number)
                why = self._observe_run(process, RUN, seen)
            except Unwritten as error:
                why = str(error)
        self.channel.send("variant", index=number, why=why, **seen.as_message())

    def _observe_run(self, process: ReadyProcess, kind: bytes, seen: Outcomes) -> str:
        """Makes one run and collects its outcomes. Returns why some tests have none, if so."""
        until = min(self._deadline, time.monotonic() + self.runs["each"])
        try:
            for line in process.messages(kind, seen.select, lambda: until - time.monotonic()):
                with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                    seen.take(json.loads(line))
                if seen.ended or (self.runs["until_failure"] and seen.failed):
                    process.stop()
                    return seen.why
        except TimeoutError:
            process.stop()
            return SPENT if not self.runs["until_failure"] or time.monotonic() > self._deadline else ENDLESS
        except (EOFError, OSError):
            return _EARLY
        return seen.why or _EARLY

    def _give_up(self, count: int, why: str) -> None:
        for index in range(count):
            self.channel.send("variant", index=index, why=why, **Outcomes().as_message())


def _close_memory() -> None:
    """Nobody in the same process table may read the texts from our memory: the kernel keeps it for root."""
    with contextlib.suppress(OSError, ImportError, AttributeError):
        from ..resident.namespaces import hide_memory  # noqa: TID252 - it needs Linux

        hide_memory()


def _hides_installed(folder: str) -> bool:
    """Whether a module in the folder hides an installed one: then each run must load the runner itself."""
    for name in os.listdir(folder):  # noqa: PTH208
        stem, extension = os.path.splitext(name)  # noqa: PTH122
        package = not extension and os.path.exists(os.path.join(folder, name, "__init__.py"))  # noqa: PTH110, PTH118
        if package or extension in {".py", ".so"}:
            found = PathFinder.find_spec(stem.split(".")[0], _other_entries(folder))
            if found is not None and found.origin is not None:
                return True
    return False


def _other_entries(folder: str) -> list[str]:
    return [entry for entry in sys.path if entry not in {"", folder}]


_RANK = {"passed": 0, "skipped": 1, "failed": 2}


class Outcomes:
    """How the tests of one run ended, by the messages of its reporter."""

    def __init__(self, files: Any = (), select: Any = ()) -> None:
        """`files`: those that were changed. `select`: ids of the tests that are run."""
        self.select = select
        self._files = frozenset(files)
        self._status: dict[str, str] = {}
        self._ended: set[str] = set()
        self._places: dict[str, list[Any]] = {}
        self._messages: dict[str, Any] = {}
        self.lines: dict[str, list[int]] = {}
        """The executed lines of each traced file."""
        self.cut = False
        """Whether some of them are missing."""
        self.ended = False
        self.failed = False
        """Whether a test has failed and ended."""
        self.why = ""

    def as_message(self) -> dict[str, Any]:
        """The outcomes of the tests that ended, as fields of a message."""
        return {
            "outcomes": {i: status for i, status in self._status.items() if i in self._ended},
            "places": self._places,
            "messages": self._messages,
        }

    def take(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "end":
            self.ended = True
        elif kind == "lines":
            self.lines[message["path"]] = message["lines"]
            self.cut = message["cut"]
        elif kind == "collect-error":
            self.why = self.why or f"{message['path']} cannot be collected: {message['error']}"
        elif kind == "test":
            self._take_phase(message["id"], message)

    def _take_phase(self, test: str, message: dict[str, Any]) -> None:
        if message["outcome"] == "rerun":
            self._status.pop(test, None)
            return
        status = self._status_of(message)
        if _RANK[status] >= _RANK[self._status.get(test, "passed")]:
            self._status[test] = status
        if status == "failed":
            failure = message.get("failure") or {}
            frames = failure.get("frames", ())
            self._messages[test] = failure["message"] if failure.get("assertion") else None
            self._places[test] = [place for place in frames if place[0] in self._files]
        if message["phase"] == "teardown":
            self._ended.add(test)
            self.failed = self.failed or self._status[test] == "failed"

    @staticmethod
    def _status_of(message: dict[str, Any]) -> str:
        """A failure in setup, and an xfail, count as skipped: they say nothing about an assertion."""
        if "xfail" in message or (message["phase"] == "setup" and message["outcome"] == "failed"):
            return "skipped"
        return str(message["outcome"])
