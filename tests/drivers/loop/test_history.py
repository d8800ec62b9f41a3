"""What the log's events make of a program's state."""

from __future__ import annotations

from verdigris.core.events import Event
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import ProgramState, advance, read_history

P = "port"


def folded(*events: Event) -> ProgramState:
    state = ProgramState(P)
    for event in events:
        state = advance(state, event)
    return state


def begun(number: int, choice: str = "new") -> e.IterationBegun:
    return e.IterationBegun(program=P, number=number, commit="c", tree="t", at=number, choice=choice)


def pinned(iteration: int, test: str) -> e.BehaviourPinned:
    return e.BehaviourPinned(
        program=P,
        iteration=iteration,
        tests=(test,),
        target="take",
        behaviour="takes n",
        source="docs",
        tree="r",
    )


def ended(number: int, status: str, *lessons: str) -> e.IterationEnded:
    return e.IterationEnded(program=P, number=number, status=status, at=number, lessons=lessons)


def test_a_red_is_failing_until_it_is_made() -> None:
    red = folded(begun(1), pinned(1, "t::a"))
    assert [one.status for one in red.harness] == ["failing"]
    assert red.failing[0].name == "t::a"
    made = advance(red, e.BehaviourMade(program=P, iteration=1, tests=("t::a",), tree="g", lines=4))
    assert [(one.status, one.made) for one in made.harness] == [("passing", 1)]
    assert made.open is not None
    assert made.open.pinned == made.harness[0]


def test_a_red_that_was_left_is_what_the_next_iteration_has() -> None:
    state = folded(begun(1), pinned(1, "t::a"), ended(1, "error"), begun(2, "failing"))
    assert state.open is not None
    assert state.open.pinned is not None
    assert state.open.pinned.name == "t::a"
    assert state.count == 2


def test_a_renamed_test_keeps_its_entry() -> None:
    state = folded(
        begun(1),
        pinned(1, "t::a"),
        e.TestRethought(
            program=P, iteration=1, tests=("t::b",), why="the docs say so", tree="v", before="1", after="2"
        ),
    )
    (entry,) = state.harness
    assert entry.tests == ("t::b",)
    assert entry.revisions == ("the docs say so",)


def test_attempts_are_counted_for_the_pinned_behaviour() -> None:
    failed = e.GreenFailed(program=P, iteration=1, attempt=2, reasons=("still red",))
    state = folded(begun(1), pinned(1, "t::a"), failed)
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
    one = e.Measured(program=P, iteration=1, tree="t", metric=3.0)
    two = e.Measured(program=P, iteration=2, tree="t", metric=9.0)
    state = folded(begun(1), one, ended(1, "accepted"), begun(2), two, ended(2, "rejected"))
    assert state.best == one
    again = e.Measured(program=P, iteration=0, tree="base", metric=2.5)
    assert advance(state, again).best == again


def test_a_lesson_is_kept_once() -> None:
    state = folded(ended(1, "accepted", "step 0 is refused"), ended(2, "accepted", "step 0 is refused"))
    assert state.lessons == ("step 0 is refused",)


def test_a_blocked_behaviour_says_why() -> None:
    blocked = e.BehaviourBlocked(program=P, iteration=1, tests=("t::a",), why="five attempts failed")
    state = folded(begun(1), pinned(1, "t::a"), blocked)
    assert [(one.status, one.blocked) for one in state.harness] == [("blocked", "five attempts failed")]
    assert not state.failing


def test_another_program_and_other_records_change_nothing() -> None:
    assert read_history((), P) == ProgramState(P)
