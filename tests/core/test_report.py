"""Which tests end differently outside the room and in it."""

from __future__ import annotations

import pytest

from verdigris.core.report import (
    CollectError,
    Failure,
    RoomDifference,
    RunEnd,
    RunPhase,
    Status,
    SuiteNames,
    TestReport,
    TestResult,
    differences,
    merge_reports,
    only,
    suite_of,
)
from verdigris.core.settings import Stack


def result(name: str, status: Status, message: str = "") -> TestResult:
    failure = Failure("KeyError", assertion=False, message=message) if message else None
    return TestResult(name, name, "native", status, RunPhase.CALL, 1, failure)


def report(*results: TestResult, errors: tuple[CollectError, ...] = ()) -> TestReport:
    return TestReport("pytest", RunEnd.FINISHED, 0, 1, results, errors=errors)


def test_equal_ends_are_no_difference() -> None:
    one = report(result("a", Status.PASS), result("b", Status.FAIL, "x"))
    other = report(result("b", Status.FAIL, "another text"), result("a", Status.PASS))
    assert differences(one, other) == ()


def test_a_test_that_only_the_room_fails_says_why() -> None:
    outside = report(result("a", Status.PASS), result("b", Status.PASS))
    inside = report(result("a", Status.PASS), result("b", Status.FAIL, "'URL'"))
    found = differences(outside, inside)
    assert found == (RoomDifference("b", Status.PASS, Status.FAIL, "KeyError: 'URL'"),)
    assert [r.id for r in only(inside, found).results] == ["b"]


def test_a_test_that_only_the_room_passes_needs_nothing() -> None:
    outside, inside = report(result("a", Status.FAIL, "stale cache")), report(result("a", Status.PASS))
    found = differences(outside, inside)
    assert found == (RoomDifference("a", Status.FAIL, Status.PASS, "KeyError: stale cache"),)
    assert only(inside, found).results == ()


def test_a_file_that_only_the_room_cannot_load_stands_for_its_tests() -> None:
    error = CollectError("t.py", "KeyError", "'URL'")
    outside, inside = report(result("t.py::a", Status.PASS)), report(errors=(error,))
    assert differences(outside, inside) == (
        RoomDifference("t.py::a", Status.PASS, None),
        RoomDifference("t.py", None, Status.ERROR, "KeyError: 'URL'"),
    )
    assert only(inside, differences(outside, inside)).errors == (error,)


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (Stack(), SuiteNames((), ())),
        (Stack(suite=("tests/unit", "-m not slow")), SuiteNames(("tests/unit",), ("-m", "not slow"))),
        (Stack(root="services/a/", suite=("tests/x.py::y",)), SuiteNames(("services/a/tests/x.py::y",), ())),
        (Stack(suite=("-mfast",)), SuiteNames((), ("-m", "fast"))),
    ],
)
def test_names_and_marks(stack: Stack, expected: SuiteNames) -> None:
    assert suite_of(stack) == expected


GOOD = TestReport(
    "pytest", RunEnd.FINISHED, 0, 5, collected=("a",), sandbox="overlay", notes=("n",), tail="good"
)
BAD = TestReport(
    "cargo test", RunEnd.DIED, None, 7, collected=("b",), sandbox="overlay", notes=("n",), tail="bad"
)


def test_it_ended_as_badly_as_the_worst() -> None:
    both = merge_reports([GOOD, BAD])
    assert (both.command, both.ended, both.tail) == ("pytest && cargo test", RunEnd.DIED, "bad")
    assert (both.duration_ms, both.collected, both.notes) == (12, ("a", "b"), ("n",))


def test_it_is_confined_where_all_were() -> None:
    bare = TestReport("x", RunEnd.FINISHED, 0, 1)
    assert merge_reports([GOOD, BAD]).sandbox == "overlay"
    assert merge_reports([GOOD, bare]).sandbox == merge_reports([bare, GOOD]).sandbox == "none"
