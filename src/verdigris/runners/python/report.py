"""Reads what our reporter in pytest and unittest sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from verdigris.core.report import (
    CollectError,
    DoubleCall,
    Failure,
    FileUse,
    LeftSetting,
    Place,
    Property,
    RunEnd,
    RunPhase,
    RunUses,
    Status,
    TestReport,
    TestResult,
    TestUse,
    VariantOutcome,
)
from verdigris.core.value import field, mutable
from verdigris.runners.protocol import RANK, TAIL, TWICE, RunnerAnswer, read_record, unfinished_failure

_INTERRUPTED = 2
_USAGE_ERROR = 4


@mutable
class _ReportedTest:
    """What the messages so far say about one test: about its latest attempt."""

    ms: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    """The message of the phase that decided the status."""
    status: Status = Status.PASS
    phase: RunPhase = RunPhase.SETUP
    note: str = ""
    complete: bool = False


@mutable
class _ReportedUses:
    """What the messages so far say about the functions and files that tests used."""

    places: list[tuple[str, int]] = field(default_factory=list)
    sets: list[tuple[int, ...]] = field(default_factory=list)
    tests: dict[str, TestUse] = field(default_factory=dict)
    whole: RunUses | None = None

    def take(self, kind: str, message: Mapping[str, Any]) -> None:
        match kind:
            case "use-places":
                self.places += [(path, line) for path, line in message["places"]]
            case "use-sets":
                self.sets += map(tuple, message["sets"])
            case "use-tests":
                self.tests |= {
                    i: TestUse(number, tuple(hits), tuple(fills), unsure)
                    for i, number, hits, fills, unsure in message["tests"]
                }
            case "use-files":
                names = ("files", "read", "known", "listed")
                fields = {name: tuple(message[name]) for name in names}
                self.whole = RunUses(
                    tuple(self.places),
                    tuple(self.sets),
                    self.tests,
                    message["common"],
                    problem=message["problem"],
                    **fields,
                )
            case unknown:
                raise ValueError(unknown)


@mutable
class _PytestRun:
    """What the messages so far say about the run."""

    start: Mapping[str, Any] | None = None
    end: int | None = None
    collected: list[str] | None = None
    others: list[str] = field(default_factory=list)
    errors: dict[str, CollectError] = field(default_factory=dict)
    tests: dict[str, _ReportedTest] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)
    cut: bool = False
    doubles: dict[DoubleCall, None] = field(default_factory=dict)
    variants: dict[int, VariantOutcome] = field(default_factory=dict)
    strays: int = 0
    loaded: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)
    files: dict[FileUse, None] = field(default_factory=dict)
    below: dict[str, None] = field(default_factory=dict)
    outside_reads: dict[FileUse, None] = field(default_factory=dict)
    left: list[LeftSetting] = field(default_factory=list)
    installed: list[str] = field(default_factory=list)
    uses: _ReportedUses = field(default_factory=_ReportedUses)

    starts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def twice(self) -> frozenset[str]:
        """Tests with more starts or ends than are possible: one message is forged."""
        due = Counter(self.collected or ())
        reported = self.starts | self.ends
        return frozenset(i for i, number in reported.items() if number > max(1, due[i]))

    def find_unreported(self) -> list[str]:
        return [i for i in self.collected or () if i not in self.tests or not self.tests[i].complete]


def read_line(line: bytes, nonce: str) -> Mapping[str, Any]:
    """The message in one line of the channel; empty if the reporter did not write the line."""
    own = nonce.encode("ascii") + b" "
    return read_record(line[len(own) :]) if line.startswith(own) else {}


def parse(answer: RunnerAnswer) -> TestReport:
    nonce = "" if answer.call.channel is None else answer.call.channel.nonce
    exit_code = answer.exit_code
    run = _PytestRun()
    for line in filter(None, answer.lines):
        try:
            _take(run, read_line(line, nonce))
        except (AttributeError, KeyError, TypeError, ValueError):
            run.strays += 1
    ended = _end_of(run, exit_code, timed_out=answer.timed_out)
    twice = run.twice()
    return TestReport(
        command=answer.call.command,
        ended=ended,
        exit_code=exit_code,
        duration_ms=answer.duration_ms,
        results=tuple(_result(i, test, ended, twice=i in twice) for i, test in run.tests.items()),
        collected=tuple(run.collected or ()),
        others=tuple(run.others),
        errors=tuple(run.errors.values()),
        tail=answer.output[-TAIL:].decode("utf-8", "replace"),
        lines={path: frozenset(numbers) for path, numbers in run.lines.items()},
        cut=run.cut,
        doubles=tuple(run.doubles),
        strays=run.strays,
        variants=tuple(run.variants.values()),
        loaded=tuple(sorted(run.loaded)),
        outside=tuple(sorted(run.outside)),
        files=tuple(run.files),
        below=tuple(run.below),
        outside_reads=tuple(run.outside_reads),
        left=tuple(run.left),
        installed=tuple(run.installed),
        uses=run.uses.whole,
    )


def _take(run: _PytestRun, message: Mapping[str, Any]) -> None:
    match message["kind"]:
        case "start":
            run.start = message
        case "end":
            run.end = message["code"]
        case "collected":
            run.collected = [*(run.collected or ()), *message["ids"]]
        case "others":
            run.others += message["ids"]
        case "file":
            run.files[FileUse(str(message["path"]), message["how"], str(message["by"]))] = None
        case "outside":
            run.outside_reads[FileUse(str(message["path"]), "read", str(message["by"]))] = None
        case "left":
            fields = (str(message[name]) for name in ("name", "before", "after", "at"))
            run.left.append(LeftSetting(*fields))
        case "below":
            run.below |= dict.fromkeys(map(str, message["paths"]))
        case "installed":
            run.installed = list(message["names"])
        case _:
            _take_finding(run, message)


def _take_finding(run: _PytestRun, message: Mapping[str, Any]) -> None:
    match message["kind"]:
        case "no-pytest":
            run.errors[""] = CollectError("", "NoPytest", message["message"])
        case "collect-error":
            path = message["path"]
            run.errors.setdefault(path, CollectError(path, message["error"], message["message"]))
        case "started":
            run.tests[message["id"]] = _ReportedTest()
            run.starts[message["id"]] += 1
        case "test":
            _take_phase(run.tests.setdefault(message["id"], _ReportedTest()), message)
            run.ends[message["id"]] += _is_last(message)
        case "lines":
            run.lines.setdefault(message["path"], set()).update(message["lines"])
            run.cut = run.cut or message.get("cut", False)
        case "doubles":
            run.doubles |= {DoubleCall(*call): None for call in message["calls"]}
        case "loaded":
            run.loaded.update(message["inside"])
            run.outside.update(message["outside"])
        case "variant":
            _take_variant(run, message["index"], message)
        case kind:
            run.uses.take(kind, message)


def _take_variant(run: _PytestRun, index: int, message: Mapping[str, Any]) -> None:
    if index in run.variants:
        run.variants[index] = VariantOutcome(index, why="it was reported twice")
        raise ValueError(index)
    run.variants[index] = VariantOutcome(
        index=index,
        outcomes=dict(message["outcomes"]),
        places={i: tuple(Place(p, n) for p, n in frames) for i, frames in message["places"].items()},
        messages=dict(message["messages"]),
        why=message["why"],
    )


def _take_phase(test: _ReportedTest, message: Mapping[str, Any]) -> None:
    if message["outcome"] == "rerun":
        test.ms, test.facts, test.status, test.note = 0.0, {}, Status.PASS, ""
        return
    phase = RunPhase(message["phase"]) if message["phase"] in set(RunPhase) else RunPhase.CALL
    status, note = _status(message, phase)
    test.ms += message["ms"]
    test.complete = _is_last(message)
    # After a failed call the teardown often fails too: the first failure says more.
    outranked = RANK[status] > RANK[test.status] and test.status is not Status.FAIL
    if outranked or (phase is RunPhase.CALL and status is test.status is Status.PASS):
        test.status, test.phase, test.note, test.facts = status, phase, note, dict(message)
    elif status is Status.PASS and not test.complete:
        test.phase = phase


def _is_last(message: Mapping[str, Any]) -> bool:
    """Whether a message is the last one of its test.

    After a crash, which has no phase of its own, nothing follows; after a failed `tearDown` more follows.
    """
    last = message["phase"] == RunPhase.TEARDOWN and not message.get("more")
    return last or message["phase"] not in set(RunPhase)


def _status(message: Mapping[str, Any], phase: RunPhase) -> tuple[Status, str]:
    """The status of a phase, and why.

    For pytest a strict xpass is a failure without an exception, another one a pass.
    """
    xfail = message.get("xfail")
    match message["outcome"]:
        case "passed":
            return (Status.PASS, "") if xfail is None else (Status.SKIP, "xpass")
        case "skipped":
            return Status.SKIP, message.get("why", "") if xfail is None else "xfail"
        case _:
            strict = (message.get("failure") or {}).get("message", "").startswith("[XPASS(strict)]")
            crashed = message["phase"] not in set(RunPhase)
            failed = Status.FAIL if phase is RunPhase.CALL and not crashed else Status.ERROR
            return failed, "xpass" if strict else ""


def _result(test_id: str, test: _ReportedTest, ended: RunEnd, *, twice: bool) -> TestResult:
    failure = TWICE if twice else _failure(test.facts)
    if not test.complete:
        failure = failure or unfinished_failure(ended)
    return TestResult(
        id=test_id,
        native_id=test_id,
        id_source="native",
        status=test.status if test.complete and not twice else Status.ERROR,
        phase=test.phase,
        duration_ms=round(test.ms),
        failure=failure,
        output=test.facts.get("output", ""),
        line=test.facts.get("line", 0),
        defined_in=test.facts.get("in"),
        note=test.note,
        property=_property(test.facts.get("property")),
    )


def _property(facts: Mapping[str, Any] | None) -> Property | None:
    return None if facts is None else Property(facts["settings"], facts["ran"], tuple(facts["rejecting"]))


def _failure(facts: Mapping[str, Any]) -> Failure | None:
    failure = facts.get("failure")
    if not failure or facts["outcome"] != "failed":
        return None
    frames = tuple(Place(path, line) for path, line in failure.get("frames", ()))
    unknown = "Failed" if facts["phase"] in set(RunPhase) else "Crash"
    return Failure(
        kind=failure["error"] or unknown,
        assertion=failure.get("assertion", False),
        message=failure["message"],
        place=frames[-1] if frames else None,
        frames=frames,
        bases=tuple(failure.get("bases", ())),
        subject=failure.get("subject"),
    )


def _end_of(run: _PytestRun, exit_code: int | None, *, timed_out: bool) -> RunEnd:
    if timed_out:
        return RunEnd.TIMEOUT
    if exit_code is None:
        return RunEnd.DIED
    if run.start is None:
        return RunEnd.NO_START
    if run.end is None:
        return RunEnd.EARLY_EXIT if exit_code == 0 or run.find_unreported() else RunEnd.DIED
    if run.end == _USAGE_ERROR:
        return RunEnd.NO_START
    if run.collected is None:
        return RunEnd.FINISHED if run.errors and run.end <= _INTERRUPTED else RunEnd.NO_START
    if run.find_unreported() and not run.start["collect_only"]:
        return RunEnd.EARLY_EXIT
    return RunEnd.FINISHED
