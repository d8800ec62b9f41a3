"""What a set of runs means: the true one passes, every changed one fails where it was changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verdigris.checks.liveness.grammar_judgement import Member, TriedTests, judge_set
from verdigris.checks.liveness.judgement import describe_unseen
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
from verdigris.languages.probes import Probe, ProbeChange, Try

pytestmark = pytest.mark.quick

PATH, NAME = "a.test.js", "adds"
TEST = f"{PATH}::{NAME}"
ASKED = TriedTests((TEST,))
SURE = Probe(PATH, 3, "expect(f()).toBe(3)", (ProbeChange(()),), frozenset({TEST}))
UNSURE = replace(SURE, names=frozenset(), maybe=frozenset({TEST}))
AT_TEST = Failure("AssertionError", assertion=True, message="3 is not 4", place=Place(PATH, 3))
IN_SOURCE = Failure("RangeError", assertion=False, message="no", place=Place("src/f.js", 9))


def report(
    status: Status | None = Status.PASS,
    failure: Failure | None = None,
    ended: RunEnd = RunEnd.FINISHED,
    native: str = TEST,
) -> TestReport:
    results: tuple[TestResult, ...] = ()
    if status is not None:
        results = (TestResult(native, native, "native", status, RunPhase.CALL, 1, failure),)
    return TestReport("node --test", ended, 0, 1, results)


def changed(probe: Probe, run: TestReport) -> Member:
    return Member((Try(probe, probe.changes[0]),), run)


FAILS = report(Status.FAIL, AT_TEST)


def test_all_as_it_should_be_says_nothing() -> None:
    judged = judge_set(ASKED, [SURE], report(), [changed(SURE, FAILS)], 1)
    assert (judged.hollow, judged.unreached, judged.doubts) == ((), (), ())


def test_one_changed_text_that_passes_is_enough() -> None:
    """Whatever the others do: there is no second chance."""
    members = [changed(SURE, FAILS), changed(SURE, report()), changed(SURE, FAILS)]
    judged = judge_set(ASKED, [SURE], report(), members, 3)
    assert judged.hollow == (
        f"{PATH}:3: `expect(f()).toBe(3)`: with this assertion changed, {TEST} still passes",
    )
    assert judged.doubts == ()


@pytest.mark.parametrize(
    ("run", "why"),
    [(FAILS, "3 is not 4"), (report(None), "it was not run"), (report(None, ended=RunEnd.DIED), "died")],
)
def test_the_true_text_must_pass_too(run: TestReport, why: str) -> None:
    judged = judge_set(ASKED, [SURE], run, [changed(SURE, FAILS)], 1)
    assert len(judged.doubts) == 1
    assert "passes in the suite, but not when only its own file is run" in judged.doubts[0]
    assert why in judged.doubts[0]


def test_an_assertion_that_nobody_saw_run_is_hollow() -> None:
    judged = judge_set(ASKED, [UNSURE], report(), [changed(UNSURE, report())], 1)
    assert judged.hollow == (describe_unseen(TEST),)


def test_one_that_was_seen_to_fail_is_none() -> None:
    members = [changed(UNSURE, report()), changed(UNSURE, FAILS)]
    assert judge_set(ASKED, [UNSURE], report(), members, 2).doubts == ()


def test_a_failure_of_the_source_is_no_failure_of_the_assertion() -> None:
    judged = judge_set(ASKED, [SURE], report(), [changed(SURE, report(Status.FAIL, IN_SOURCE))], 1)
    assert "it fails somewhere else" in judged.doubts[0]


@pytest.mark.parametrize(
    ("ended", "why"), [(RunEnd.TIMEOUT, "no time was left"), (RunEnd.EARLY_EXIT, "the run ended early")]
)
def test_a_test_of_which_no_try_ended_is_in_doubt(ended: RunEnd, why: str) -> None:
    judged = judge_set(ASKED, [SURE], report(), [changed(SURE, report(None, ended=ended))], 1)
    assert judged.doubts == (f"{TEST}: no run with a changed assertion finished: {why}",)


def test_what_does_not_build_is_in_doubt() -> None:
    unbuilt = replace(report(None), errors=(CollectError("tests/a.rs", "E0308", "mismatched types"),))
    judged = judge_set(ASKED, [SURE], report(), [changed(SURE, unbuilt)], 1)
    assert "does not build: mismatched types" in judged.doubts[0]


def test_how_many_were_tried_is_told_when_time_was_short() -> None:
    judged = judge_set(ASKED, [SURE], report(), [changed(SURE, FAILS)], 6)
    assert judged.unreached == ("1 of 6 changed texts were tried: `liveness.seconds` was used up",)
    assert judged.doubts == ()


def test_a_test_that_only_has_an_opposite_is_named() -> None:
    opposite = replace(SURE, changes=(ProbeChange((), plausible=False),))
    judged = judge_set(ASKED, [opposite], report(), [changed(opposite, FAILS)], 1)
    assert judged.unreached == (
        f"{TEST}: no other expected value was found for it; only the opposite was tried",
    )


def test_an_unclaimed_test_is_judged_alike() -> None:
    asked = TriedTests((), (TEST,))
    assert TEST in judge_set(asked, [SURE], report(), [changed(SURE, report())], 1).hollow[0]
    assert TEST in judge_set(asked, [SURE], FAILS, [changed(SURE, FAILS)], 1).doubts[0]


def test_that_nothing_is_seen_of_an_unclaimed_test_is_nobodys_doubt() -> None:
    judged = judge_set(TriedTests((), (TEST,)), [UNSURE], report(), [changed(UNSURE, report())], 1)
    assert (judged.hollow, judged.doubts) == ((), ())


@pytest.mark.parametrize(("status", "hollow"), [(Status.FAIL, 0), (Status.PASS, 1)])
def test_a_row_that_names_its_test_is_found_by_its_new_name(status: Status, hollow: int) -> None:
    renamed = report(status, AT_TEST if status is Status.FAIL else None, native=f"{PATH}::adds 4")
    judged = judge_set(ASKED, [SURE], report(), [changed(SURE, renamed)], 1)
    assert len(judged.hollow) == hollow
    assert judged.doubts == ()
