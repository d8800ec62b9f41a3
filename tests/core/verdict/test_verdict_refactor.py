from __future__ import annotations

from verdigris.core.report import RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.verdict import Kind, LostAssertion, Restructured, Tool, judge_refactor

BEFORE = {"t.py::a": Status.PASS, "t.py::b": Status.PASS, "t.py::known": Status.FAIL}


def report(statuses: dict[str, Status], lines: dict[str, frozenset[int]] | None = None) -> TestReport:
    results = tuple(TestResult(t, t, "native", s, RunPhase.CALL, 1) for t, s in statuses.items())
    return TestReport("pytest", RunEnd.FINISHED, 0, 1, results, tuple(statuses), lines=lines or {})


def test_the_same_suite_is_accepted_with_its_known_failures() -> None:
    assert judge_refactor(Restructured(BEFORE, report(BEFORE))).accepted


def test_a_renamed_test_stands_in_one_to_one() -> None:
    after = {"t.py::a": Status.PASS, "t.py::better_name": Status.PASS}
    assert judge_refactor(Restructured(BEFORE, report(after))).accepted


def test_a_test_that_is_gone_is_named() -> None:
    verdict = judge_refactor(Restructured(BEFORE, report({"t.py::a": Status.PASS})))
    assert verdict.kind is Kind.REGRESSED
    assert "t.py::b" in verdict.reasons[0]


def test_a_test_that_fails_now_is_named() -> None:
    verdict = judge_refactor(Restructured(BEFORE, report({**BEFORE, "t.py::b": Status.FAIL})))
    assert (verdict.kind, verdict.reasons) == (Kind.REGRESSED, ("t.py::b: fail",))


def test_an_assertion_that_was_not_kept_is_a_weakening() -> None:
    finding = LostAssertion("t.py", 3, "assert total == 5 is gone")
    verdict = judge_refactor(Restructured(BEFORE, report(BEFORE), findings=(finding,)))
    assert (verdict.kind, verdict.reasons) == (Kind.WEAKENED, ("t.py:3: assert total == 5 is gone",))


def test_a_new_line_that_no_test_runs_is_refused() -> None:
    lines = {"src/a.py": frozenset({1, 2})}
    added = {"src/a.py": frozenset({2, 9})}
    verdict = judge_refactor(Restructured(BEFORE, report(BEFORE, lines), added=added))
    assert verdict.kind is Kind.REGRESSED
    assert "src/a.py:9" in verdict.reasons[0]


def test_a_new_line_that_a_test_runs_is_fine() -> None:
    lines = {"src/a.py": frozenset({2, 9})}
    assert judge_refactor(Restructured(BEFORE, report(BEFORE, lines), added=lines)).accepted


def test_frozen_paths_and_failing_verify() -> None:
    assert judge_refactor(Restructured(BEFORE, report(BEFORE), frozen=("spec.md",))).kind is Kind.TAMPERED
    verify = Tool("verify", "make verify", ok=False)
    assert judge_refactor(Restructured(BEFORE, report(BEFORE), tools=(verify,))).kind is Kind.REGRESSED


def test_a_run_that_died_is_broken() -> None:
    died = TestReport("pytest", RunEnd.DIED, None, 1)
    assert judge_refactor(Restructured(BEFORE, died)).kind is Kind.BROKEN
