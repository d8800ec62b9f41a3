"""Which tests end differently outside the room and in it."""

from __future__ import annotations

from verdigris.core.report import (
    CollectError,
    Failure,
    RoomDifference,
    RunEnd,
    RunPhase,
    Status,
    TestReport,
    TestResult,
    differences,
    only,
)


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
