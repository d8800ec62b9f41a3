"""What the log's events make of a program's state."""

from __future__ import annotations

from typing import Any

import pytest

from verdigris.core.events import Event
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import (
    Behaviour,
    LoopOutcome,
    LoopPhase,
    OpenIteration,
    ProgramState,
    advance,
    attempts_left,
    choose_iteration,
    end_of_pause,
    next_phase,
    pause_reason,
    read_history,
)
from verdigris.drivers.loop.iteration.phase_work import is_report

P = "port"


def folded(*events: Event) -> ProgramState:
    state = ProgramState(P)
    for event in events:
        state = advance(state, event)
    return state


def of(kind: type[e.IterationEvent], iteration: int = 1, **facts: Any) -> Event:
    return kind(program=P, iteration=iteration, **facts)


def begun(number: int, choice: str = "new") -> e.IterationBegun:
    return e.IterationBegun(program=P, number=number, commit="c", tree="t", at=number, choice=choice)


PINNED = of(e.BehaviourPinned, tests=("t::a",), target="take", behaviour="takes n", source="docs", tree="r")


def ended(number: int, status: str, *lessons: str) -> e.IterationEnded:
    return e.IterationEnded(program=P, number=number, status=status, at=number, lessons=lessons)


def test_a_red_is_failing_until_it_is_made() -> None:
    red = folded(begun(1), PINNED)
    assert [one.status for one in red.harness] == ["failing"]
    assert red.failing[0].name == "t::a"
    made = advance(red, of(e.BehaviourMade, tests=("t::a",), tree="g", lines=4))
    assert [(one.status, one.made) for one in made.harness] == [("passing", 1)]
    assert made.open is not None
    assert made.open.pinned == made.harness[0]


def test_a_red_that_was_left_is_what_the_next_iteration_has() -> None:
    state = folded(begun(1), PINNED, ended(1, "error"), begun(2, "failing"))
    assert state.open is not None
    assert state.open.pinned is not None
    assert state.open.pinned.name == "t::a"
    assert state.count == 2


def test_a_renamed_test_keeps_its_entry() -> None:
    why = "the docs say so"
    rethought = of(e.TestRethought, tests=("t::b",), why=why, tree="v", before="1", after="2")
    (entry,) = folded(begun(1), PINNED, rethought).harness
    assert entry.tests == ("t::b",)
    assert entry.revisions == (why,)


def test_attempts_are_counted_for_the_pinned_behaviour() -> None:
    failed = of(e.GreenFailed, attempt=2, reasons=("still red",))
    state = folded(begun(1), PINNED, failed)
    assert state.open is not None
    assert (state.open.attempts, state.open.reasons) == (2, ("still red",))


def test_errors_in_a_row_begin_anew_when_it_is_resumed() -> None:
    state = folded(*(ended(n, "error") for n in (1, 2, 3)))
    assert state.errors == 3
    state = advance(state, e.ProgramPaused(program=P, reason="consecutive errors", at=4))
    assert state.paused == "consecutive errors"
    state = advance(state, e.ProgramResumed(program=P, why="mended", at=5))
    assert (state.errors, state.paused, state.recent) == (0, "", ())


def test_the_best_is_the_last_accepted_measurement() -> None:
    one = of(e.Measured, tree="t", metric=3.0)
    two = of(e.Measured, 2, tree="t", metric=9.0)
    state = folded(begun(1), one, ended(1, "accepted"), begun(2), two, ended(2, "rejected"))
    assert state.best == one
    again = of(e.Measured, 0, tree="base", metric=2.5)
    assert advance(state, again).best == again


def test_a_lesson_is_kept_once() -> None:
    state = folded(ended(1, "accepted", "step 0 is refused"), ended(2, "accepted", "step 0 is refused"))
    assert state.lessons == ("step 0 is refused",)


def test_a_blocked_behaviour_says_why() -> None:
    blocked = of(e.BehaviourBlocked, tests=("t::a",), why="five attempts failed")
    state = folded(begun(1), PINNED, blocked)
    assert [(one.status, one.blocked) for one in state.harness] == [("blocked", "five attempts failed")]
    assert not state.failing


def test_another_program_and_other_records_change_nothing() -> None:
    assert read_history((), P) == ProgramState(P)


# -- what follows from it ------------------------------------------------------------------------


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
        (CHANGED, LoopPhase.PAY, {"owes": True}),
        (CHANGED, LoopPhase.EVALUATE, {"owes": True, "committed": True}),
        # What is committed is measured, and then judged.
        (CHANGED, LoopPhase.EVALUATE, {"committed": True}),
        (CHANGED | {"measured": MEASURED}, LoopPhase.ACCEPT, {"committed": True}),
        # A ratchet has one change and no red.
        ({}, LoopPhase.OPTIMIZE, {"is_test_driven": False}),
        ({"refactor": NO_REFACTOR}, LoopPhase.COMMIT, {"is_test_driven": False}),
        ({"refactor": NO_REFACTOR}, LoopPhase.COMMIT, {"is_test_driven": False, "owes": True}),
    ],
)
def test_each_phase_follows_from_what_is_on_record(
    about: dict[str, object], wanted: LoopPhase, how: dict[str, bool]
) -> None:
    facts = {"is_test_driven": True, "committed": False, "owes": False} | how
    assert next_phase(opened(**about), attempts=5, **facts) is wanted


def test_three_attempts_before_the_test_is_doubted_and_two_after() -> None:
    assert attempts_left(opened(pinned=RED), 5) == 3
    assert attempts_left(opened(pinned=RED, attempts=1), 5) == 2
    assert attempts_left(opened(pinned=RED, attempts=3, rethought=True), 5) == 2


def one_ended(status: str, number: int = 1, target: str = "take") -> e.IterationEnded:
    return e.IterationEnded(program="p", number=number, status=status, at=1, target=target)


def after(*statuses: str, harness: tuple[Behaviour, ...] = ()) -> ProgramState:
    return ProgramState("p", tuple(one_ended(one, n) for n, one in enumerate(statuses, 1)), harness=harness)


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
