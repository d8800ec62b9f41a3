from __future__ import annotations

import pytest

from verdigris.drivers.cycle.pages import PlannedScenario, lint_plan, read_plan

IDS = ("calc#add/two", "calc#add/none")
GOOD = """\
# Plan for calc

## calc#add/two
- assert: the sum of two numbers is shown
- **edge**: the largest number, plus one

## `calc#add/none`
* Assert: zero is shown
* Edge cases: blanks only count as nothing
"""


def whats(text: str) -> list[str]:
    return [fault.what for fault in lint_plan(text, IDS)]


def test_a_plan_is_read_by_its_scenarios() -> None:
    assert read_plan(GOOD) == (
        PlannedScenario("calc#add/two", 3, 1, 1),
        PlannedScenario("calc#add/none", 7, 1, 1),
    )


def test_a_plan_that_covers_every_scenario_in_words_is_good() -> None:
    assert lint_plan(GOOD, IDS) == ()


def test_what_a_plan_leaves_out_is_said_with_the_lines_to_add() -> None:
    faults = lint_plan("## calc#add/two\n- assert: a sum\n## calc#mul/two\n- assert: x\n- edge: y\n", IDS)

    assert [fault.what for fault in faults] == [
        "the plan says nothing about calc#add/none",
        "calc#add/two: no edge case",
        "the spec has no scenario calc#mul/two",
    ]
    assert "## calc#add/none\n- assert:" in faults[0].fix


def test_an_empty_plan_misses_every_scenario() -> None:
    assert len(lint_plan("", IDS)) == len(IDS)


@pytest.mark.parametrize(
    "line",
    [
        "```python\nassert add(1, 2) == 3\n```",
        "- edge: assert add(1, 2) == 3",
        "- edge: `expect(add(1, 2)).toBe(3)`",
        "- edge: def test_add(): it",
        "- edge: import calc",
        "- edge: const x = add(1, 2)",
        "- edge: return x;",
    ],
)
def test_a_plan_holds_no_source(line: str) -> None:
    assert whats(f"{GOOD}\n{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "- edge: the class of the error is shown, and the function of the page stays",
        "- edge: an import of 1,000 rows ends; none is lost",
        "- edge: let the user choose: yes or no",
        "- edge: assert that both are equal",
    ],
)
def test_plain_words_are_no_source(line: str) -> None:
    assert whats(f"{GOOD}{line}\n") == []
