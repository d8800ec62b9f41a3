"""The stages of a cycle: what file tools and shells may write in each, and what a stop says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.cycles import (
    CODE,
    PLAN,
    PLAN_PATH,
    SPEC,
    SPEC_PATH,
    STUB,
    TEST_PATH,
    TESTS,
    CycleWorld,
    make_cycle,
)
from support.hooks import Client
from support.turns import CALC, World
from verdigris.core.events import TestBug
from verdigris.core.records import Actor
from verdigris.turns.settle import settle


@pytest.fixture
def at(tmp_path: Path) -> Callable[[str], CycleWorld]:
    return lambda stage: make_cycle(tmp_path / "repo", stage)


def client(world: CycleWorld, agent: str = "") -> Client:
    return Client(World(world.repo), agent=agent)


def write(world: CycleWorld, path: str, text: str, agent: str = "") -> str:
    """By the file tool: `pass`, or the rule of the denial."""
    return client(world, agent).before("Write", file_path=str(world.root / path), content=text)


def shell(world: CycleWorld, path: str, text: str, agent: str = "") -> str:
    """By a shell that nothing confines; what the model is told."""
    own = client(world, agent)
    assert own.before("Bash", command="x") == "pass"
    world.write(path, text)
    return own.after("Bash", command="x")


def read(world: CycleWorld, path: str) -> str | None:
    file = world.root / path
    return file.read_text() if file.exists() else None


def test_in_plan_nothing_but_the_plan_is_written(at: Callable[[str], CycleWorld]) -> None:
    world = at("plan")
    assert write(world, TEST_PATH, TESTS) == write(world, "calc.py", CODE) == "cycle-plan"
    assert write(world, SPEC_PATH, "x") == "cycle-spec"
    for path, text in ((TEST_PATH, TESTS), ("calc.py", CODE)):
        before = read(world, path)
        told = shell(world, path, text)
        assert read(world, path) == before
        assert f"Put back: {path}. " in told
        assert "no test and no source is written" in told
        assert f"next: write the plan to {PLAN_PATH}, then `tdd cycle advance`" in told
        assert "stubs" not in told, "nobody may write those yet"
    assert write(world, PLAN_PATH, PLAN) == "pass"
    assert shell(world, PLAN_PATH, PLAN) == ""
    assert read(world, PLAN_PATH) == PLAN


@pytest.mark.parametrize("stage", ["plan", "red", "validate", "green"])
def test_the_spec_is_put_back_in_every_stage(at: Callable[[str], CycleWorld], stage: str) -> None:
    world = at(stage)
    assert write(world, SPEC_PATH, "x") == "cycle-spec"
    told = shell(world, SPEC_PATH, SPEC + "\n#### Scenario: Another\n- **THEN** anything\n")
    assert read(world, SPEC_PATH) == SPEC
    assert "it cannot be edited, only superseded" in told
    assert f"`tdd spec supersede {SPEC_PATH}`" in told


def test_a_spec_that_a_person_edits_in_red_is_kept_and_told_once(at: Callable[[str], CycleWorld]) -> None:
    world = at("red")
    own = client(world)
    own.before("Bash", command="true")
    own.after("Bash", command="true")
    world.write(SPEC_PATH, SPEC + "\n")
    said = own.say("PreToolUse", tool_name="Bash", tool_input={"command": "true"})
    told = said["hookSpecificOutput"]["additionalContext"]
    assert f"{SPEC_PATH} changed outside the agent's calls: kept." in told
    assert "tdd cycle status" in told
    assert own.after("Bash", command="true") == ""
    assert read(world, SPEC_PATH) == SPEC + "\n"


def test_in_red_tests_and_stubs_are_written_and_source_is_not(at: Callable[[str], CycleWorld]) -> None:
    world = at("red")
    assert write(world, TEST_PATH, TESTS) == write(world, "calc.py", STUB) == "pass"
    assert shell(world, TEST_PATH, TESTS) == shell(world, "calc.py", STUB) == ""
    assert write(world, "calc.py", CODE) == "cycle-red"
    told = shell(world, "calc.py", CODE)
    assert read(world, "calc.py") == STUB
    assert "source waits until the tests of SPEC-001 are validated and frozen" in told
    assert "tdd cycle advance" in told


def test_in_validate_only_held_out_tests_are_written(at: Callable[[str], CycleWorld]) -> None:
    world = at("validate")
    assert write(world, TEST_PATH, "x") == write(world, "calc.py", CODE) == "cycle-validate"
    for path in (TEST_PATH, "calc.py"):
        before = read(world, path)
        told = shell(world, path, "x = 1\n")
        assert read(world, path) == before
        assert "The tests are being validated" in told
        assert "next: `tdd cycle validate" in told
    held_out = ".tdd/holdout/tests/test_more.py"
    assert write(world, held_out, TESTS) == "pass"
    assert shell(world, held_out, TESTS) == ""


def test_in_green_the_tests_are_not_written_and_accepted_code_stays(at: Callable[[str], CycleWorld]) -> None:
    world = at("green")
    assert write(world, TEST_PATH, "x") == "frozen-oracle"
    told = shell(world, TEST_PATH, "x")
    assert read(world, TEST_PATH) == TESTS
    assert "test-bug" in told
    own = client(world, "coder")
    own.before("Bash", command="tdd settle")
    world.write("calc.py", CODE)
    settle(world.project(Actor("agent", "coder", "claude")))
    assert own.after("Bash", command="tdd settle") == ""
    assert read(world, "calc.py") == CODE
    told = shell(world, "calc.py", CALC)
    assert read(world, "calc.py") == CODE
    assert "next: `tdd cycle advance` writes the evidence" in told


def test_edits_that_were_set_aside_leave_nothing_to_put_back(at: Callable[[str], CycleWorld]) -> None:
    world = at("green")
    own = client(world, "coder")
    for nth in (1, 2):
        own.before("Bash", command="tdd settle")
        world.write("calc.py", STUB.replace("return 0", f"return {nth + 6}"))
        settle(world.project(Actor("agent", "coder", "claude")))
        told = own.after("Bash", command="tdd settle")
    assert "Put back" not in told
    assert read(world, "calc.py") == STUB
    assert read(world, TEST_PATH) == TESTS


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        ("plan", "in stage plan of the cycle nobody writes that path. next: write the plan to"),
        ("validate", "in stage validate of the cycle nobody writes that path. next: `tdd cycle validate`"),
        ("green", "a test there is frozen from claim to verdict"),
    ],
)
def test_what_the_sandbox_stopped_is_explained_for_the_stage(
    at: Callable[[str], CycleWorld], stage: str, told: str
) -> None:
    own = client(at(stage))
    own.before("Bash", command="rm tests/test_sub.py")
    busy = {"stderr": "rm: cannot remove 'tests/test_sub.py': Device or resource busy"}
    said = own.say("PostToolUse", tool_name="Bash", tool_input={"command": "x"}, tool_response=busy)
    assert told in said["hookSpecificOutput"]["additionalContext"]


# -- stops ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "following"),
    [
        ("plan", f"write the plan to {PLAN_PATH}"),
        ("red", "write tests that carry `@scenario:` and an id"),
        ("validate", "`tdd cycle validate"),
        ("proven", "`tdd cycle advance` writes the evidence"),
    ],
)
def test_a_stop_says_where_the_cycle_stands(
    at: Callable[[str], CycleWorld], stage: str, following: str
) -> None:
    own = client(at(stage))
    said = own.say("Stop")
    name = "green" if stage == "proven" else stage
    assert said["decision"] == "block"
    assert f"the cycle c1 on SPEC-001 is not finished: it is in stage {name}" in said["reason"]
    assert following in said["reason"]
    again = own.say("Stop", stop_hook_active=True)
    assert "decision" not in again, "once"
    assert f"is not finished: it is in stage {name}" in again["systemMessage"], (
        "the person hears it each time"
    )


def test_a_cycle_that_waits_for_a_person_sends_nobody_back(at: Callable[[str], CycleWorld]) -> None:
    world = at("green")
    said = client(world, "coder").say("SubagentStop", last_assistant_message=BUG)
    assert "decision" not in said
    said = client(world).say("Stop")
    assert "decision" not in said
    assert "a person or the validator rules on b1" in said["systemMessage"]


BUG = f"I stop.\n\nTEST_BUG: {TEST_PATH}:6 — three minus two is one, and the spec says two.\n"


def test_a_line_in_the_coders_answer_reports_a_test_bug(at: Callable[[str], CycleWorld]) -> None:
    world = at("green")
    client(world, "coder").say("SubagentStop", last_assistant_message=BUG)
    (bug,) = [e for e in World(world.repo).events(TestBug) if isinstance(e, TestBug)]
    assert bug.places == (f"{TEST_PATH}:6",)
    assert bug.why == "three minus two is one, and the spec says two."
    assert world.cycle.bug == "b1"
    client(world, "other").say("SubagentStop", last_assistant_message=BUG)
    assert world.cycle.bugs == 1, "it is known"


def test_a_test_bug_at_no_test_sends_the_coder_back(at: Callable[[str], CycleWorld]) -> None:
    said = client(at("green"), "coder").say("SubagentStop", last_assistant_message="TEST_BUG: calc.py:1 — x")
    assert said["decision"] == "block"
    assert "calc.py" in said["reason"]


def test_whoever_coded_is_settled_at_its_stop_and_nobody_else(at: Callable[[str], CycleWorld]) -> None:
    """Freezing claims for whoever codes: the claims are the leading session's, the edits are the coder's."""
    world = at("green")
    assert write(world, "calc.py", CODE, "coder") == "pass"
    world.write("calc.py", CODE)
    assert client(world, "reader").say("SubagentStop") == {}
    assert not world.cycle.proven
    said = client(world, "coder").say("SubagentStop")
    assert world.cycle.proven
    assert "accepted" in said["systemMessage"]


# -- what agents are told at their start ------------------------------------------------------


@pytest.mark.parametrize("stage", ["plan", "red", "validate", "green"])
def test_a_subagent_hears_the_laws_of_the_cycle_and_its_next_move(
    at: Callable[[str], CycleWorld], stage: str
) -> None:
    world = at(stage)
    client(world).before("Bash", command="tdd cycle freeze")
    told = client(world, "a1").say("SubagentStart")["hookSpecificOutput"]["additionalContext"]
    assert "[tdd] Verdigris holds this repository to a cycle" in told
    assert "tdd claim" not in told
    assert "wait:" not in told
    assert "tdd cycle" in told.partition("next: ")[2] or "tdd settle" in told.partition("next: ")[2]
