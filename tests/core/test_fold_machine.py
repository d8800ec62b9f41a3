from __future__ import annotations

from verdigris.core import events as e
from verdigris.core.fold import machine_after
from verdigris.core.state import MachineState, OpenStep


def folded(*events: e.Event) -> MachineState:
    state = MachineState()
    for event in events:
        state = machine_after(state, event)
    return state


BEGUN = e.StepBegun(step=2, role="implementor", commit="c", tree="t")
PROPOSED = e.StepProposed(step=2, attempt=1, proposal="p")
PARTLY = e.Repair(why="still-red", test_ids=("b",), aside="a1")


def settled(verdict: str, tree: str = "done") -> e.Settled:
    return e.Settled(turn="t1", verdict=verdict, tree=tree)


def triple(test_id: str) -> e.Accepted:
    return e.Accepted(test_id=test_id, red=1, before="t", after="done", paths=(), green=2)


def test_a_run_is_open_from_its_start_to_its_end() -> None:
    started = e.MachineStarted(first=4, last=6)
    assert folded(started) == MachineState(runs=1, first=4, last=6)
    assert folded(started, e.MachineEnded(outcome="steps-made")) == MachineState(runs=1)


def test_an_accepted_step_waits_for_its_commit_with_what_was_proposed() -> None:
    state = folded(BEGUN, PROPOSED, settled("accepted"), triple("a"))
    assert state.step == OpenStep(2, "implementor", "c", "t", "done", "p", "accepted", ("a",))
    mended = machine_after(state, e.StepProposed(step=2, attempt=2, proposal="later"))
    assert mended == state
    assert machine_after(state, e.Committed(step=2, role="implementor", commit="d")).step is None


def test_what_was_not_accepted_is_open_still() -> None:
    state = folded(BEGUN, PROPOSED, settled("still-red"))
    assert state.step == OpenStep(2, "implementor", "c", "t", "", "p")


def test_claims_accepted_in_part_stay_and_the_step_goes_on() -> None:
    state = folded(BEGUN, PROPOSED, settled("still-red"), PARTLY, settled("accepted", "half"), triple("a"))
    assert state.step is not None
    assert (state.step.verdict, state.step.rest, state.step.tests) == ("repaired", "half", ("a",))
    again = machine_after(state, PROPOSED)
    assert again.step is not None
    assert again.step.verdict == ""


def test_steps_without_a_commit_and_stops_are_remembered() -> None:
    passed = e.StepPassed(step=3, role="refactorer", outcome="nothing-to-do", why="fine", after="c")
    stopped = e.StepStopped(step=4, role="tester", outcome="kata-done", why="all")
    state = folded(BEGUN, passed, stopped)
    assert [done.step for done in state.passed] == [3]
    assert state.stopped is not None
    assert machine_after(state, e.MachineStarted(first=4, last=4)).stopped is None


def test_events_of_others_change_nothing() -> None:
    state = folded(BEGUN)
    assert machine_after(state, e.HeadSeen(commit="x", on="main")) is state
