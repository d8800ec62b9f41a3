"""Several reports as one."""

from __future__ import annotations

from verdigris.core.report import RunEnd, TestReport, merge_reports

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
