"""Reports what happens to each test, at once, and prints what `python -m unittest` would print.

The output of a test and its child processes is kept apart from the output of the runner.
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

from .. import tracing, uses  # noqa: TID252 - the package has another name when injected
from ..channel import cap_text  # noqa: TID252 - same
from ..failures import UNITTEST, Frame, failure, frames_of, own_frames  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..limit import Limit  # noqa: TID252 - same
    from ..names import WorktreeNames  # noqa: TID252 - same
    from .collection import Case  # noqa: TID252 - same


_MOST = 1 << 20
"""The most bytes of a test's output that are kept."""


class Printed:
    """Redirects standard output and error to a file, and copies it to the real output after each test."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._real = os.dup(2)
        self.stream: Any = os.fdopen(os.dup(2), "w", errors="backslashreplace")
        """The stream for the runner's own output."""
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
        with contextlib.suppress(Exception):  # a test may have replaced them by anything
            stream.flush()


_clock = time.perf_counter
_PARTS = {
    "_callSetUp": "setup",
    "_callTestMethod": "call",
    "_callTearDown": "teardown",
    "doCleanups": "teardown",
}
"""unittest's own functions that call what the author wrote, with the phase of each."""
_UNEXPECTED = {
    "error": "UnexpectedSuccess",
    "message": "[XPASS(strict)] it is marked as an expected failure, and passes",
}
_SILENT = {"error": "NoOutcome", "message": "it ended without having passed, failed or been skipped"}


class ResultBook:
    """What a `Result` needs; it exists before the runner makes the result."""

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


class _RunningTest:
    """The test that runs now, and what has happened to it so far."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.began = _clock()
        self.failures: dict[str, dict[str, Any]] = {}
        """The first failure of each phase."""
        self.subtests: list[str] = []
        self.skipped: str | None = None
        self.outcome: dict[str, Any] | None = None

    @property
    def has_outcome(self) -> bool:
        return bool(self.failures) or self.skipped is not None or self.outcome is not None


class Result(unittest.TextTestResult):
    """unittest's result, which also reports each test."""

    def __init__(
        self, book: ResultBook, stream: Any, descriptions: bool, verbosity: int, **more: Any
    ) -> None:
        super().__init__(stream, descriptions, verbosity, **more)
        self._book = book
        self._going: _RunningTest | None = None
        self._watch = contextlib.ExitStack()
        self._begun: set[str] = set()
        self._last: dict[str, Any] | None = None
        """The end of the previous test. It is sent late, because the teardown of its class may still fail."""
        self._fixtures: dict[str, dict[str, Any]] = {}
        """By the name of a class or module: why its tests could not run."""

    def begin(self, test: Any) -> None:
        """Reports that a test starts.

        It is called before the fixtures of the class, so that a crash in a fixture counts as one of this
        test.
        """
        self._finish()
        case = self._case(test)
        if case.id not in self._begun:
            self._begun.add(case.id)
            self._book.send("started", id=case.id)

    def startTest(self, test: Any) -> None:  # noqa: N802 - unittest's, as all below
        self.begin(test)
        self._book.printed.mark()
        self._going = _RunningTest(self._case(test))
        super().startTest(test)
        tracing.TRACER.renew(self._going.case.id)
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
        if going is not None and (going.has_outcome or sys.exc_info()[0] is None):
            self._report(going)  # not if an interrupt passes through here: then the test has no end
        self._book.cases.pop(id(test), None)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        super().addSuccess(test)
        if self._going is not None:
            self._going.outcome = {"outcome": "passed"}

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._note_failure(test, err)
        super().addError(test, err)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._note_failure(test, err)
        super().addFailure(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None and self._going is not None:
            self._going.subtests.append(f"{subtest._subDescription()} {err[0].__name__}: {err[1]}\n")  # noqa: SLF001
            self._note_failure(test, err)
        super().addSubTest(test, subtest, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        if self._going is not None:
            self._going.skipped = reason
        elif id(test) in self._book.cases:  # Python 3.12.1 does not start a test that is marked as skipped
            self.begin(test)
            self._report_skipped(self._book.cases.pop(id(test)), reason)
        else:
            self._note_fixture(test, {"outcome": "skipped", "why": reason[:500]})

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        if self._going is not None:
            self._going.outcome = {"outcome": "skipped", "xfail": ""}

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        if self._going is not None:
            self._going.outcome = {"outcome": "failed", "failure": _UNEXPECTED}

    def stopTestRun(self) -> None:  # noqa: N802
        """Reports the tests that never started, because their class or module could not be set up."""
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

    def _note_failure(self, test: Any, err: Any) -> None:
        """Notes a failure; call it before unittest sees the error, because it shortens the traceback."""
        _, error, traceback = err
        frames = frames_of(traceback)
        going = self._going
        if going is None and id(test) in self._book.cases:  # Django sets a test up before it starts
            self.begin(test)
            going = _RunningTest(self._book.cases.pop(id(test)))
            going.failures["setup"] = self._describe_failure(error, own_frames(frames, going.case.code))
            self._report(going)
            return
        if going is None:
            told = self._describe_failure(error, own_frames(frames, None))
            self._note_fixture(test, {"outcome": "failed", "failure": told})
            return
        told = self._describe_failure(error, own_frames(frames, going.case.code))
        going.failures.setdefault(_phase(frames), told)

    def _describe_failure(self, error: BaseException, frames: list[Frame]) -> dict[str, Any]:
        told = failure(error, frames, self._book.names)
        if not told["message"] and frames and told["error"] == "AssertionError":
            told["message"] = linecache.getline(frames[-1].filename, frames[-1].line).strip()
        return told

    def _note_fixture(self, holder: Any, told: dict[str, Any]) -> None:
        """Notes the failure of a fixture of a class or module. unittest names it `setUpClass
        (tests.test_a.TestA)`.
        """
        fixture, _, owner = str(getattr(holder, "description", "")).partition(" (")
        if fixture.startswith("tearDown"):
            if self._last is not None and self._last["outcome"] == "passed":
                self._last.update(told)
        else:
            self._fixtures.setdefault(owner.rstrip(")"), told)

    def _report(self, going: _RunningTest) -> None:
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

    def _report_skipped(self, case: Case, reason: str) -> None:
        going = _RunningTest(case)
        going.skipped = reason
        self._report(going)

    def _finish(self) -> None:
        """Sends the end of the previous test."""
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
