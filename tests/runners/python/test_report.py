from __future__ import annotations

import json
from typing import Any

import pytest

from verdigris.core.report import RunEnd, RunPhase, Status, TestReport
from verdigris.runners.protocol import ReportChannel, RunnerAnswer, RunnerCall
from verdigris.runners.python.report import parse, read_line

CALL = RunnerCall(("py",), "/w", "c", channel=ReportChannel("V", b"", "n"))
START = {"kind": "start", "collect_only": False}
END = {"kind": "end", "code": 0}


def collected(*ids: str) -> dict[str, Any]:
    return {"kind": "collected", "ids": ids}


def phase(name: str, outcome: str = "passed", **more: Any) -> dict[str, Any]:
    return {"kind": "test", "id": "t", "phase": name, "outcome": outcome, "ms": 1.4, **more}


def failure(message: str = "m") -> dict[str, Any]:
    return {"error": "AssertionError", "assertion": True, "message": message, "frames": [["a.py", 3]]}


def read(*messages: dict[str, Any], exit_code: int | None = 0, timed_out: bool = False) -> TestReport:
    lines = [b"n " + json.dumps(message).encode() for message in messages]
    return parse(RunnerAnswer(CALL, exit_code, timed_out, 1, b"", lines=tuple(lines)))


def one(*phases: dict[str, Any]) -> tuple[Status, RunPhase, str]:
    report = read(START, collected("t"), {"kind": "started", "id": "t"}, *phases, END)
    assert report.ended is RunEnd.FINISHED
    (result,) = report.results
    return result.status, result.phase, result.failure.message if result.failure else result.note


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ([phase("setup"), phase("call"), phase("teardown")], (Status.PASS, "call", "")),
        (
            [phase("setup"), phase("call", "failed", failure=failure("x")), phase("teardown")],
            (Status.FAIL, "call", "x"),
        ),
        ([phase("setup", "failed", failure=failure("s")), phase("teardown")], (Status.ERROR, "setup", "s")),
        (
            [phase("setup"), phase("call"), phase("teardown", "failed", failure=failure("t"))],
            (Status.ERROR, "teardown", "t"),
        ),
        ([phase("setup", "skipped", why="later"), phase("teardown")], (Status.SKIP, "setup", "later")),
        (
            [phase("setup"), phase("call", "skipped", xfail=""), phase("teardown")],
            (Status.SKIP, "call", "xfail"),
        ),
        ([phase("setup"), phase("call", xfail=""), phase("teardown")], (Status.SKIP, "call", "xpass")),
        (
            [
                phase("setup"),
                phase("call", "rerun", failure=failure()),
                phase("setup"),
                phase("call"),
                phase("teardown"),
            ],
            (Status.PASS, "call", ""),
        ),
        (
            [
                phase("setup"),
                phase("call", "failed", failure=failure("sub")),
                phase("call"),
                phase("teardown"),
            ],
            (Status.FAIL, "call", "sub"),
        ),
        ([phase("???", "failed", failure={"error": "", "message": "gone"})], (Status.ERROR, "call", "gone")),
    ],
    ids=["pass", "fail", "setup", "teardown", "skip", "xfail", "xpass", "rerun", "subtest", "worker-crash"],
)
def test_phases_make_one_result(phases: list[dict[str, Any]], expected: tuple[Status, str, str]) -> None:
    assert one(*phases) == expected


def test_a_strict_xpass_is_a_failure_with_a_note() -> None:
    told = {"error": "", "message": "[XPASS(strict)] why"}
    report = read(START, collected("t"), phase("call", "failed", failure=told), phase("teardown"), END)
    assert (report.results[0].status, report.results[0].note) == (Status.FAIL, "xpass")


def test_durations_of_the_phases_add_up() -> None:
    assert read(START, phase("setup"), phase("call"), phase("teardown")).results[0].duration_ms == 4


def test_how_it_ended() -> None:
    whole = (START, collected("t"), phase("teardown"))
    assert read(*whole, END).ended is RunEnd.FINISHED
    assert read(*whole, exit_code=0).ended is RunEnd.EARLY_EXIT
    assert read(*whole, exit_code=1).ended is RunEnd.DIED
    assert read(*whole, END, exit_code=None).ended is RunEnd.DIED
    assert read(*whole, END, timed_out=True).ended is RunEnd.TIMEOUT
    assert read(START, collected("t"), END).ended is RunEnd.EARLY_EXIT
    assert read(START, collected("t"), exit_code=1).ended is RunEnd.EARLY_EXIT
    assert read(START, END).ended is RunEnd.NO_START
    assert read(exit_code=0).ended is RunEnd.NO_START


def test_a_test_that_was_running_at_the_end_is_an_error() -> None:
    began = (START, collected("t"), {"kind": "started", "id": "t"}, phase("setup"))
    for options, kind in (({"timed_out": True}, "Timeout"), ({"exit_code": None}, "Crash"), ({}, "Crash")):
        (result,) = read(*began, **options).results
        assert result.status is Status.ERROR
        assert result.failure is not None
        assert result.failure.kind == kind


def test_lines_of_others_are_counted_and_ignored() -> None:
    lines = [b"other {}", b"n not json", b"n []", b'n {"kind": "test"}', b'n {"kind": "new"}', b"", b"n\xff"]
    report = parse(RunnerAnswer(CALL, 0, timed_out=False, duration_ms=1, output=b"", lines=tuple(lines)))
    assert (report.strays, report.results) == (6, ())


def test_one_line() -> None:
    assert read_line(b'n {"kind": "end"}', "n") == {"kind": "end"}
    assert read_line(b'm {"kind": "end"}', "n") == {}
