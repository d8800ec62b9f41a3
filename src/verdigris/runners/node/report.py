"""Reads what our reporters in Node's test tools write."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verdigris.core.report import (
    CollectError,
    Place,
    RunEnd,
    RunPhase,
    Status,
    TestReport,
    TestResult,
)
from verdigris.core.value import value
from verdigris.languages.node.test_ids import node_id
from verdigris.runners.node.selection import by_path, collect_error, failure, is_chosen, is_of_hook
from verdigris.runners.protocol import (
    OUTPUT,
    TWICE,
    read_record,
    relative,
    stopped_failure,
    stopped_result,
    tail,
    unfinished_failure,
    untrusted_result,
    worst,
)
from verdigris.runners.reporter import node_watch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.runners.protocol import RunnerAnswer, TestRequest

REPORT = node_watch.REPORT
_PACKAGE = re.compile(r"(?:^|/)node_modules/")
_STATUS = {"pass": Status.PASS, "fail": Status.FAIL, "skip": Status.SKIP, "todo": Status.SKIP}
_NO_FILES = re.compile(rb"^No tests? ?(?:files )?found, exiting with code 1", re.MULTILINE)
"""Printed if there are no test files: by jest before it loads a reporter, by vitest 2 instead of an end
message.

Such a run is no pass.
"""
_Test = tuple[str, tuple[str, ...]]
"""A test: the path of its file, and its names."""


@value
class StoppedRun:
    """What our watcher (`node_watch.py`) wrote about a run that it stopped."""

    seconds: float
    frames: tuple[Place, ...] = ()
    """The project's frames, beginning with the test's own."""
    names: tuple[str, ...] = ()
    """The names of the test, if the tool knew them."""


@dataclass(slots=True)
class _NodeRun:
    """What the report of one call says."""

    request: TestRequest
    roots: tuple[str, ...]
    """The worktree's path as we name it, and as the tool sees it with links resolved."""
    started: bool = False
    ended: bool = False
    due: Counter[_Test] = field(default_factory=Counter)
    files: set[tuple[str, str]] = field(default_factory=set)
    begun: dict[_Test, None] = field(default_factory=dict)
    told: dict[_Test, list[TestResult | None]] = field(default_factory=dict)
    """The results of each test; None for a test that should run and has no result."""
    listed: list[str] = field(default_factory=list)
    errors: list[CollectError] = field(default_factory=list)
    early: bool = False
    strays: int = 0
    stop: StoppedRun | None = None

    def locate(self, path: str) -> str:
        for root in self.roots:
            path_in_tree = relative(path, root)
            if not path_in_tree.startswith("/"):
                return path_in_tree
        return posixpath.normpath(path)


def parse(request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
    """Reads all calls of one request. Tests that ran without being asked for are listed as others."""
    runs = [_read(request, answer) for answer in answers]
    ends = [_end_of(run, answer) for run, answer in zip(runs, answers, strict=True)]
    selected = by_path(request.names)
    results: dict[str, TestResult] = {}
    stacks: dict[str, bool] = {}
    for run, ended in zip(runs, ends, strict=True):
        stacks |= dict.fromkeys(run.listed, True)
        for (path, names), result in _results(run, ended).items():
            chosen = is_chosen(selected, path, names)
            test_id = node_id(path, names)
            stacks[test_id] = chosen
            if chosen and result is not None and not request.collect_only:
                results[test_id] = worst([result, results[test_id]]) if test_id in results else result
    codes = [answer.exit_code for answer in answers]
    return TestReport(
        command=" && ".join(answer.call.command for answer in answers),
        ended=max(ends, key=_WORSE.index),
        exit_code=None if None in codes else next((code for code in codes if code), 0),
        duration_ms=sum(answer.duration_ms for answer in answers),
        results=tuple(results.values()),
        collected=tuple(test_id for test_id, chosen in stacks.items() if chosen),
        others=tuple(test_id for test_id, chosen in stacks.items() if not chosen),
        errors=tuple(e for run, a in zip(runs, answers, strict=True) for e in _errors(run, a)),
        tail=tail(answers),
        strays=sum(run.strays for run in runs),
    )


_WORSE = (RunEnd.FINISHED, RunEnd.EARLY_EXIT, RunEnd.NO_START, RunEnd.DIED, RunEnd.TIMEOUT)


def _read(request: TestRequest, answer: RunnerAnswer) -> _NodeRun:
    run = _NodeRun(request, (posixpath.normpath(request.worktree),))
    name = posixpath.relpath(answer.call.env[REPORT], request.report_folder)
    lines = answer.reports.get(name, b"").split(b"\n")
    for number, line in enumerate(lines):
        try:
            if line:
                _take(run, number, json.loads(line))
        except (AttributeError, KeyError, TypeError, ValueError):
            run.strays += 1
    if record := read_record(answer.reports.get(name + node_watch.STOP, b"")):
        run.stop = _read_stop(run, record)
        if _stopped_test(run) is None:
            path = run.stop.frames[0].path if run.stop.frames else ""
            run.errors.append(
                CollectError(path, "Timeout", stopped_failure(run.stop.seconds, run.stop.frames).message)
            )
    return run


def _read_stop(run: _NodeRun, record: Mapping[str, Any]) -> StoppedRun:
    places = [Place(run.locate(path), int(line)) for path, line in record["frames"]]
    own = (place for place in places if not place.path.startswith("/") and not _PACKAGE.search(place.path))
    return StoppedRun(float(record["seconds"]), tuple(own), tuple(record["names"] or ()))


def _stopped_test(run: _NodeRun) -> _Test | None:
    """The test that was stopped: by the names that the tool knew, else the only candidate."""
    stop = run.stop
    if stop is None:
        return None
    within = stop.frames[0].path if stop.frames else None
    left = [test for test in dict.fromkeys((*run.due, *run.begun)) if test not in run.told]
    if stop.names:
        named = [test for test in left if test[1] == stop.names and within in {None, test[0]}]
        return named[0] if named else (within, stop.names) if within else None
    begun = [*_find_unfinished(run)]
    selected = [(path, name) for path, names in by_path(run.request.names).items() for name in names]
    return begun[0] if len(begun) == 1 else selected[0] if len(selected) == 1 else None


def _take(run: _NodeRun, number: int, message: Mapping[str, Any]) -> None:
    kind = message["kind"]
    if message["n"] != number or run.ended or run.started is (kind == "start"):
        raise ValueError(kind)
    path = run.locate(message["file"]) if message.get("file") else ""
    match kind:
        case "start":
            run.started = True
            run.roots += _seen_root(run.request, message["cwd"])
        case "end":
            run.ended = True
        case "started" | "left" | "test":
            _take_test(run, kind, (path, tuple(message["names"])), message)
        case _:
            _take_file(run, kind, path, message)


def _take_test(run: _NodeRun, kind: str, test: _Test, message: Mapping[str, Any]) -> None:
    match kind:
        case "started":
            run.begun[test] = None
        case "left":
            run.begun.pop(test, None)
        case _:
            run.told.setdefault(test, []).append(_result(run, test, message))


def _take_file(run: _NodeRun, kind: str, path: str, message: Mapping[str, Any]) -> None:
    match kind:
        case "listed":
            run.listed.append(path)
        case "collected":
            key = (message["project"], path)
            if key in run.files:
                run.errors.append(CollectError(path, "ReportedTwice", "the file was reported twice"))
            run.files.add(key)
            run.due.update((path, tuple(names)) for names in message["tests"])
        case "again":
            run.begun = {test: None for test in run.begun if test[0] != path}
            run.told = {test: outcomes for test, outcomes in run.told.items() if test[0] != path}
        case "file-error" | "unhandled":
            unhandled = kind == "unhandled"
            run.errors += (collect_error(path, error, unhandled=unhandled) for error in message["errors"])
        case "file-end":
            run.early = run.early or not message["whole"] or message["signal"] is not None
        case _:
            raise ValueError(kind)


def _seen_root(request: TestRequest, cwd: str) -> tuple[str, ...]:
    """The worktree's root as the tool sees it, if that differs."""
    below = posixpath.normpath(request.stack_root)
    if below == ".":
        return (cwd,)
    return (cwd.removesuffix(f"/{below}"),) if cwd.endswith(f"/{below}") else ()


def _result(run: _NodeRun, test: _Test, message: Mapping[str, Any]) -> TestResult | None:
    path, names = test
    state, errors = message["state"], message.get("errors") or []
    if state == "none":
        return None
    line = int(message.get("line") or 0)
    phase = RunPhase(message.get("phase") or "call")
    status = _STATUS[state]
    if status is Status.FAIL and phase is RunPhase.CALL and is_of_hook(errors):
        phase = RunPhase.SETUP
    failed = failure(errors, run.locate, Place(path, line) if line else None) if state == "fail" else None
    status, note = _read_note(Status.ERROR if failed and phase is not RunPhase.CALL else status, message)
    defined = message.get("defined")
    return TestResult(
        id=node_id(path, names),
        native_id=node_id(path, names),
        id_source="native",
        status=status,
        phase=phase,
        duration_ms=round(float(message.get("ms") or 0)),
        failure=failed,
        output=str(message.get("output") or "")[:OUTPUT],
        line=line,
        defined_in=run.locate(defined) if defined else path,
        note=note,
    )


def _read_note(status: Status, message: Mapping[str, Any]) -> tuple[Status, str]:
    """The status and a note about it. An expected failure counts as skipped."""
    if message.get("xfail"):
        return (Status.SKIP, "xfail") if status is Status.PASS else (status, "xpass")
    if message["state"] == "todo":
        return status, message.get("why") or "todo"
    retries = message.get("retries") or 0
    return status, f"passed after {retries} retries" if retries and status is Status.PASS else message.get(
        "why"
    ) or ""


def _results(run: _NodeRun, ended: RunEnd) -> Mapping[_Test, TestResult | None]:
    """The results in the order of collection; None for a test that never began."""
    found: dict[_Test, TestResult | None] = dict.fromkeys(run.due)
    for test in _find_unfinished(run) or _find_cut_off(run, ended):
        found[test] = untrusted_result(node_id(*test), unfinished_failure(ended))
    if run.stop is not None and (stopped := _stopped_test(run)) is not None:
        found[stopped] = stopped_result(node_id(*stopped), run.stop.seconds, run.stop.frames)
    for test, outcomes in run.told.items():
        results = [result for result in outcomes if result is not None]
        if run.due and len(outcomes) > max(1, run.due[test]):
            found[test] = untrusted_result(node_id(*test), TWICE)
        elif len(results) < len(outcomes):
            found[test] = untrusted_result(node_id(*test), unfinished_failure(ended))
        else:
            found[test] = worst(results)
    return found


def _find_unfinished(run: _NodeRun) -> Iterable[_Test]:
    """Tests that began and did not end.

    One that contains other tests is a suite: node does not always say so.
    """
    groups = {(path, names[:end]) for path, names in (*run.begun, *run.told) for end in range(1, len(names))}
    return [test for test in run.begun if test not in run.told and test not in groups]


def _find_cut_off(run: _NodeRun, ended: RunEnd) -> Iterable[_Test]:
    """Finds a test that never yields.

    Vitest cannot report that it began; our watcher can, if it stopped the run.
    """
    return () if ended is RunEnd.FINISHED or run.stop else [test for test in run.due if test not in run.told]


def _end_of(run: _NodeRun, answer: RunnerAnswer) -> RunEnd:
    if answer.timed_out:
        return RunEnd.TIMEOUT
    if answer.exit_code is None:
        return RunEnd.DIED
    if run.stop is not None:
        return RunEnd.EARLY_EXIT
    if not (run.due or run.told or run.errors) and _NO_FILES.search(answer.output):
        return RunEnd.FINISHED
    if not run.started:
        return RunEnd.NO_START
    lost = any(test not in run.told or None in run.told[test] for test in (*run.due, *run.told))
    if run.ended:
        return RunEnd.EARLY_EXIT if run.early or lost else RunEnd.FINISHED
    return RunEnd.EARLY_EXIT if answer.exit_code == 0 or lost or _find_unfinished(run) else RunEnd.DIED


def _errors(run: _NodeRun, answer: RunnerAnswer) -> Iterable[CollectError]:
    yield from run.errors
    results = [result for outcomes in run.told.values() for result in outcomes]
    clean = run.ended and results and not run.errors and not run.early
    if clean and answer.exit_code and all(r and r.failure is None for r in results):
        yield CollectError("", "ExitCode", f"it exited with {answer.exit_code} although no test failed")
