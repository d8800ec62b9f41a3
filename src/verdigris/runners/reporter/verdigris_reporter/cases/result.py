"""Tells what happened to each test as it happens, and prints what `python -m unittest` would print.

What a test and its child processes print is kept apart from what the runner prints.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import tempfile
import time
import unittest
from typing import IO, TYPE_CHECKING, Any

from .. import uses  # noqa: TID252 - the package has another name when injected
from ..channel import cap_text  # noqa: TID252 - same
from ..failures import UNITTEST, Frame, failure, frames_of, own_frames  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..limit import Limit  # noqa: TID252 - same
    from ..names import WorktreeNames  # noqa: TID252 - same
    from .collection import Case  # noqa: TID252 - same


_MOST = 1 << 20


class Printed:
    """Standard output and error go to a file; what came there is handed on at the end of each test."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._real = os.dup(2)
        self.stream: Any = os.fdopen(os.dup(2), "w", errors="backslashreplace")
        """For the runner."""
        self._mark = 0
        _flush()
        for standard in (1, 2):
            os.dup2(self._file.fileno(), standard)

    def mark(self) -> None:
        self._hand_on()

    def since_mark(self) -> str:
        return self._hand_on().decode("utf-8", "replace")

    def end(self) -> None:
        self._hand_on()
        for standard in (1, 2):
            os.dup2(self._real, standard)

    def _hand_on(self) -> bytes:
        _flush()
        end = os.lseek(self._file.fileno(), 0, os.SEEK_END)
        start = max(self._mark, end - _MOST)
        data = os.pread(self._file.fileno(), end - start, start)
        self._mark = end
        self.stream.flush()
        with contextlib.suppress(OSError):
            os.write(self._real, data)
        return data


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a test may have put anything in their place
            stream.flush()


_clock = time.perf_counter
_PARTS = {
    "_callSetUp": "setup",
    "_callTestMethod": "call",
    "_callTearDown": "teardown",
    "doCleanups": "teardown",
}
"""unittest's own functions around what the author wrote."""
_UNEXPECTED = {
    "error": "UnexpectedSuccess",
    "message": "[XPASS(strict)] it is marked as an expected failure, and passes",
}
_SILENT = {"error": "NoOutcome", "message": "it ended without having passed, failed or been skipped"}


class ResultBook:
    """What the result needs to know; made before the runner makes the result."""

    def __init__(
        self,
        names: WorktreeNames,
        cases: dict[int, Case],
        name: Callable[[Any], Case],
        printed: Printed,
        send: Callable[..., None],
        limit: Limit,
    ) -> None:
        self.names = names
        self.cases = cases
        self.name = name
        self.printed = printed
        self.send = send
        self.limit = limit


class _Going:
    """The test that runs now."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.began = _clock()
        self.failures: dict[str, dict[str, Any]] = {}
        """The first of each phase."""
        self.subtests: list[str] = []
        self.skipped: str | None = None
        self.outcome: dict[str, Any] | None = None

    @property
    def came_to_something(self) -> bool:
        return bool(self.failures) or self.skipped is not None or self.outcome is not None


class Result(unittest.TextTestResult):
    def __init__(
        self, book: ResultBook, stream: Any, descriptions: bool, verbosity: int, **more: Any
    ) -> None:
        super().__init__(stream, descriptions, verbosity, **more)
        self._book = book
        self._going: _Going | None = None
        self._watch = contextlib.ExitStack()
        self._begun: set[str] = set()
        self._last: dict[str, Any] | None = None
        """The end of the test before: its class may yet fail to be torn down."""
        self._fixtures: dict[str, dict[str, Any]] = {}
        """What went wrong before the tests of a class or module could run, by its name."""

    def begin(self, test: Any) -> None:
        """Also called before the fixtures of its class, so that an end in them is the end of this test."""
        self._finish()
        case = self._case(test)
        if case.id not in self._begun:
            self._begun.add(case.id)
            self._book.send("started", id=case.id)

    def startTest(self, test: Any) -> None:  # noqa: N802 - unittest's, as all below
        self.begin(test)
        self._book.printed.mark()
        self._going = _Going(self._case(test))
        super().startTest(test)
        if uses.RECORDER is not None:
            example = type(test).__module__ == "doctest"
            method = None if example else getattr(test, getattr(test, "_testMethodName", ""), None)
            uses.RECORDER.begin_test(self._going.case.id, method, example=example)
        self._watch.enter_context(self._book.limit.watch())

    def stopTest(self, test: Any) -> None:  # noqa: N802
        self._watch.close()
        if uses.RECORDER is not None:
            uses.RECORDER.end_test()
        super().stopTest(test)
        going, self._going = self._going, None
        if going is not None and (going.came_to_something or sys.exc_info()[0] is None):
            self._tell(going)  # an interrupt that goes through here ends the run within this test
        self._book.cases.pop(id(test), None)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        super().addSuccess(test)
        if self._going is not None:
            self._going.outcome = {"outcome": "passed"}

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._wrong(test, err)
        super().addError(test, err)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._wrong(test, err)
        super().addFailure(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None and self._going is not None:
            self._going.subtests.append(f"{subtest._subDescription()} {err[0].__name__}: {err[1]}\n")  # noqa: SLF001
            self._wrong(test, err)
        super().addSubTest(test, subtest, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        if self._going is not None:
            self._going.skipped = reason
        elif id(test) in self._book.cases:  # Python 3.12.1 does not start what is marked as skipped
            self.begin(test)
            self._tell_skipped(self._book.cases.pop(id(test)), reason)
        else:
            self._take_fixture(test, {"outcome": "skipped", "why": reason[:500]})

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        if self._going is not None:
            self._going.outcome = {"outcome": "skipped", "xfail": ""}

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        if self._going is not None:
            self._going.outcome = {"outcome": "failed", "failure": _UNEXPECTED}

    def stopTestRun(self) -> None:  # noqa: N802
        """Reports tests whose class or module could not be set up: they never started."""
        self._finish()
        for case in self._book.cases.values():
            wrong = self._fixtures.get(case.holder) or self._fixtures.get(case.module)
            if wrong is not None:
                if case.id not in self._begun:
                    self._book.send("started", id=case.id)
                self._send(case.id, "setup", {**wrong, **case.definition(self._book.names)})
                self._send(case.id, "teardown", {"outcome": "passed"})
        super().stopTestRun()

    def _case(self, test: Any) -> Case:
        if id(test) not in self._book.cases:
            self._book.cases[id(test)] = self._book.name(test)
        return self._book.cases[id(test)]

    def _wrong(self, test: Any, err: Any) -> None:
        """Before unittest has a look: it shortens the traceback."""
        _, error, traceback = err
        frames = frames_of(traceback)
        going = self._going
        if going is None:
            told = self._failure(error, own_frames(frames, None))
            self._take_fixture(test, {"outcome": "failed", "failure": told})
            return
        told = self._failure(error, own_frames(frames, going.case.code))
        going.failures.setdefault(_phase(frames), told)

    def _failure(self, error: BaseException, frames: list[Frame]) -> dict[str, Any]:
        told = failure(error, frames, self._book.names)
        if not told["message"] and frames and told["error"] == "AssertionError":
            told["message"] = linecache.getline(frames[-1].filename, frames[-1].line).strip()
        return told

    def _take_fixture(self, holder: Any, told: dict[str, Any]) -> None:
        """A fixture of a class or module: unittest names it `setUpClass (tests.test_a.TestA)`."""
        fixture, _, owner = str(getattr(holder, "description", "")).partition(" (")
        if fixture.startswith("tearDown"):
            if self._last is not None and self._last["outcome"] == "passed":
                self._last.update(told)
        else:
            self._fixtures.setdefault(owner.rstrip(")"), told)

    def _tell(self, going: _Going) -> None:
        definition = going.case.definition(self._book.names)
        output = self._book.printed.since_mark() + "".join(going.subtests)
        phase = next((phase for phase in ("setup", "call") if phase in going.failures), "call")
        told = going.outcome or {"outcome": "failed", "failure": _SILENT}
        if phase in going.failures:
            told = {"outcome": "failed", "failure": going.failures[phase]}
        elif going.skipped is not None:
            told = {"outcome": "skipped", "why": going.skipped[:500]}
        elif "teardown" in going.failures:
            told = {"outcome": "passed"}
        ms = round((_clock() - going.began) * 1000, 1)
        shown = {} if told["outcome"] == "passed" else {"output": cap_text(output)}
        self._send(going.case.id, phase, {**told, **definition, **shown, "ms": ms})
        self._last = {"id": going.case.id, "outcome": "passed", **definition}
        if "teardown" in going.failures:
            late = {"outcome": "failed", "failure": going.failures["teardown"], "output": cap_text(output)}
            self._last.update(late)

    def _tell_skipped(self, case: Case, reason: str) -> None:
        going = _Going(case)
        going.skipped = reason
        self._tell(going)

    def _finish(self) -> None:
        if self._last is not None:
            told, self._last = self._last, None
            self._send(told.pop("id"), "teardown", told)

    def _send(self, test_id: str, phase: str, told: dict[str, Any]) -> None:
        self._book.send("test", **{"id": test_id, "phase": phase, "ms": 0, **told})


def _phase(frames: list[Frame]) -> str:
    for frame in frames:
        part = _PARTS.get(frame.frame.f_code.co_name)
        if part is not None and frame.filename.startswith(UNITTEST):
            return part
    return "call"
