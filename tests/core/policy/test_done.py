"""The one rule of `done`, from values to values."""

from __future__ import annotations

import pytest

from verdigris.core.policy.done import (
    SuiteComparison,
    WorkFacts,
    find_notes,
    find_open,
    judge_end,
    lost_tests,
)
from verdigris.core.report import Status

PASS, FAIL, SKIP = Status.PASS, Status.FAIL, Status.SKIP
HIDDEN = "it is still in its file, and is no longer collected"
ROW = {"t.py::a[1]": PASS}


def test_nothing_found_is_nothing_open() -> None:
    assert find_open(WorkFacts()) == ()
    assert find_notes(WorkFacts()) == ()


def test_each_kind_of_fact_is_a_line() -> None:
    facts = WorkFacts(
        standing=("a refactor is open",),
        claims=("t.py::a",),
        reds={"t.py::b": "assert 1 == 2"},
        aside={"a1": ("t.py::c",), "a2": ()},
        losses=("t.py:3: removed",),
        changed=("t.py:9: changed",),
        unclaimed=("calc.py:1: new code",),
        bugs=("test-bug b1 waits for a person",),
        noted=("odd",),
    )
    assert find_open(facts) == (
        "a refactor is open",
        "t.py::a is claimed and not settled",
        "t.py::b is red: assert 1 == 2",
        "a1 was set aside after strikes: t.py::c is not accepted",
        "a2 was set aside after strikes: a refactor",
        "the suite lost something: t.py:3: removed",
        "an assertion changed: t.py:9: changed",
        "no claim covers calc.py:1: new code",
        "test-bug b1 waits for a person",
    )
    assert find_notes(facts) == ("odd",)


def test_a_failure_that_the_start_has_too_is_named_and_not_open() -> None:
    facts = WorkFacts(reds={"t.py::old": "boom"}, suite=SuiteComparison({"t.py::old": FAIL}))
    assert find_open(facts) == ()
    assert find_notes(facts) == ("t.py::old fails as before: boom",)


@pytest.mark.parametrize(
    ("before", "now", "written", "lost"),
    [
        ({"t.py::a": PASS}, {"t.py::a": PASS, "t.py::b": FAIL}, (), []),
        (
            {"t.py::a": PASS},
            {},
            ("t.py::a",),
            [f"t.py::a: {HIDDEN}"],
        ),
        ({"t.py::a": PASS}, {"t.py::a": SKIP}, (), ["t.py::a: it passed before and is skipped now"]),
        ({"t.py::a": SKIP}, {"t.py::a": SKIP}, (), []),
        ({"t.py::a": PASS}, {"t.py::renamed": PASS}, (), []),
        ({"t.py::a": PASS}, {}, (), ["t.py::a: it is gone, and no new test takes its place"]),
        (
            {"t.py::a[1]": PASS, "t.py::a[2]": PASS},
            {"t.py::a[1]": PASS},
            (),
            ["t.py::a: it has 1 cases, and had 2"],
        ),
        ({"t.py::a[1]": PASS, "t.py::a[2]": PASS}, {"t.py::a[1]": PASS, "t.py::a[3]": PASS}, (), []),
        ({"t.py::a[1]": None}, {"t.py::a[1]": PASS, "t.py::a[2]": PASS}, (), []),
    ],
)
def test_a_test_is_lost_by_whatever_means(
    before: dict[str, Status | None], now: dict[str, Status | None], written: tuple[str, ...], lost: list[str]
) -> None:
    assert list(lost_tests(SuiteComparison(before, now, frozenset(written)))) == lost
    given_up = SuiteComparison(before, now, frozenset(written), frozenset(before))
    assert lost_tests(given_up) == ()
    assert lost_tests(SuiteComparison(before, None)) == ()


@pytest.mark.parametrize(
    ("said", "changed", "accepted", "tried", "end"),
    [
        ("done", ("a.py",), (), True, "done"),
        ("done", (), ("t.py::a",), True, "done"),
        ("It adds two numbers.", (), (), False, "answered"),
        ("There is nothing to do: you cannot do this twice.", (), (), False, "answered"),
        ("The README says it now.", (), (), True, "not-done"),
        ("I give up: I do not understand this task.", (), (), False, "not-done"),
        ("I am unable to complete the change.", (), (), False, "not-done"),
    ],
)
def test_what_an_end_with_nothing_open_is_worth(
    said: str, changed: tuple[str, ...], accepted: tuple[str, ...], tried: bool, end: str
) -> None:
    assert judge_end(said, changed=changed, accepted=accepted, tried=tried) == end
