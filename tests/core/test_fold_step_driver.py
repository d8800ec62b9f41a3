"""A step names its driver; one that names none is the machine's, as in logs from before there were others."""

from __future__ import annotations

from verdigris.core.events import Committed, StepBegun, StepPassed, StepStopped, decode, encode
from verdigris.core.fold import machine_after
from verdigris.core.state import MachineState, OpenStep, PassedStep


def test_the_machines_steps_are_written_as_before() -> None:
    assert encode(StepBegun(step=1, role="tester", commit="c", tree="t")) == (
        "step_begun",
        {"step": 1, "role": "tester", "commit": "c", "tree": "t"},
    )
    assert "driver" not in encode(Committed(step=1, role="tester", commit="c"))[1]


def test_a_step_without_a_driver_is_read_as_the_machines() -> None:
    old = decode("step_begun", {"step": 1, "role": "tester", "commit": "c", "tree": "t"})
    assert isinstance(old, StepBegun)
    assert old.driver == "machine"


def test_the_state_knows_the_driver_of_a_step_and_no_particular_role() -> None:
    begun = StepBegun(step=3, role="treble", commit="c", tree="t", driver="duet")
    state = machine_after(MachineState(), begun)
    assert state.step == OpenStep(3, "treble", "c", "t", driver="duet")
    passed = StepPassed(step=3, role="treble", outcome="rests", why="w", after="", driver="duet")
    assert machine_after(state, passed).passed == (PassedStep(3, "treble", "rests", "w", "", "duet"),)
    stopped = StepStopped(step=3, role="treble", outcome="blocked", why="w", driver="duet")
    assert machine_after(state, stopped).stopped == PassedStep(3, "treble", "blocked", "w", "", "duet")
