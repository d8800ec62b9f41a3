from __future__ import annotations

import pytest

from verdigris.core.value import replace
from verdigris.drivers.audit.outcome import UnitFacts, judge_unit
from verdigris.drivers.audit.report import AuditOutcome, FoundPlace, LostCheck, RedTest

RIGHT = RedTest("tests/test_a.py::test_a", "assertion")
WRONG = RedTest("tests/test_a.py::test_a", "import", valid=False)
LOST = FoundPlace("tests/test_b.py", 3, "tests/test_b.py::test_b: AssertionError")
LESS = LostCheck("dropped", "tests/test_b.py", 3, "assert b == 1", "")
IDLE = FoundPlace("a.py", 7, "no test runs line 7")
CODE = UnitFacts(source=True)
BOTH = UnitFacts(source=True, tests=True)
TESTS = UnitFacts(tests=True)


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (UnitFacts(), AuditOutcome.NO_CODE),
        (TESTS, AuditOutcome.CHARACTERIZATION),
        (replace(TESTS, waiting=("tests/test_a.py::test_a",)), AuditOutcome.UNVERIFIED),
        (replace(TESTS, weakened=(LESS,)), AuditOutcome.WEAKENED),
        (replace(TESTS, regressed=(LOST,)), AuditOutcome.REGRESSED),
        (replace(TESTS, reds=(RIGHT,)), AuditOutcome.TEST_DRIVEN),
        (CODE, AuditOutcome.REFACTOR),
        (replace(CODE, uncovered=(IDLE,)), AuditOutcome.UNTESTED),
        (replace(CODE, ran=False), AuditOutcome.UNTESTED),
        (replace(CODE, reds=(RIGHT,)), AuditOutcome.TEST_DRIVEN),
        (BOTH, AuditOutcome.UNTESTED),
        (replace(BOTH, reds=(WRONG,)), AuditOutcome.UNTESTED),
        (replace(BOTH, reds=(WRONG, RIGHT)), AuditOutcome.TEST_DRIVEN),
        (replace(BOTH, reds=(RIGHT,), uncovered=(IDLE,)), AuditOutcome.TEST_DRIVEN),
        (replace(BOTH, reds=(RIGHT,), hollow=("calc.py:1: literal",)), AuditOutcome.HOLLOW),
        (replace(BOTH, reds=(RIGHT,), weakened=(LESS,), hollow=("x",)), AuditOutcome.WEAKENED),
        (replace(BOTH, reds=(RIGHT,), weakened=(LESS,), regressed=(LOST,)), AuditOutcome.REGRESSED),
        (replace(BOTH, regressed=(LOST,), unknown="no time"), AuditOutcome.UNVERIFIED),
        (replace(BOTH, unknown="no time", broken="the disk is full"), AuditOutcome.INFRASTRUCTURE),
        (UnitFacts(unknown="no environment"), AuditOutcome.UNVERIFIED),
    ],
)
def test_blame_comes_before_praise_and_doubt_before_both(facts: UnitFacts, outcome: AuditOutcome) -> None:
    assert judge_unit(facts)[0] is outcome


def test_the_reason_names_the_first_finding_and_counts_the_rest() -> None:
    _, why = judge_unit(replace(BOTH, reds=(RIGHT, RIGHT)))
    assert why == "tests/test_a.py::test_a was red (assertion) and is green (and 1 more)."


def test_a_wrong_red_is_told_with_its_kind() -> None:
    _, why = judge_unit(replace(BOTH, reds=(WRONG,)))
    assert "failed by import, not by behaviour" in why
