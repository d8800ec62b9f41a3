from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.kata_run import SOURCE, start
from verdigris.core.actions import Deny
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
from verdigris.core.verdict import Kind, Verdict
from verdigris.models.roles import feedback
from verdigris.models.roles.answer import RefusedAnswer

ID = "tests/test_a.py::test_sum"
HELD = "tests/test_held.py"


def result(test_id: str = ID, status: Status = Status.FAIL, message: str = "assert 0 == 3") -> TestResult:
    failure = Failure("AssertionError", assertion=True, message=message, place=Place("tests/test_a.py", 4))
    return TestResult(test_id, test_id, "native", status, RunPhase.CALL, 1, failure)


def run(
    red: str | None = "valid", test_id: str = ID, failure: str = "AssertionError: assert 0 == 3"
) -> TestRun:
    return TestRun(
        test_id=test_id,
        test_id_source="native",
        status=Status.FAIL if red else Status.PASS,
        command="pytest",
        duration_ms=1,
        tree="t",
        native_id=test_id,
        red=red,
        failure=failure,
        place="tests/test_a.py:4",
    )


def report(*results: TestResult, **about: Any) -> TestReport:
    return replace(TestReport("pytest", RunEnd.FINISHED, 1, 1, results), **about)


def test_a_refused_answer_goes_back_with_every_reason_and_the_files_it_had_not_seen() -> None:
    material = replace(start(), files={SOURCE: "x = 1\n"})
    said = feedback.refused_answer(RefusedAnswer(("one", "two"), (SOURCE,)), material)
    assert "- one\n- two\n" in said
    assert f"## {SOURCE}\n```\nx = 1\n```" in said


def test_a_denial_goes_back_without_moves_for_a_shell() -> None:
    said = feedback.describe_denial(Deny("red-first", "No source edit without a red.", "run `tdd test ID`"))
    assert "[red-first]: No source edit without a red." in said
    assert "tdd test" not in said


def test_a_wrong_red_is_told_with_its_way_out() -> None:
    said = feedback.wrong_red([run("passing", failure="")], report())
    assert f"- {ID}: it passes already, so it asks for nothing new; assert behaviour" in said
    assert "Your edits were taken back" in said


def test_a_file_that_did_not_load_is_told() -> None:
    error = CollectError("tests/test_a.py", "ImportError", "cannot import name 'sub'\nmore")
    said = feedback.wrong_red([], report(errors=(error,)))
    assert "tests/test_a.py: an import failed" in said
    assert "ImportError: cannot import name 'sub'" in said
    assert "STUB:TDD" in said


def test_moves_for_a_shell_are_left_out() -> None:
    said = feedback.wrong_red([run("syntax"), run("skipped")], report())
    assert "correct the syntax error" in said
    assert "tdd test" not in said


def test_nothing_red_at_all_is_told() -> None:
    assert "every test passes already" in feedback.wrong_red([run(None)], report())


@pytest.mark.parametrize(
    ("tests", "seen", "why"),
    [
        ([], report(), "no test was run"),
        ([], report(ended=RunEnd.NO_START, tail="usage: pytest\n"), "did not end as it should (no-start)"),
    ],
)
def test_a_run_that_shows_nothing_is_told(tests: list[TestRun], seen: TestReport, why: str) -> None:
    assert why in feedback.wrong_red(tests, seen)


def test_what_else_does_not_pass_beside_a_good_red_is_told() -> None:
    said = feedback.describe_spoilt([run("missing-name")], report(result()), withheld=frozenset({HELD}))
    assert "There is a good red" in said
    assert f"- {ID}: does not pass" in said
    assert "assert 0 == 3" in said


def test_addresses_are_left_out() -> None:
    odd = result(message="assert -1 == 5\n where -1 = <function add at 0x7fa962bf91c0>(2, 3)")
    assert "<function add at 0x…>" in feedback.describe_verdict(Verdict(Kind.STILL_RED), report(odd))


def test_a_settlement_is_told_with_the_failing_tests_message_and_place() -> None:
    verdict = Verdict(Kind.STILL_RED, (f"{ID}: AssertionError",))
    said = feedback.describe_verdict(verdict, report(result(message="assert 0 == 3\n  where 0 = add('1,2')")))
    assert "Not accepted [still-red]. The red test does not pass yet." in said
    assert said.count(ID) == 1
    assert (
        f"{ID}: AssertionError at tests/test_a.py:4:\n```\nassert 0 == 3\n  where 0 = add('1,2')\n```" in said
    )


def test_lines_are_quoted_as_they_were_judged_since_a_formatter_moves_them() -> None:
    """The model wrote another text: a number alone would point at the wrong line of it."""
    quoted = {("tests/test_a.py", 4): " `assert add('') == 3`", ("calc.py", 17): " `if numbers:`"}
    said = feedback.describe_verdict(
        Verdict(Kind.STILL_RED, (f"{ID}: AssertionError",)),
        report(result()),
        quote=lambda path, line: quoted[path, line],
    )
    assert f"{ID}: AssertionError at tests/test_a.py:4 `assert add('') == 3`:" in said
    unasked = Verdict(
        Kind.HOLLOW, ("unasked: calc.py:17 total: no test runs it; claim a red for it, or take it out",)
    )
    said = feedback.describe_verdict(unasked, None, quote=lambda path, line: quoted[path, line])
    assert "calc.py:17 total `if numbers:`" in said


def test_what_a_linter_said_is_told_from_its_end() -> None:
    output = "".join(f"line {n}\n" for n in range(100))
    verdict = Verdict(Kind.REGRESSED, ("check failed: ruff check",))
    for said in (
        feedback.describe_verdict(verdict, report(), (output,)),
        feedback.tool_failed("check", "ruff", output),
    ):
        assert "line 99" in said
        assert "line 3\n" not in said


def test_a_long_failure_is_cut() -> None:
    said = feedback.describe_verdict(Verdict(Kind.STILL_RED), report(result(message="line\n" * 500)))
    assert said.count("line\n") < 40
    assert "lines more" in said


def test_many_failures_are_not_all_told() -> None:
    results = [result(f"tests/test_a.py::test_{n}") for n in range(30)]
    said = feedback.describe_verdict(Verdict(Kind.REGRESSED), report(*results))
    assert "… and 25 more that fail" in said


def test_a_run_that_died_is_told_by_its_last_lines() -> None:
    said = feedback.describe_verdict(
        Verdict(Kind.BROKEN), report(ended=RunEnd.NO_START, tail="no module named x\n")
    )
    assert "no module named x" in said


@pytest.mark.parametrize("kind", [Kind.OVERFIT, Kind.STILL_RED, Kind.BROKEN])
def test_nothing_of_a_held_out_test_is_told(kind: Kind) -> None:
    held = result(f"{HELD}::test_secret", message="assert 'hush' == 1")
    error = CollectError(HELD, "SyntaxError", "hush")
    seen = report(held, errors=(error,), ended=RunEnd.DIED, tail=f"{HELD}: hush")
    verdict = Verdict(kind, (f"{HELD}::test_secret: hush",))
    withheld = frozenset({HELD})
    said = feedback.describe_verdict(verdict, seen, withheld=withheld)
    said += feedback.wrong_red([run("syntax", f"{HELD}::test_secret", "hush")], seen, withheld=withheld)
    assert "hush" not in said
    assert "secret" not in said
    assert HELD not in said


def test_of_tests_that_are_held_out_only_the_meaning_is_told() -> None:
    said = feedback.describe_verdict(
        Verdict(Kind.OVERFIT, ("a held-out test fails: hush",)), report(result()), ("hush",)
    )
    assert "Implement the behaviour that is described" in said
    assert "hush" not in said
    assert ID not in said


def test_a_limit_is_told() -> None:
    assert "The edits were not accepted: 12 files, at most 5." in feedback.not_allowed("12 files, at most 5.")
