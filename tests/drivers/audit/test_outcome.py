from __future__ import annotations

import pytest

from verdigris.core.value import replace
from verdigris.drivers.audit.outcome import UnitFacts, judge_unit
from verdigris.drivers.audit.report import LostCheck, Outcome, Place, RedTest

RIGHT = RedTest("tests/test_a.py::test_a", "assertion")
WRONG = RedTest("tests/test_a.py::test_a", "import", valid=False)
LOST = Place("tests/test_b.py", 3, "tests/test_b.py::test_b: AssertionError")
LESS = LostCheck("dropped", "tests/test_b.py", 3, "assert b == 1", "")
IDLE = Place("a.py", 7, "no test runs line 7")
CODE = UnitFacts(source=True)
BOTH = UnitFacts(source=True, tests=True)
TESTS = UnitFacts(tests=True)


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (UnitFacts(), Outcome.NO_CODE),
        (TESTS, Outcome.CHARACTERIZATION),
        (replace(TESTS, waiting=("tests/test_a.py::test_a",)), Outcome.UNVERIFIED),
        (replace(TESTS, weakened=(LESS,)), Outcome.WEAKENED),
        (replace(TESTS, regressed=(LOST,)), Outcome.REGRESSED),
        (replace(TESTS, reds=(RIGHT,)), Outcome.TEST_DRIVEN),
        (CODE, Outcome.REFACTOR),
        (replace(CODE, uncovered=(IDLE,)), Outcome.UNTESTED),
        (replace(CODE, ran=False), Outcome.UNTESTED),
        (replace(CODE, reds=(RIGHT,)), Outcome.TEST_DRIVEN),
        (BOTH, Outcome.UNTESTED),
        (replace(BOTH, reds=(WRONG,)), Outcome.UNTESTED),
        (replace(BOTH, reds=(WRONG, RIGHT)), Outcome.TEST_DRIVEN),
        (replace(BOTH, reds=(RIGHT,), uncovered=(IDLE,)), Outcome.TEST_DRIVEN),
        (replace(BOTH, reds=(RIGHT,), hollow=("calc.py:1: literal",)), Outcome.HOLLOW),
        (replace(BOTH, reds=(RIGHT,), weakened=(LESS,), hollow=("x",)), Outcome.WEAKENED),
        (replace(BOTH, reds=(RIGHT,), weakened=(LESS,), regressed=(LOST,)), Outcome.REGRESSED),
        (replace(BOTH, regressed=(LOST,), unknown="no time"), Outcome.UNVERIFIED),
        (replace(BOTH, unknown="no time", broken="the disk is full"), Outcome.INFRASTRUCTURE),
        (UnitFacts(unknown="no environment"), Outcome.UNVERIFIED),
    ],
)
def test_blame_comes_before_praise_and_doubt_before_both(facts: UnitFacts, outcome: Outcome) -> None:
    assert judge_unit(facts)[0] is outcome


def test_the_reason_names_the_first_finding_and_counts_the_rest() -> None:
    _, why = judge_unit(replace(BOTH, reds=(RIGHT, RIGHT)))
    assert why == "tests/test_a.py::test_a was red (assertion) and is green (and 1 more)."


def test_a_wrong_red_is_told_with_its_kind() -> None:
    _, why = judge_unit(replace(BOTH, reds=(WRONG,)))
    assert "failed by import, not by behaviour" in why
