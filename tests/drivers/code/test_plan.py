from __future__ import annotations

import pytest

from verdigris.drivers.code.plan import (
    BadPlan,
    Plan,
    PlanStep,
    Verdicts,
    colour_of,
    describe_plan,
    lint_plan,
    mark_step,
    open_steps,
    read_plan,
    revise_plan,
)

ADD = PlanStep("add", "tests/test_a.py::test_add", "tests/test_a.py")
TIDY = PlanStep("tidy up")
PLAN = Plan((ADD, TIDY))
RED = Verdicts(reds=frozenset({ADD.test_id}))
GREEN = Verdicts(accepted=frozenset({ADD.test_id}))


def test_steps_are_read_from_what_the_model_sends() -> None:
    sent = [
        {"title": "add", "test_id": ADD.test_id, "test_file_path": "tests/test_a.py"},
        {"title": "tidy up"},
    ]
    assert read_plan(sent) == PLAN


@pytest.mark.parametrize("steps", [[], [{"title": "  "}], [{"title": "x"}] * 41])
def test_a_plan_without_sense_is_a_value(steps: list[dict[str, str]]) -> None:
    assert isinstance(read_plan(steps), BadPlan)


def test_a_verdict_colours_a_step_and_a_mark_does_not() -> None:
    assert colour_of(ADD, Verdicts()) == "none"
    assert colour_of(ADD, RED) == "red"
    assert colour_of(ADD, GREEN) == "green"
    refused = mark_step(PLAN, 1, RED)
    assert isinstance(refused, BadPlan)
    assert "still red" in refused.words
    assert isinstance(mark_step(PLAN, 1, Verdicts()), BadPlan)
    assert mark_step(PLAN, 1, GREEN) == Plan((PlanStep(*_fields(ADD), marked=True), TIDY))


def _fields(step: PlanStep) -> tuple[str, str, str]:
    return step.title, step.test_id, step.test_file_path


def test_a_step_that_became_red_again_is_red() -> None:
    assert colour_of(ADD, Verdicts(RED.reds, GREEN.accepted)) == "red"


def test_a_planned_function_stands_for_its_cases_and_a_bare_name_for_its_test() -> None:
    assert colour_of(PlanStep("x", "t.py::f"), Verdicts(accepted=frozenset({"t.py::f[1]"}))) == "green"
    assert colour_of(PlanStep("x", "f"), Verdicts(accepted=frozenset({"t.py::f"}))) == "green"
    assert colour_of(PlanStep("x", "t.py::f"), Verdicts(accepted=frozenset({"t.py::fg"}))) == "none"


def test_a_step_without_a_test_needs_an_accepted_refactor_of_its_own() -> None:
    twice = Plan((TIDY, PlanStep("tidy more")))
    refused = mark_step(twice, 1, Verdicts())
    assert isinstance(refused, BadPlan)
    assert "refactor_begin" in refused.words
    once = mark_step(twice, 1, Verdicts(refactors=1))
    assert isinstance(once, Plan)
    assert colour_of(once.steps[0], Verdicts()) == "green"
    assert isinstance(mark_step(once, 2, Verdicts(refactors=1)), BadPlan)


def test_a_step_that_does_not_exist_cannot_be_marked() -> None:
    assert isinstance(mark_step(PLAN, 3, GREEN), BadPlan)
    assert isinstance(mark_step(PLAN, 0, GREEN), BadPlan)


def test_a_revision_keeps_what_is_green() -> None:
    revised = revise_plan(PLAN, Plan((PlanStep("other", "t::b", "t"),)), GREEN)
    assert [step.title for step in revised.steps] == ["add", "other"]
    assert open_steps(revised, GREEN) == (2,)


def test_the_linter_finds_a_test_without_a_file_and_a_beginning_without_a_test() -> None:
    [found] = lint_plan(Plan((PlanStep("x", "t::a"),)))
    assert found.startswith("step 1 has a test_id and no test_file_path")
    [found] = lint_plan(Plan((TIDY,)), greenfield=True)
    assert "failing test" in found
    assert lint_plan(PLAN, greenfield=True) == ()


def test_a_plan_is_told_with_a_dot_a_step() -> None:
    assert describe_plan(PLAN, RED).splitlines() == [
        "1. ● red add  [tests/test_a.py::test_add]",
        "2. ○ tidy up  [in a refactor]",
    ]
