from __future__ import annotations

import pytest

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
from verdigris.core.verdict import Before, Kind, Tool, TrialFacts, first_line, judge

CLAIMED = {"slug": "t.py::a"}


def result(native: str, status: Status = Status.PASS, failure: Failure | None = None) -> TestResult:
    return TestResult(native, native, "native", status, RunPhase.CALL, 1, failure)


def report(*results: TestResult, ended: RunEnd = RunEnd.FINISHED, **more: object) -> TestReport:
    return TestReport("pytest", ended, 0, 1, results, tuple(r.native_id for r in results), **more)  # type: ignore[arg-type]


def test_claimed_tests_that_pass_are_accepted() -> None:
    assert judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a")))).kind is Kind.ACCEPTED


@pytest.mark.parametrize("kind", ["ExitCode", "ReportedTwice", "Miscounted"])
def test_a_report_that_contradicts_itself_proves_nothing(kind: str) -> None:
    errors = (CollectError("", kind, "it exited with 1 although no test failed"),)
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a"), errors=errors)))
    assert (verdict.kind, verdict.reasons) == (Kind.BROKEN, ("it exited with 1 although no test failed",))


@pytest.mark.parametrize("status", [Status.FAIL, Status.ERROR, Status.SKIP])
def test_anything_but_a_pass_is_still_red(status: Status) -> None:
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a", status))))
    assert (verdict.kind, verdict.failing) == (Kind.STILL_RED, ("slug",))


def test_a_claimed_test_that_was_not_run_is_still_red() -> None:
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::other"))))
    assert verdict.kind is Kind.STILL_RED
    assert verdict.reasons == ("slug: not run",)


def test_a_file_that_does_not_load_is_named_as_the_reason() -> None:
    error = CollectError("t.py", "SyntaxError", "invalid syntax (calc.py, line 3)")
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(errors=(error,))))
    assert verdict.reasons == ("slug: not collected: invalid syntax (calc.py, line 3)",)


def test_the_reason_tells_kind_place_and_message() -> None:
    failure = Failure("AssertionError", True, "assert 1 == 2\n + where", Place("t.py", 7))
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a", Status.FAIL, failure))))
    assert verdict.reasons == ("slug: AssertionError at t.py:7: assert 1 == 2",)


def test_a_test_that_passed_before_and_fails_now_has_regressed() -> None:
    after = report(result("t.py::a"), result("t.py::b", Status.FAIL))
    assert judge(TrialFacts(CLAIMED, Before({"t.py::b": Status.PASS}), after)).kind is Kind.REGRESSED


def test_a_test_that_passed_before_and_is_gone_has_regressed() -> None:
    verdict = judge(TrialFacts(CLAIMED, Before({"t.py::b": Status.PASS}), report(result("t.py::a"))))
    assert (verdict.kind, verdict.reasons) == (Kind.REGRESSED, ("t.py::b: not run",))


def test_a_test_that_failed_before_may_go_on_failing() -> None:
    after = report(result("t.py::a"), result("t.py::b", Status.FAIL))
    assert judge(TrialFacts(CLAIMED, Before({"t.py::b": Status.FAIL}), after)).accepted


def test_an_unstable_test_is_a_concern_and_no_regression() -> None:
    after = report(result("t.py::a"), result("t.py::b", Status.FAIL))
    verdict = judge(TrialFacts(CLAIMED, Before({"t.py::b": Status.PASS}, frozenset({"t.py::b"})), after))
    assert verdict.accepted
    assert "t.py::b" in verdict.concerns[0]


def test_drift_is_tampered_whatever_the_tests_say() -> None:
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a")), drift=("tests/conftest.py",)))
    assert (verdict.kind, verdict.reasons) == (
        Kind.TAMPERED,
        ("tests/conftest.py changed while it was frozen",),
    )


@pytest.mark.parametrize("ended", [e for e in RunEnd if e is not RunEnd.FINISHED])
def test_a_run_that_did_not_end_properly_is_broken(ended: RunEnd) -> None:
    assert judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a"), ended=ended))).kind is Kind.BROKEN


def test_a_foreign_hand_on_the_channel_is_broken() -> None:
    assert judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a"), strays=1))).kind is Kind.BROKEN


def test_source_that_moved_during_the_run_is_broken() -> None:
    assert (
        judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a")), moved=("src/a.py",))).kind
        is Kind.BROKEN
    )


def test_green_without_an_edit_is_broken() -> None:
    assert (
        judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a")), changed=False)).kind is Kind.BROKEN
    )


def test_a_test_that_stands_but_is_not_collected_any_more_is_a_weakening() -> None:
    verdict = judge(TrialFacts(CLAIMED, Before({}, uncollected=("t.py::b",)), report(result("t.py::a"))))
    assert verdict.kind is Kind.WEAKENED
    assert "t.py::b" in verdict.reasons[0]


def test_a_failing_held_out_test_is_overfit_and_says_no_more() -> None:
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a")), held_out=False))
    assert (verdict.kind, verdict.reasons) == (Kind.OVERFIT, ("a held-out test fails",))


def test_what_blocks_is_hollow_and_what_is_noted_is_a_concern() -> None:
    found = judge(
        TrialFacts(
            CLAIMED, Before({}), report(result("t.py::a")), blocking=("t.py:3 passes",), noted=("odd",)
        )
    )
    assert (found.kind, found.reasons, found.concerns) == (Kind.HOLLOW, ("t.py:3 passes",), ("odd",))
    assert judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a")), noted=("odd",))).accepted


def test_a_failing_check_is_refused_with_its_command() -> None:
    tool = Tool("check", "ruff check", ok=False, output="F401")
    verdict = judge(TrialFacts(CLAIMED, Before({}), report(result("t.py::a")), tools=(tool,)))
    assert (verdict.kind, verdict.reasons) == (Kind.REGRESSED, ("check failed: ruff check",))


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("", ""),
        ("\n  assert 1 == 2\n  + where 1 = f()", "assert 1 == 2"),
        ("Expected values to be equal:\n\n1 !== 2\n", "Expected values to be equal: 1 !== 2"),
        ("`left == right` failed\n  left: 1\n right: 2", "`left == right` failed, left: 1, right: 2"),
        ("expect(received)\n\nExpected: 2\nReceived: 1\n\nx", "expect(received), Expected: 2, Received: 1"),
        ("x" * 200, "x" * 159 + "…"),
    ],
)
def test_a_message_in_one_line_has_the_values_that_failed(message: str, line: str) -> None:
    assert first_line(message) == line
