from __future__ import annotations

from dataclasses import replace

import pytest

from verdigris.cli import testing as view
from verdigris.core.events import TestRun
from verdigris.core.report import (
    CollectError,
    Failure,
    Place,
    RunEnd,
    RunPhase,
    Status,
    TestReport,
    TestResult,
)
from verdigris.core.verdict.redness import WHY_NOT
from verdigris.turns import test_record

pytestmark = pytest.mark.quick

REPORT = TestReport("python -m pytest", RunEnd.FINISHED, 1, 1234, sandbox="overlay")
RED = TestRun(
    test_id="tests/test_a.py::test_a",
    test_id_source="native",
    status=Status.FAIL,
    command="python -m pytest",
    duration_ms=12,
    tree="t1",
    native_id="tests/test_a.py::test_a",
    red="valid",
    failure="AssertionError: assert 1 == 2",
    place="tests/test_a.py:4",
)
GREEN = replace(RED, test_id="tests/test_a.py::test_b", status=Status.PASS, red=None, failure="", place="")


def _texts(tested: test_record.Tested, *, quiet: bool = False) -> list[str]:
    return [line.text for line in view.report_lines(tested, quiet=quiet)]


def test_a_valid_red_shows_its_failure_and_place() -> None:
    tested = test_record.Tested((RED, GREEN), REPORT, "red", "`tdd claim X PATH`")
    assert _texts(tested) == [
        "fail tests/test_a.py::test_a  red: valid",
        "    AssertionError: assert 1 == 2 (tests/test_a.py:4)",
        "1 passed, 1 failed in 1.23 s; phase red",
        "next: `tdd claim X PATH`",
    ]
    assert view.report_lines(tested)[0].dot == "red"


def test_an_invalid_red_says_why_not_and_what_to_do() -> None:
    tested = test_record.Tested((replace(RED, status=Status.ERROR, red="fixture"),), REPORT, "red", "-")
    reason, following = WHY_NOT["fixture"]
    assert f"    no valid red: {reason}" in _texts(tested)
    assert f"    next: {following}" in _texts(tested)


def test_a_reason_that_the_table_does_not_know_is_still_shown() -> None:
    assert any(
        "(unheard-of)" in text
        for text in _texts(test_record.Tested((replace(RED, red="unheard-of"),), REPORT, "red", "-"))
    )


def test_a_skip_has_a_yellow_dot_and_no_red() -> None:
    tested = test_record.Tested(
        (replace(RED, status=Status.SKIP, red=None, failure="", place=""),), REPORT, "red", "-"
    )
    line = view.report_lines(tested)[0]
    assert (line.text, line.dot) == ("skip tests/test_a.py::test_a", "yellow")


def test_quiet_leaves_only_the_summary() -> None:
    assert _texts(test_record.Tested((RED,), REPORT, "red", "-"), quiet=True) == [
        "1 failed in 1.23 s; phase red"
    ]


def test_nothing_run_is_said() -> None:
    assert _texts(test_record.Tested((), REPORT, "red", "-"), quiet=True) == [
        "no test was run in 1.23 s; phase red"
    ]


def test_an_answer_from_the_log_is_said_to_be_one() -> None:
    tested = test_record.Tested((RED,), None, "red", "-")
    assert "(cached" in _texts(tested, quiet=True)[0]
    assert view.report_document(tested)["tests"][0]["cached"] is True
    assert view.report_document(tested)["ended"] is None


def test_a_run_that_did_not_finish_shows_the_tail_and_the_output_of_its_last_test() -> None:
    died = TestResult("t::x", "t::x", "native", Status.ERROR, RunPhase.CALL, 1, output="the last words")
    report = replace(REPORT, ended=RunEnd.DIED, results=(died,), tail="Fatal Python error\n" * 100)
    texts = _texts(test_record.Tested((), report, "red", "-"))
    assert "    the last words" in texts
    assert texts.count("    Fatal Python error") == view.MOST_OUTPUT
    assert any("the test run died" in text for text in texts)


def test_a_file_that_does_not_load_says_what_to_do() -> None:
    error = CollectError("tests/test_b.py", "ModuleNotFoundError", "No module named 'nope'\nmore")
    tested = test_record.Tested((), replace(REPORT, errors=(error,)), "red", "-")
    texts = _texts(tested)
    assert texts[0] == "error tests/test_b.py  red: import"
    assert texts[1] == "    ModuleNotFoundError: No module named 'nope'"
    assert "    next: `tdd stub tests/test_b.py` declares the missing name" in " ".join(texts)
    [told] = view.report_document(tested)["tests"]
    assert (told["id"], told["status"], told["red"]) == ("tests/test_b.py", "error", "import")


def test_the_document_has_the_keys_of_the_contract() -> None:
    document = view.report_document(test_record.Tested((RED,), REPORT, "red", "go on"))
    assert document["tests"] == [
        {
            "id": "tests/test_a.py::test_a",
            "status": "fail",
            "red": "valid",
            "native_id": "tests/test_a.py::test_a",
            "id_source": "native",
            "failure": "AssertionError: assert 1 == 2",
            "place": "tests/test_a.py:4",
            "known": False,
            "over": [],
            "duration_ms": 12,
            "cached": False,
        }
    ]
    assert {k: document[k] for k in ("phase", "next", "command", "ended")} == {
        "phase": "red",
        "next": "go on",
        "command": "python -m pytest",
        "ended": "finished",
    }


def test_what_the_run_wrote_and_could_not_have_is_said_once() -> None:
    report = replace(REPORT, wrote=("tests/x.py",), notes=("no network of its own",))
    tested = test_record.Tested((GREEN,), report, "red", "-")
    assert _texts(tested)[:2] == [
        "  the run wrote tests/x.py, which the worktree did not get",
        "  no network of its own",
    ]
    document = view.report_document(tested)
    assert (document["sandbox"], document["wrote"]) == ("overlay", ["tests/x.py"])


def test_a_run_without_a_sandbox_is_told_as_such() -> None:
    tested = test_record.Tested((GREEN,), replace(REPORT, sandbox="none"), "red", "-")
    assert sum("sandbox: none" in text for text in _texts(tested)) == 1
    assert view.report_document(tested)["sandbox"] == "none"
    from_the_log = test_record.Tested((RED,), None, "red", "-")
    assert (view.report_document(from_the_log)["sandbox"], view.report_document(from_the_log)["wrote"]) == (
        None,
        [],
    )


FAILED = TestResult(
    RED.test_id,
    RED.native_id,
    "native",
    Status.FAIL,
    RunPhase.CALL,
    1,
    failure=Failure(
        "AssertionError",
        assertion=True,
        message="assert [1, 2] == [1, 3]\n  At index 1 diff: 2 != 3",
        place=Place("/usr/lib/unittest/case.py", 703),
        frames=(
            Place("tests/test_a.py", 4),
            Place("src/a.py", 9),
            Place("/usr/lib/unittest/case.py", 703),
        ),
    ),
    output="printed by the test\n",
)


def test_details_show_the_projects_own_frames_the_whole_message_and_the_output() -> None:
    tested = test_record.Tested((RED,), replace(REPORT, results=(FAILED,)), "red", "-")
    shown = view.report_lines(
        tested, detailed=True, source=lambda place: f"    line {place.line} of {place.path}"
    )
    assert [line.text for line in shown][1:-2] == [
        "    tests/test_a.py:4",
        "      > line 4 of tests/test_a.py",
        "    src/a.py:9",
        "      > line 9 of src/a.py",
        "    AssertionError: assert [1, 2] == [1, 3]",
        "        At index 1 diff: 2 != 3",
        "    output:",
        "    printed by the test",
    ]


def test_a_failure_is_placed_at_the_projects_own_line() -> None:
    assert FAILED.failure is not None
    assert FAILED.failure.own_place == Place("src/a.py", 9)


@pytest.mark.parametrize(
    "installed", [".venv/lib/python3.11/site-packages/_pytest/x.py", "node_modules/x.js"]
)
def test_what_is_installed_below_the_project_is_not_its_own(installed: str) -> None:
    frames = (Place("tests/test_a.py", 4), Place(installed, 162))
    failure = Failure("Failed", assertion=True, message="", place=frames[-1], frames=frames)
    assert failure.own_place == Place("tests/test_a.py", 4)


def test_below_a_stub_that_panics_its_backtrace_is_left_out() -> None:
    assert FAILED.failure is not None
    message = "panic: STUB:TDD [recovered]\n\ngoroutine 7 [running]:\ntesting.tRunner.func1.2"
    stubbed = replace(
        FAILED, failure=replace(FAILED.failure, message=message), output="goroutine 7 [running]:\n" * 20
    )
    shown = view.report_lines(
        test_record.Tested((RED,), replace(REPORT, results=(stubbed,)), "red", "-"), detailed=True
    )
    assert [line.text for line in shown][1:-2] == [
        "    tests/test_a.py:4",
        "    src/a.py:9",
        "    AssertionError: panic: STUB:TDD [recovered]",
    ]
