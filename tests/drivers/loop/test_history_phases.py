"""The order of an iteration and the ends of a run, as decisions."""

from __future__ import annotations

import pytest

from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import (
    Behaviour,
    LoopOutcome,
    LoopPhase,
    OpenIteration,
    ProgramState,
    attempts_left,
    choose_iteration,
    end_of_pause,
    next_phase,
    pause_reason,
)
from verdigris.drivers.loop.iteration.phase_work import is_report

RED = Behaviour(("t::a",), "take", "takes", "docs", 1)
MADE = e.BehaviourMade(program="p", iteration=1, tests=("t::a",), tree="g", lines=3)
NO_REFACTOR = e.RefactorChosen(program="p", iteration=1, tree="g")
MEASURED = e.Measured(program="p", iteration=1, tree="g", metric=1.0)


def opened(**about: object) -> OpenIteration:
    return OpenIteration(**{"number": 1, "commit": "c", "tree": "t", "choice": "new", "rest": "t", **about})  # type: ignore[arg-type]


CHANGED: dict[str, object] = {"pinned": RED, "made": MADE, "refactor": NO_REFACTOR}


@pytest.mark.parametrize(
    ("about", "wanted", "how"),
    [
        ({}, LoopPhase.RED, {}),
        ({"pinned": RED}, LoopPhase.GREEN, {}),
        ({"pinned": RED, "attempts": 2}, LoopPhase.GREEN, {}),
        ({"pinned": RED, "attempts": 3}, LoopPhase.RETHINK, {}),
        ({"pinned": RED, "attempts": 3, "rethought": True}, LoopPhase.GREEN, {}),
        ({"pinned": RED, "attempts": 4, "rethought": True}, LoopPhase.GREEN, {}),
        ({"pinned": RED, "attempts": 5, "rethought": True}, LoopPhase.BLOCK, {}),
        ({"pinned": RED, "choice": "rethink"}, LoopPhase.RETHINK, {}),
        ({"pinned": RED, "choice": "failing"}, LoopPhase.GREEN, {}),
        ({"pinned": RED, "made": MADE}, LoopPhase.REFACTOR, {}),
        (CHANGED, LoopPhase.COMMIT, {}),
        # What is committed is measured, and then judged.
        (CHANGED, LoopPhase.EVALUATE, {"committed": True}),
        (CHANGED | {"measured": MEASURED}, LoopPhase.ACCEPT, {"committed": True}),
        # A ratchet has one change and no red.
        ({}, LoopPhase.OPTIMIZE, {"is_test_driven": False}),
        ({"refactor": NO_REFACTOR}, LoopPhase.COMMIT, {"is_test_driven": False}),
    ],
)
def test_each_phase_follows_from_what_is_on_record(
    about: dict[str, object], wanted: LoopPhase, how: dict[str, bool]
) -> None:
    facts = {"is_test_driven": True, "committed": False} | how
    assert next_phase(opened(**about), attempts=5, **facts) is wanted


def test_three_attempts_before_the_test_is_doubted_and_two_after() -> None:
    assert attempts_left(opened(pinned=RED), 5) == 3
    assert attempts_left(opened(pinned=RED, attempts=1), 5) == 2
    assert attempts_left(opened(pinned=RED, attempts=3, rethought=True), 5) == 2


def ended(status: str, number: int = 1, target: str = "take") -> e.IterationEnded:
    return e.IterationEnded(program="p", number=number, status=status, at=1, target=target)


def after(*statuses: str, harness: tuple[Behaviour, ...] = ()) -> ProgramState:
    return ProgramState("p", tuple(ended(one, n) for n, one in enumerate(statuses, 1)), harness=harness)


def test_a_red_that_was_left_comes_first_and_three_errors_doubt_the_test() -> None:
    assert choose_iteration(after()) == "new"
    assert choose_iteration(after("error", harness=(RED,))) == "failing"
    assert choose_iteration(after("error", "error", "error", harness=(RED,))) == "rethink"
    assert choose_iteration(after("error", "error", "accepted", "error")) == "new"


@pytest.mark.parametrize(
    ("statuses", "begins"),
    [
        ((), ""),
        (("accepted",), ""),
        (("blocked",), "td-stuck: take"),
        (("error",) * 3, ""),
        (("error",) * 4, "consecutive errors"),
        (("rejected",) * 4, ""),
        (("rejected",) * 5, "plateau"),
        (("rejected",) * 4 + ("accepted",), ""),
    ],
)
def test_a_program_stops_itself_with_a_reason(statuses: tuple[str, ...], begins: str) -> None:
    reason = pause_reason(after(*statuses))
    assert reason.startswith(begins)
    assert bool(reason) == bool(begins)


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("td-stuck: take", LoopOutcome.BLOCKED),
        ("plateau: the last 5", LoopOutcome.STUCK),
        ("stuck in CI fix loop: a1", LoopOutcome.STUCK),
        ("ci-timeout", LoopOutcome.STUCK),
        ("manual", LoopOutcome.PAUSED),
    ],
)
def test_a_pause_says_how_to_go_on(reason: str, outcome: LoopOutcome) -> None:
    found = end_of_pause("port", reason)
    assert found.outcome is outcome
    assert "tdd loop resume port" in found.next


@pytest.mark.parametrize(
    ("lesson", "reports"),
    [
        ("Added a test for take and implemented it", True),
        ("I implemented chunked", True),
        ("In this iteration the stub was replaced", True),
        ("The parser now passes with empty input", True),
        ("", False),
        ("An empty iterable gives an empty list, never None", False),
        ("Negative n is refused with ValueError", False),
    ],
)
def test_a_report_is_no_lesson_and_a_rule_is_one(lesson: str, *, reports: bool) -> None:
    assert is_report(lesson) is reports
