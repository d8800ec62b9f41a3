"""Several agents of Claude Code in one worktree: sessions and subagents, their calls interleaved."""

from __future__ import annotations

from typing import Any

import pytest

from support.hands import Agent, Call
from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World
from verdigris.core.actions import Deny
from verdigris.core.events import Accepted, Edit, EditClaim, Settled, Violation
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.turns.claim import claim
from verdigris.turns.claim_check import Claimed
from verdigris.turns.next_move import following_move
from verdigris.turns.settle import Settlement, settle
from verdigris.turns.survey import survey
from verdigris.turns.test import run_tests

MUL_TEST = "import calc\n\n\ndef test_mul():\n    assert calc.mul(5, 3) == 15\n"
MUL_ID = "tests/test_mul.py::test_mul"
MUL = "\n\ndef mul(a, b):\n    return a * b\n"


@pytest.fixture
def both(world: World) -> tuple[Agent, Agent]:
    """Two sessions at work, each with a red of its own."""
    a, b = Agent(world, "a"), Agent(world, "b")
    for agent, path, text in ((a, "tests/test_sub.py", TEST_SUB), (b, "tests/test_mul.py", MUL_TEST)):
        agent.say("UserPromptSubmit", prompt="go")
        assert agent.write(path, text) == "pass"
    a.test(SUB_ID)
    b.test(MUL_ID)
    return a, b


def claims(world: World) -> dict[str, Any]:
    return {name: (claim.by, claim.targets) for name, claim in world.state.claims.items()}


def test_nobody_is_sent_to_anothers_red(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    a.test(SUB_ID)
    assert following_move(a.project, world.state) == f"`tdd claim {SUB_ID}`"
    b.test(MUL_ID)
    assert following_move(b.project, world.state) == f"`tdd claim {MUL_ID}`"
    told = a.say("UserPromptSubmit", prompt="more")["hookSpecificOutput"]["additionalContext"]
    assert MUL_ID not in told
    run_tests(a.project, [], cwd=world.root)
    assert world.state.reds[MUL_ID].by == "b", "a run of the whole suite takes nobody's red"


def test_an_edit_claims_ones_own_red_although_another_agent_has_one(
    world: World, both: tuple[Agent, Agent]
) -> None:
    a, _ = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    assert claims(world) == {SUB_ID: ("a", ("calc.py",))}


def test_when_an_agent_has_stopped_its_reds_are_everybodys(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    b.say("Stop")
    b.say("Stop", stop_hook_active=True)
    a.test(SUB_ID)
    assert a.before("Write", file_path="calc.py", content=CALC + SUB) == "pass"
    assert claims(world) == {SUB_ID: ("a", ("calc.py",)), MUL_ID: ("a", ("calc.py",))}


def test_a_file_tool_does_not_write_into_anothers_turn(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    assert b.before("Write", file_path="calc.py", content=CALC + MUL) == "others-claim"
    assert b.before("Write", file_path="more.py", content="X = 1\n") == "others-claim"
    assert a.write("calc.py", CALC + SUB + "\n") == "pass"
    assert a.write("more.py", "X = 1\n") == "pass"
    assert claims(world) == {SUB_ID: ("a", ("calc.py", "more.py"))}


@pytest.mark.parametrize("path", ["calc.py", "more.py"])
def test_a_shell_does_not_either_and_its_agent_is_told(
    world: World, both: tuple[Agent, Agent], path: str
) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    told = b.shell(path, CALC + SUB + MUL)
    assert f"Put back: {path}" in told
    assert "another agent" in told
    assert world.read("calc.py") == CALC + SUB, "as the other agent had it"
    assert not (world.root / "more.py").exists()
    assert [event.by for event in world.events(Violation) if isinstance(event, Violation)] == [("b",)]
    assert a.shell("calc.py", CALC + SUB + "\n\nX = 1\n") == ""
    assert not [e for e in world.events(EditClaim) if isinstance(e, EditClaim) and e.edit_target == "more.py"]


def test_one_may_join_the_turn_with_a_claim_of_ones_own(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    assert isinstance(claim(b.project, [MUL_ID], ["mul.py"], cwd=world.root), Claimed)
    assert b.write("mul.py", "X = 1\n") == "pass"
    assert b.write("calc.py", CALC + MUL) == "others-claim"
    assert b.shell("new.py", "X = 1\n") == ""
    assert claims(world) == {SUB_ID: ("a", ("calc.py",)), MUL_ID: ("b", ("mul.py", "new.py"))}


def test_a_session_goes_on_with_the_turn_of_one_that_has_stopped(
    world: World, both: tuple[Agent, Agent]
) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    a.say("Stop")
    assert world.state.phase is Phase.RED, "its stop settled it"
    b.test(MUL_ID)
    assert b.write("calc.py", CALC + SUB + MUL) == "pass"
    assert claims(world) == {MUL_ID: ("b", ("calc.py",))}


def settled(agent: Agent) -> Settlement:
    done = settle(agent.project)
    assert isinstance(done, Settlement), done
    return done


def denied(agent: Agent) -> Deny:
    done = settle(agent.project)
    assert isinstance(done, Deny), done
    return done


def accepted(world: World) -> dict[str, tuple[str, ...]]:
    return {event.test_id: event.paths for event in world.events(Accepted) if isinstance(event, Accepted)}


SUB_FILE = "from calc import add\n\n\ndef sub(a, b):\n    return add(a, -b)\n"
MUL_FILE = "def mul(a, b):\n    return a * b\n"


@pytest.fixture
def apart(world: World, both: tuple[Agent, Agent]) -> tuple[Agent, Agent]:
    """Both have claims in one turn, each on a file of its own."""
    a, b = both
    world.write("tests/test_sub.py", TEST_SUB.replace("calc", "subs"))
    world.write("tests/test_mul.py", MUL_TEST.replace("calc", "muls"))
    a.test(SUB_ID)
    b.test(MUL_ID)
    for agent, test_id, path in ((a, SUB_ID, "subs.py"), (b, MUL_ID, "muls.py")):
        world.write(path, f"def {test_id[-3:]}(a, b):  # STUB:TDD\n    raise NotImplementedError\n")
        agent.after("Bash", command="true")
    a.test(SUB_ID)
    b.test(MUL_ID)
    assert isinstance(claim(a.project, [SUB_ID], ["subs.py"], cwd=world.root), Claimed)
    assert isinstance(claim(b.project, [MUL_ID], ["muls.py"], cwd=world.root), Claimed)
    return a, b


def test_a_settlement_judges_ones_own_claims_without_the_others_part(
    world: World, apart: tuple[Agent, Agent]
) -> None:
    a, b = apart
    half = "def mul(a, b):\n    return a  # half done\n"
    assert a.write("subs.py", SUB_FILE) == "pass"
    assert b.write("muls.py", half) == "pass"
    done = settled(a)
    assert (done.verdict.kind, done.claimed, done.paths) == (Kind.ACCEPTED, (SUB_ID,), ("subs.py",))
    assert world.read("muls.py") == half
    assert accepted(world) == {SUB_ID: ("subs.py",)}
    assert (world.state.phase, list(world.state.claims)) == (Phase.GREEN, [MUL_ID])
    ground = world.state.ground
    assert ground is not None
    assert b"NotImplementedError" in (world.project.workspace.read(ground, "muls.py") or b"")
    assert denied(a).rule == "others-claim"
    assert settled(b).verdict.kind is Kind.STILL_RED
    assert b.write("muls.py", MUL_FILE) == "pass"
    assert settled(b).verdict.kind is Kind.ACCEPTED
    assert accepted(world) == {SUB_ID: ("subs.py",), MUL_ID: ("muls.py",)}
    assert world.state.phase is Phase.RED


def test_strikes_set_ones_own_part_aside_and_leave_the_others(
    world: World, apart: tuple[Agent, Agent]
) -> None:
    a, b = apart
    assert b.write("muls.py", MUL_FILE) == "pass"
    for wrong in ("1", "2"):
        assert a.write("subs.py", f"def sub(a, b):\n    return a + b + {wrong}\n") == "pass"
        done = settled(a)
        assert done.verdict.kind is Kind.STILL_RED
    assert done.aside
    assert "NotImplementedError" in world.read("subs.py")
    assert world.read("muls.py") == MUL_FILE
    assert settled(b).verdict.kind is Kind.ACCEPTED


def test_a_turn_is_not_anothers_to_settle(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    no = denied(b)
    assert (no.rule, no.next[:4]) == ("others-claim", "wait")
    assert b.say("Stop") == {}, "and a stop does not settle it either"
    assert world.state.phase is Phase.GREEN
    assert settled(a).verdict.kind is Kind.ACCEPTED


def test_source_of_another_agent_is_refused_until_somebody_takes_it(
    world: World, both: tuple[Agent, Agent]
) -> None:
    a, b = both
    assert a.write("calc.py", f"import more\n\n\n{CALC}{SUB}") == "pass"
    world.write("more.py", "X = 1\n")
    b.project.record(Edit(paths=("more.py",)))
    no = denied(a)
    assert no.rule == "others-source"
    assert no.next.endswith(f"`tdd claim {SUB_ID} more.py`")
    assert isinstance(claim(a.project, [SUB_ID], ["more.py"], cwd=world.root), Claimed)
    done = settled(a)
    assert done.verdict.kind is Kind.ACCEPTED
    assert "more.py: another agent's call was open when it was written" in done.verdict.concerns


def test_a_claim_that_is_named_again_goes_to_whoever_names_it(
    world: World, both: tuple[Agent, Agent]
) -> None:
    a, b = both
    assert a.write("calc.py", CALC) == "pass"
    assert isinstance(claim(b.project, [SUB_ID], ["calc.py"], cwd=world.root), Claimed)
    assert b.write("calc.py", CALC + SUB) == "pass"
    assert a.before("Write", file_path="calc.py", content=CALC) == "others-claim"
    assert settled(b).verdict.kind is Kind.ACCEPTED


def test_what_waits_for_an_agent_is_told_at_its_stop_too(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    call_of_a, call_of_b = Call(world, "a"), Call(world, "b")
    world.write("calc.py", CALC + SUB)
    call_of_a.end()
    call_of_b.end()
    assert world.read("calc.py") == CALC
    assert "Put back: calc.py" in a.say("Stop")["reason"], "it is sent back for its red, and hears it"
    assert "Put back" not in str(b.say("Stop")), "b heard it at the end of its call"


def test_a_resumed_session_hears_what_waits_for_it(world: World, both: tuple[Agent, Agent]) -> None:
    a, _ = both
    call_of_a, call_of_b = Call(world, "a"), Call(world, "b")
    world.write("calc.py", CALC + SUB)
    call_of_a.end()
    call_of_b.end()
    assert "Put back: calc.py" in a.say("SessionStart")["hookSpecificOutput"]["additionalContext"]


def test_a_stop_beside_anothers_open_call_says_why_nothing_was_settled(
    world: World, both: tuple[Agent, Agent]
) -> None:
    a, _ = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    call_of_b = Call(world, "b", "sleep 60")
    world.write("tests/test_sub.py", "cheat")
    said = a.say("Stop")
    assert "Nothing was judged at this stop. Another agent's call is open (sleep 60)" in said["systemMessage"]
    assert world.read("tests/test_sub.py") == "cheat"
    call_of_b.end()
    assert world.read("tests/test_sub.py") == TEST_SUB


def test_what_others_edited_is_not_for_one_to_settle(world: World, apart: tuple[Agent, Agent]) -> None:
    a, b = apart
    assert b.write("muls.py", "def mul(a, b):\n    return a  # half done\n") == "pass"
    assert following_move(b.project, world.state) == "`tdd settle`"
    assert following_move(a.project, world.state) == "edit the claimed source, then `tdd settle`"
    a.say("Stop")
    assert not world.events(Settled)


def test_a_person_settles_the_whole_turn(world: World, apart: tuple[Agent, Agent]) -> None:
    a, b = apart
    assert a.write("subs.py", SUB_FILE) == "pass"
    assert b.write("muls.py", MUL_FILE) == "pass"
    done = settle(world.project)
    assert isinstance(done, Settlement), done
    assert (done.verdict.kind, set(done.claimed)) == (Kind.ACCEPTED, {SUB_ID, MUL_ID})


def test_a_stop_asks_for_ones_own_reds_alone(both: tuple[Agent, Agent]) -> None:
    a, _ = both
    told = a.say("Stop")["reason"]
    assert f"{SUB_ID} is red" in told
    assert MUL_ID not in told


def test_while_a_change_is_nobodys_the_next_move_is_to_wait(world: World, both: tuple[Agent, Agent]) -> None:
    a, _ = both
    call_of_a, call_of_b = Call(world, "a"), Call(world, "b", "npm run dev")
    world.write("calc.py", CALC + SUB)
    told = call_of_a.end().text
    move = "wait for the end of another agent's call (npm run dev), then go on"
    assert told.splitlines()[-1] == f"next: {move}"
    assert survey(a.project).next == move
    assert move not in survey(world.project).next, "a person waits for nobody"
    call_of_b.end()
    assert survey(a.project).next == f"`tdd claim {SUB_ID}`"
