from __future__ import annotations

import pytest

from verdigris.checks.acceptance import judge_properties
from verdigris.core.report import Property, RunPhase, Status, TestResult

pytestmark = pytest.mark.quick

ALL = "max_examples 100, phases explicit+generate"
ONE = "max_examples 1, phases explicit+generate"


def result(settings: str = ALL, ran: int = 100, rejecting: tuple[str, ...] = ()) -> TestResult:
    tried = Property(settings, ran, rejecting)
    return TestResult("t::p", "t::p", "native", Status.PASS, RunPhase.CALL, 1, property=tried)


def test_a_property_that_is_tried_as_before_is_fine() -> None:
    assert judge_properties([result()], [result(ran=1)], {"pkg/a.py"}) == ()
    assert judge_properties([result(rejecting=("tests/test_a.py",))], [result()], {"pkg/a.py"}) == ()


def test_other_settings_than_at_the_start_are_told_by_what_differs() -> None:
    (told,) = judge_properties([result(ONE, 1)], [result()], {"pkg/a.py"})
    assert (
        told == "t::p: the settings of its property changed in this turn: max_examples 100 → max_examples 1"
    )


def test_inputs_that_the_changed_source_turns_down_are_told() -> None:
    (told,) = judge_properties([result(rejecting=("pkg/a.py", "t.py"))], [], {"pkg/a.py"})
    assert (
        told == "t::p: pkg/a.py rejects inputs of its property, and only the test may say which inputs count"
    )
    assert judge_properties([result(rejecting=("pkg/b.py",))], [], {"pkg/a.py"}) == ()


def test_a_property_without_one_input_that_came_to_its_end_proves_nothing() -> None:
    (told,) = judge_properties([result(ran=0)], [result()], {"pkg/a.py"})
    assert told == "t::p: no input ran its property to its end"


def test_a_property_that_could_not_be_seen_at_the_start_has_nothing_to_be_compared_with() -> None:
    assert judge_properties([result(ONE, 1)], [], {"pkg/a.py"}) == ()
