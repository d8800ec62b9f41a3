from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from runners.outlines import outline, pages
from support.node_tools import told
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.runners.node.report import REPORT, parse
from verdigris.runners.node.selection import batches, name_pattern
from verdigris.runners.protocol import RunnerAnswer, RunnerCall, TestRequest


def check_node_report(report: TestReport, tool: str, ending: str) -> None:
    """What a run of a recorded project says, in every version of the tool; `ending`: that of its files."""
    assert outline(report, messages=False) == pages("node")[tool]
    lacking = report.result(f"test/calc.test.{ending}::missing export")
    assert lacking is not None
    assert lacking.failure is not None
    assert lacking.failure.subject == f"src/calc.{ending}"


FILE = "/w/p/t.test.js"
START = {"kind": "start", "tool": "vitest", "cwd": "/w/p"}
END = {"kind": "end"}


def collected(*names: str, project: str = "") -> dict[str, Any]:
    return {"kind": "collected", "file": FILE, "project": project, "tests": [[name] for name in names]}


def ended_test(name: str, state: str = "pass", **more: Any) -> dict[str, Any]:
    return {"kind": "test", "file": FILE, "names": [name], "state": state, "ms": 1, "line": 3, **more}


def started(name: str) -> dict[str, Any]:
    return {"kind": "started", "file": FILE, "names": [name]}


def answer(*messages: dict[str, Any], exit_code: int | None = 0, timed_out: bool = False) -> RunnerAnswer:
    lines = b"".join(json.dumps({"n": n, **message}).encode() + b"\n" for n, message in enumerate(messages))
    called = RunnerCall(("node",), "/w", "c", {REPORT: "/r/secret.jsonl"})
    return RunnerAnswer(
        called, exit_code, timed_out, 5, b"said", {"secret.jsonl": lines, "other.jsonl": b"{}\n"}
    )


def read(*messages: dict[str, Any], exit_code: int | None = 0, timed_out: bool = False) -> TestReport:
    answers = (answer(*messages, exit_code=exit_code, timed_out=timed_out),)
    return parse(TestRequest((), "/w", "p", "/r"), answers)


def results(report: TestReport) -> dict[str, str]:
    return {result.native_id.removeprefix("p/t.test.js::"): told(result) for result in report.results}


@pytest.mark.parametrize(
    ("messages", "exit_code", "timed_out", "ended"),
    [
        ([START, collected("a"), ended_test("a"), END], 0, False, RunEnd.FINISHED),
        ([START, collected("a"), ended_test("a")], 0, False, RunEnd.EARLY_EXIT),
        ([START, collected("a", "b"), ended_test("a"), END], 0, False, RunEnd.EARLY_EXIT),
        ([START, collected("a"), started("a")], 1, False, RunEnd.EARLY_EXIT),
        ([START], 1, False, RunEnd.DIED),
        ([START, collected("a"), started("a")], None, False, RunEnd.DIED),
        ([START, collected("a"), started("a")], None, True, RunEnd.TIMEOUT),
        ([], 1, False, RunEnd.NO_START),
        (
            [START, {"kind": "file-end", "file": FILE, "whole": False, "signal": None}, END],
            0,
            False,
            RunEnd.EARLY_EXIT,
        ),
    ],
)
def test_how_a_run_ended(
    messages: list[dict[str, Any]], exit_code: int | None, timed_out: bool, ended: RunEnd
) -> None:
    assert read(*messages, exit_code=exit_code, timed_out=timed_out).ended is ended


@pytest.mark.parametrize(
    "said", [b"No tests found, exiting with code 1\n", b"x\nNo test files found, exiting with code 1\n"]
)
def test_files_that_are_not_there_are_no_refusal_to_start(said: bytes) -> None:
    empty = replace(answer(exit_code=1), output=said)
    report = parse(TestRequest((), "/w", "p", "/r"), (empty,))
    assert (report.ended, report.results, report.collected) == (RunEnd.FINISHED, (), ())


def test_the_test_that_hung_is_named() -> None:
    messages = [START, collected("a", "b", "c"), started("a"), {**started("a"), "kind": "left"}, started("b")]
    report = read(*messages, exit_code=None, timed_out=True)
    assert results(report) == {"b": "error Timeout"}


def test_where_none_is_known_to_have_begun_all_that_were_due_are_named() -> None:
    report = read(START, collected("a", "b"), exit_code=None, timed_out=True)
    assert results(report) == {"a": "error Timeout", "b": "error Timeout"}


def read_stopped(*messages: dict[str, Any], frames: list[Any], names: list[str] | None) -> TestReport:
    record = json.dumps({"seconds": 4.0, "frames": frames, "names": names}).encode()
    one = answer(START, *messages, exit_code=1)
    stopped = replace(one, reports={**one.reports, "secret.jsonl.stop": record})
    return parse(TestRequest((), "/w", "p", "/r"), (stopped,))


def test_the_test_that_was_stopped_is_named_by_what_the_tool_knew_of_it() -> None:
    frames = [["/w/p/node_modules/x/a.js", 1], ["/w/p/t.test.js", 7], ["/w/p/src/a.js", 2], ["/else/b.js", 3]]
    report = read_stopped(collected("a", "b", "c"), ended_test("a"), frames=frames, names=["b"])
    assert results(report) == {"a": "pass", "b": "fail Timeout p:7 p:2"}
    assert report.ended is RunEnd.EARLY_EXIT
    known = read_stopped(frames=frames, names=["b"])  # node:test says no sooner which tests there are
    assert results(known) == {"b": "fail Timeout p:7 p:2"}


def test_where_no_place_is_known_the_test_that_began_is_stopped_and_without_one_the_file() -> None:
    assert results(read_stopped(collected("a", "b"), started("b"), frames=[], names=None)) == {
        "b": "fail Timeout"
    }
    loading = read_stopped(frames=[["/w/p/t.test.js", 1], ["/w/p/src/a.js", 2]], names=None)
    assert [(error.path, error.kind, error.message) for error in loading.errors] == [
        ("p/t.test.js", "Timeout", "stopped after 4 s, while it ran in p/src/a.js:2")
    ]
    assert loading.results == ()


def test_a_test_without_a_result_is_no_pass() -> None:
    report = read(START, collected("a", "b"), ended_test("a"), ended_test("b", "none"), END, exit_code=1)
    assert results(report) == {"a": "pass", "b": "error Crash"}
    assert report.ended is RunEnd.EARLY_EXIT


def test_of_tests_with_one_name_the_worst_counts() -> None:
    report = read(START, collected("a", "a"), ended_test("a", "fail"), ended_test("a"), END, exit_code=1)
    assert results(report) == {"a": "fail Error p:3"}


def test_more_results_than_tests_are_an_error() -> None:
    report = read(START, collected("a"), ended_test("a", "fail"), ended_test("a"), END)
    assert results(report) == {"a": "error ReportedTwice"}


def test_a_file_reported_twice_is_an_error_unless_two_projects_have_it() -> None:
    twice = read(START, collected("a"), collected("a"), ended_test("a"), ended_test("a"), END)
    assert [error.kind for error in twice.errors] == ["ReportedTwice"]
    apart = read(START, collected("a"), collected("a", project="x"), ended_test("a"), ended_test("a"), END)
    assert (apart.errors, results(apart)) == ((), {"a": "pass"})


def test_lines_that_the_reporter_did_not_write_are_strays() -> None:
    good = answer(START, collected("a"), ended_test("a", "fail"), END, exit_code=1)
    lines = good.reports["secret.jsonl"]
    forged = json.dumps({"n": 4, **ended_test("a")}).encode() + b"\n"
    for text, strays in ((lines + forged, 1), (lines + b"junk\n[]\n", 2), (b"{}\n" + lines, 5)):
        bad = RunnerAnswer(good.call, 0, False, 5, b"", {"secret.jsonl": text})
        report = parse(TestRequest((), "/w", "p", "/r"), (bad,))
        assert report.strays == strays
        assert Status.PASS not in {result.status for result in report.results}


def test_an_exit_code_that_no_result_explains_is_an_error() -> None:
    report = read(START, collected("a"), ended_test("a"), END, exit_code=1)
    assert [error.kind for error in report.errors] == ["ExitCode"]


def test_nothing_asked_of_a_second_try_is_kept_from_the_first() -> None:
    report = read(START, ended_test("a", "fail"), {"kind": "again", "file": FILE}, ended_test("b"), END)
    assert results(report) == {"b": "pass"}


def test_paths_are_found_through_a_link_too() -> None:
    linked = {**START, "cwd": "/real/p"}
    report = read(linked, {**ended_test("a"), "file": "/real/p/t.test.js", "defined": "/elsewhere/x.js"}, END)
    (result,) = report.results
    assert (result.native_id, result.defined_in) == ("p/t.test.js::a", "/elsewhere/x.js")


@pytest.mark.parametrize(
    ("stack", "frames"),
    [
        ("    at f (/w/p/src/x.ts?v=12:4:5)\n    at /w/p/t.test.js:9:1", ["p/t.test.js:9", "p/src/x.ts:4"]),
        ("    at async file:///w/p/s%20(1)/x.mjs:4:5", ["p/t.test.js:3", "p/s (1)/x.mjs:4"]),
        (
            "    at g (/w/p/src/x.js:7:1)\n    at Timeout._onTimeout (node:internal/timers:1:2)",
            ["p/t.test.js:3", "p/src/x.js:7"],
        ),
        (
            "    at lib (/w/p/node_modules/lib/i.js:2:2)\n    at f (/w/p/t.test.js:8:1)",
            ["p/t.test.js:8", "p/node_modules/lib/i.js:2"],
        ),
        (
            "    at t (/w/p/node_modules/@vitest/expect/i.js:2:2)\n    at f (/w/p/t.test.js:8:1)",
            ["p/t.test.js:8"],
        ),
        (
            "    at h (/w/p/src/(auth)/x.ts:7:1)\n    at new T (/w/p/t.test.js:8:1)",
            ["p/t.test.js:8", "p/src/(auth)/x.ts:7"],
        ),
    ],
)
def test_frames_go_from_the_test_down(stack: str, frames: list[str]) -> None:
    error = {"name": "TypeError", "message": "m", "stack": f"TypeError: m\n{stack}"}
    (result,) = read(START, ended_test("a", "fail", errors=[error]), END, exit_code=1).results
    assert result.failure is not None
    assert [f"{frame.path}:{frame.line}" for frame in result.failure.frames] == frames
    assert result.failure.place == result.failure.frames[-1]


def test_several_calls_are_one_report() -> None:
    first = answer(START, collected("a", "b"), ended_test("a"), ended_test("b", "skip"), END)
    second = answer(
        START, collected("a", "b"), ended_test("a", "skip"), ended_test("b", "fail"), END, exit_code=1
    )
    report = parse(TestRequest(("p/t.test.js::a", "p/t.test.js::b"), "/w", "p", "/r"), (first, second))
    assert results(report) == {"a": "skip", "b": "fail Error p:3"}
    assert (report.exit_code, report.duration_ms, report.command) == (1, 10, "c && c")


def test_a_selection_too_long_for_one_argument_is_split() -> None:
    names = tuple(f"t.test.js::{'x' * 90} {number}" for number in range(3000))
    made = batches(TestRequest(names, "/w", "", "/r"))
    assert all(len(batch.pattern or "") < 128 * 1024 for batch in made)
    assert sum((batch.pattern or "").count("|") + 1 for batch in made) == 3000
    assert len(made) > 1


def test_a_pattern_is_plain_ascii_and_matches_units_not_characters() -> None:
    assert name_pattern(["ü", "🎉."]) == r"\u00fc (?:> )?\ud83c\udf89\u002e"
    assert name_pattern(["", "x"]) == "(?: (?:> )?)?x"
