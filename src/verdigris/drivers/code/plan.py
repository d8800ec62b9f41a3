"""The plan of a session: its steps, and the colour that verdicts of the kernel give to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from verdigris.core.value import value

Colour = Literal["none", "red", "green"]
_SIGNS = {"none": "○", "red": "● red", "green": "● green"}
_MOST = 40


@value
class PlanStep:
    title: str
    test_id: str = ""
    """The test whose verdict makes it green; empty for a step inside a refactor."""
    test_file_path: str = ""
    marked: bool = False
    """The model marked it as done, which a verdict had to confirm."""


@value
class Plan:
    steps: tuple[PlanStep, ...] = ()

    @property
    def restructurings(self) -> int:
        return sum(1 for step in self.steps if step.marked and not step.test_id)


@value
class Verdicts:
    """Verdicts in the log since the session began."""

    reds: frozenset[str] = frozenset()
    """Tests that are red now, or claimed."""
    accepted: frozenset[str] = frozenset()
    refactors: int = 0
    """How many refactors were accepted."""


@value
class BadPlan:
    words: str


def read_plan(steps: Sequence[Mapping[str, Any]]) -> Plan | BadPlan:
    if not steps:
        return BadPlan("A plan has at least one step.")
    if len(steps) > _MOST:
        return BadPlan(f"A plan has at most {_MOST} steps: make them larger, or plan the beginning only.")
    names = ("title", "test_id", "test_file_path")
    texts = ([str(step.get(name) or "").strip() for name in names] for step in steps)
    plan = tuple(PlanStep(title, test_id, path) for title, test_id, path in texts)
    if any(not step.title for step in plan):
        return BadPlan("Each step needs a title.")
    return Plan(plan)


def lint_plan(plan: Plan, *, greenfield: bool = False) -> tuple[str, ...]:
    """Warnings about a plan, for the model and `tdd doctor`."""
    faults = [
        f"step {number} has a test_id and no test_file_path: say in which file the test is to stand"
        for number, step in enumerate(plan.steps, 1)
        if step.test_id and not step.test_file_path
    ]
    if greenfield and plan.steps and not plan.steps[0].test_id:
        faults.append("there is no test here yet: step 1 has to write a failing test, so it needs a test_id")
    return tuple(faults)


def colour_of(step: PlanStep, verdicts: Verdicts) -> Colour:
    """A step without a test is green if it was marked after an accepted refactor (`mark_step`)."""
    if not step.test_id:
        return "green" if step.marked else "none"
    if any(_covers(step.test_id, red) for red in verdicts.reds):
        return "red"
    return "green" if any(_covers(step.test_id, accepted) for accepted in verdicts.accepted) else "none"


def _covers(planned: str, test_id: str) -> bool:
    """Whether a planned id means this test: a function includes its cases, and a bare name is enough."""
    return test_id == planned or test_id.startswith(f"{planned}[") or test_id.endswith(f"::{planned}")


def mark_step(plan: Plan, number: int, verdicts: Verdicts) -> Plan | BadPlan:
    """Marks a step as done; refuses if no verdict made it green."""
    if not 1 <= number <= len(plan.steps):
        return BadPlan(f"There is no step {number}; the plan has {len(plan.steps)}.")
    step = plan.steps[number - 1]
    if step.marked:
        return plan
    if not step.test_id:
        if plan.restructurings >= verdicts.refactors:
            return BadPlan(
                f"Step {number} has no test, so it is done by a refactor that is accepted: refactor_begin, "
                "edit, refactor_end, then mark it."
            )
    elif (colour := colour_of(step, verdicts)) != "green":
        why = "is still red" if colour == "red" else "was not made green by a verdict in this session"
        return BadPlan(f"Step {number} is not done: {step.test_id} {why}.")
    steps = tuple(replace(each, marked=each is step or each.marked) for each in plan.steps)
    return Plan(steps)


def revise_plan(plan: Plan, remaining: Plan, verdicts: Verdicts) -> Plan:
    """Keeps the green steps and replaces the others."""
    return Plan((*(step for step in plan.steps if colour_of(step, verdicts) == "green"), *remaining.steps))


def describe_plan(plan: Plan, verdicts: Verdicts) -> str:
    lines = []
    for number, step in enumerate(plan.steps, 1):
        about = f"  [{step.test_id}]" if step.test_id else "  [in a refactor]"
        lines.append(f"{number}. {_SIGNS[colour_of(step, verdicts)]} {step.title}{about}")
    return "\n".join(lines)


def count_steps(plan: Plan, verdicts: Verdicts) -> str:
    """Counts the steps by colour, on a line."""
    counts = Counter(colour_of(step, verdicts) for step in plan.steps)
    parts = [f"{counts[colour]} {colour}" for colour in ("green", "red") if counts[colour]]
    return ", ".join((f"{len(plan.steps)} step{'s' * (len(plan.steps) > 1)}", *parts))


def open_steps(plan: Plan, verdicts: Verdicts) -> tuple[int, ...]:
    steps: Iterable[tuple[int, PlanStep]] = enumerate(plan.steps, 1)
    return tuple(number for number, step in steps if colour_of(step, verdicts) != "green")
