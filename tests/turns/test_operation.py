from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, MUL, SUB, World
from verdigris.core.errors import UserError
from verdigris.core.events import Proved, Proving
from verdigris.core.records import Actor
from verdigris.core.value import replace
from verdigris.storage import project as opened
from verdigris.storage.calls import call_records
from verdigris.storage.calls.callers import note_session
from verdigris.turns.operation import operation
from verdigris.turns.tripwire.calls import after_call, before_call

if TYPE_CHECKING:
    from verdigris.storage.project import Project


def test_one_operation_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "OPERATION_WAIT", 0.0)
    busy = pytest.raises(UserError, match=f"process {os.getpid()}")
    with operation(world.project), busy, operation(world.project):
        pytest.fail("two at once")
    with operation(world.project):
        pass


def test_what_was_interrupted_is_finished_before_anything_else(world: World) -> None:
    start = world.project.workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    edited = world.project.workspace.snapshot()
    world.project.record(Proving(paths=("calc.py",), edited=edited, start=start))
    world.write("calc.py", CALC)
    with operation(world.project) as state:
        assert state.intent is None
        assert world.read("calc.py") == CALC + SUB
    assert len(world.events(Proved)) == 1


@pytest.fixture
def moved(world: World) -> World:
    world.repo.git("switch", "--quiet", "--create", "side")
    world.write("calc.py", CALC + MUL)
    world.repo.commit("theirs")
    world.repo.git("switch", "--quiet", "main")
    with operation(world.project):
        pass
    world.repo.git("switch", "--quiet", "side")
    return world


def test_a_move_of_head_is_taken_in_before_the_state_is_given(moved: World) -> None:
    with operation(moved.project) as state:
        assert state.head is not None
        assert state.head.on == "side"
        assert state.ground == moved.project.workspace.snapshot()


def test_what_a_person_committed_between_two_calls_of_an_agent_stays(world: World) -> None:
    agents = replace(world.project, actor=Actor("agent", "s1", "claude"))
    after_call(agents, wrote=())
    world.write("tdd.yaml", world.read("tdd.yaml") + "# mine\n")
    world.write("calc.py", CALC + SUB)
    commit = world.repo.commit("by a person")
    with operation(agents) as state:
        assert (state.head and state.head.commit) == commit
        assert state.ground == world.project.workspace.snapshot()
    assert world.repo.head() == commit
    assert world.read("tdd.yaml").endswith("# mine\n")


def test_a_call_without_a_record_ends_with_its_outcome(world: World) -> None:
    agents = replace(world.project, actor=Actor("agent", "s1", "claude"))
    after_call(agents)
    before_call(agents)
    after_call(agents)
    stays_a_persons(world, agents)


def test_a_call_without_an_outcome_ends_with_its_client(world: World) -> None:
    agents = replace(world.project, actor=Actor("agent", "s1", "claude"))
    after_call(agents)
    note_session(str(world.project.repo.private), "s1", "4194305")  # higher than any process's number
    before_call(agents)
    stays_a_persons(world, agents)


def stays_a_persons(world: World, agents: Project) -> None:
    world.write("calc.py", CALC + MUL)
    mine = world.repo.commit("mine")
    with operation(agents):
        pass
    assert world.repo.git("rev-parse", "HEAD").strip() == mine
    assert world.read("calc.py") == CALC + MUL


def test_what_was_committed_since_a_call_was_killed_is_no_persons(world: World) -> None:
    with operation(world.project) as state:
        ground = state.ground
    os.close(call_records.open_record(str(world.project.repo.private), "make", "s1"))
    world.write("calc.py", CALC + MUL)
    world.repo.commit("whose?")
    with operation(world.project) as state:
        assert state.ground == ground
    after_call(replace(world.project, actor=Actor("agent", "s1", "claude")))
    assert not call_records.names(str(world.project.repo.private)), "a look has asked whose it was"
