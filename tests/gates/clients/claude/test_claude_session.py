from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pytest

from support.hooks import Client
from support.turns import CALC, SUB, SUB_ID, TEST_ADD, TEST_SUB, World
from support.unconfined import without_sandbox
from verdigris.core.events import (
    Accepted,
    LeftOpen,
    Revised,
    SentBack,
    SuiteHindered,
    Suspended,
    TestRun,
    Violation,
)
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.core.suite_health import Hindrance
from verdigris.gates.calls import HookCall, Reply
from verdigris.gates.clients.claude.client import CLIENT
from verdigris.gates.clients.claude.quick import PREFIX
from verdigris.gates.clients.hook_dialect import MOMENTS
from verdigris.gates.prompts import LAWS
from verdigris.storage.calls import call_records, callers
from verdigris.storage.project import open_project
from verdigris.turns.person import revise
from verdigris.turns.refactor import begin, end
from verdigris.turns.survey import survey
from verdigris.turns.test_bug import report_bug

pytestmark = pytest.mark.usefixtures("remembered_runs")

WRONG = "\n\ndef sub(a, b):\n    return 0\n"


@pytest.fixture
def client(world: World) -> Client:
    return Client(world)


def sent_back(said: Mapping[str, Any]) -> str:
    """The text of a stop that sends the agent back; empty if it may stop."""
    return str(said.get("reason", ""))


def phase(world: World) -> Phase:
    return world.state.phase


def test_the_laws_and_the_phase_are_the_same_bytes_for_the_same_state(client: Client) -> None:
    first, again = client.raw("SessionStart", source="startup"), client.raw("SessionStart", source="resume")
    assert first == again
    assert "phase red" in first.stdout
    assert (
        "next: write one failing test, then the code for it; `tdd test` shows the red"
        in client.say("UserPromptSubmit", prompt="hello")["hookSpecificOutput"]["additionalContext"]
    )
    client.world.green_by_record()
    assert f"claimed: {SUB_ID}" in client.raw("UserPromptSubmit", prompt="hello").stdout
    assert "a turn is still open" in client.say("SessionStart")["systemMessage"]


def test_a_session_is_told_how_the_suite_stands_and_runs_nothing(client: Client) -> None:
    assert "baseline" not in client.raw("SessionStart", source="startup").stdout
    hindrance = Hindrance(
        "shop in src/ cannot be imported", "put it on the path, then `tdd test`", blocks=True
    )
    client.world.project.record(SuiteHindered(hindrance=hindrance))
    events = len(client.world.events())
    said = client.say("SessionStart")
    assert "no test runs: shop in src/ cannot be imported" in said["systemMessage"]
    told = client.raw("SessionStart", source="startup").stdout
    assert "[tdd] baseline: no test runs: shop in src/ cannot be imported" in told
    assert "next: put it on the path, then `tdd test`" in told
    assert len(client.world.events(TestRun)) == 0
    assert len(client.world.events()) == events


def test_what_was_put_back_is_told_with_the_next_move(client: Client) -> None:
    client.world.green_by_record()
    assert client.before("Bash", command="x") == "pass"
    client.world.write("tests/test_sub.py", "assert True\n")
    told = client.after("Bash", event="PostToolUseFailure", command="x")
    assert "tests/test_sub.py" in told
    assert client.world.read("tests/test_sub.py") == TEST_SUB
    assert client.world.events(Violation)
    assert client.after("Bash", command="x") == ""


@pytest.mark.parametrize(
    ("error", "way"),
    [
        ("sed: couldn't open temporary file tests/x: Read-only file system", "`tdd status` names"),
        ("sed: cannot rename tests/sedfIEHDS: Device or resource busy", "report it by tdd test-bug"),
    ],
)
def test_what_the_sandbox_stopped_is_explained(client: Client, error: str, way: str) -> None:
    client.world.green_by_record()
    client.before("Bash", command="x")
    said = client.say("PostToolUseFailure", tool_name="Bash", tool_input={"command": "x"}, error=error)
    assert way in said["hookSpecificOutput"]["additionalContext"]


def test_a_stop_settles_what_was_edited_sends_back_twice_and_lays_aside(client: Client) -> None:
    world = client.world
    world.green()
    assert client.say("Stop") == {}, "a question to the person is no settlement"
    world.write("calc.py", CALC + WRONG)
    first = client.say("Stop")
    assert first["decision"] == "block"
    assert "still-red" in first["reason"]
    assert client.say("Stop", stop_hook_active=True) == {}, "no new edit"
    assert sum(world.state.strikes.values()) == 1
    world.write("calc.py", CALC + WRONG + "# again\n")
    second = client.say("Stop", stop_hook_active=True)
    assert "tdd restore" in second["reason"]
    assert "set aside as a1" in second["reason"]
    assert [event.nth for event in world.events(SentBack)] == [1, 2]  # type: ignore[attr-defined]
    assert world.read("calc.py") == CALC


def test_an_accepted_stop_tells_the_person(client: Client) -> None:
    client.world.green()
    client.world.write("calc.py", CALC + SUB)
    said = client.say("Stop")
    assert "decision" not in said
    assert "accepted" in said["systemMessage"]
    assert client.world.events(Accepted)


def test_an_open_refactor_is_ended_and_judged_at_a_stop(client: Client) -> None:
    world = client.world
    begin(world.project, uncovered=False)
    assert "a refactor is open" in client.say("Stop")["systemMessage"]
    world.write("calc.py", CALC.replace("a + b", "a - b"))
    refused = client.say("Stop")
    assert (refused["decision"], phase(world)) == ("block", Phase.REFACTOR)
    assert "regressed" in refused["reason"]
    world.write("calc.py", CALC.replace("a + b", "b + a"))
    assert "accepted" in client.say("Stop", stop_hook_active=True)["systemMessage"]
    assert phase(world) is Phase.RED


def test_after_a_refused_end_the_agent_is_sent_back_once_and_the_person_is_told(client: Client) -> None:
    world = client.world
    begin(world.project, uncovered=False)
    world.write("calc.py", CALC.replace("a + b", "a - b"))
    end(world.project)
    sent = client.say("Stop")
    assert sent["decision"] == "block"
    assert "the refactor is not accepted [regressed]: tests/test_add.py::test_add" in sent["reason"]
    told = client.say("Stop", stop_hook_active=True)
    assert "decision" not in told
    assert "the refactor is not accepted [regressed]" in told["systemMessage"]
    assert "decision" not in client.say("Stop"), "it is the same as at the last stop"
    opened = client.say("SessionStart")
    assert "the refactor is not accepted [regressed]" in opened["systemMessage"]
    assert "the refactor is not accepted [regressed]" in opened["hookSpecificOutput"]["additionalContext"]


def test_a_refactor_that_was_judged_at_the_stop_is_not_sent_back_for_it_again(client: Client) -> None:
    world = client.world
    begin(world.project, uncovered=False)
    world.write("calc.py", CALC.replace("a + b", "a - b"))
    assert client.say("Stop")["decision"] == "block"
    told = client.say("Stop", stop_hook_active=True)
    assert "decision" not in told
    assert "the refactor is not accepted [regressed]" in told["systemMessage"]


def test_a_test_that_asks_for_less_in_red_is_told_once_and_recorded(client: Client) -> None:
    world = client.world
    world.write("tests/test_add.py", "import pytest\n" + TEST_ADD.replace("def", "@pytest.mark.skip\ndef"))
    told = client.say("Stop")
    assert told["decision"] == "block"
    assert "tests/test_add.py:5: skipped" in told["reason"]
    (event,) = world.events(LeftOpen)
    assert isinstance(event, LeftOpen)
    assert "skipped" in event.what[0]
    again = client.say("Stop", stop_hook_active=True)
    assert "decision" not in again
    assert "tests/test_add.py:5: skipped" in again["systemMessage"]
    assert len(world.events(LeftOpen)) == 1


def test_what_a_person_gave_up_is_no_matter_at_a_stop(client: Client) -> None:
    world = client.world
    revise(world.project, ["tests/test_add.py"], "nobody adds any more")
    (world.root / "tests/test_add.py").unlink()
    assert client.say("Stop") == {}


def test_source_that_no_claim_covers_is_told_and_stays_as_it_is(client: Client) -> None:
    client.world.write("calc.py", CALC + SUB)
    assert "no claim covers calc.py" in client.say("Stop")["reason"]
    assert client.world.read("calc.py") == CALC + SUB


def test_an_open_test_bug_is_named_at_every_stop(client: Client) -> None:
    report_bug(client.world.project, ["tests/test_add.py:5"], "2 + 3 is 6", cwd=client.world.root)
    for _ in range(2):
        assert "test-bug b1 is open: tests/test_add.py:5" in client.say("Stop")["systemMessage"]


def test_a_suspended_turn_is_named_as_not_finished(client: Client) -> None:
    world = client.world
    world.green_by_record()
    turn = world.state.turn
    assert turn is not None
    world.project.record(Suspended(turn=turn.id, tree=turn.tree, commit=None, on=None))
    assert "is suspended: it is not finished" in client.say("Stop")["reason"]
    assert "is suspended" in client.say("Stop", stop_hook_active=True)["systemMessage"]


def test_the_clients_cap_is_honoured(world: World) -> None:
    client = Client(world, environment={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"})
    world.green()
    world.project.record(SentBack(why="", nth=1))
    world.write("calc.py", CALC + WRONG)
    said = client.say("Stop", stop_hook_active=True)
    assert "decision" not in said
    assert "the turn stays open" in said["systemMessage"]
    assert world.state.phase is Phase.GREEN


def test_a_subagent_hears_the_laws_and_whose_claim_is_open(world: World) -> None:
    sub, other = Client(world, agent="a1"), Client(world, agent="a2")
    said = other.say("SubagentStart")["hookSpecificOutput"]
    assert said["hookEventName"] == "SubagentStart"
    assert said["additionalContext"].startswith(LAWS)
    assert "phase red; next: write one failing test" in said["additionalContext"]
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    sub.before("Bash", command=f"tdd test {SUB_ID}")
    assert sub.before("Write", file_path="calc.py", content=CALC + SUB) == "pass"
    told = other.say("SubagentStart")["hookSpecificOutput"]["additionalContext"]
    assert f"next: wait: another agent has claimed {SUB_ID}" in told
    fellow = open_project(world.root, Actor("agent", "a2", "claude"))
    assert survey(fellow).next.startswith("wait: another agent")
    owner = open_project(world.root, Actor("agent", "a1", "claude"))
    assert survey(owner).next == "edit the claimed source, then `tdd settle`"
    later = open_project(world.root, Actor("agent", "another session", "claude"))
    callers.forget_caller(str(world.project.repo.private), "a1")
    assert survey(later).next == "edit the claimed source, then `tdd settle`", "nobody is left to wait for"


def test_a_subagent_settles_its_own_claims_only(world: World) -> None:
    sub, other = Client(world, agent="a1"), Client(world, agent="a2")
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    assert sub.before("Write", file_path="calc.py", content=CALC + SUB) == "pass"
    world.write("calc.py", CALC + SUB)
    assert other.say("SubagentStop") == {}
    assert world.state.phase is Phase.GREEN
    assert "accepted" in sub.say("SubagentStop")["systemMessage"]


def test_a_persons_word_in_the_prompt(client: Client) -> None:
    world = client.world
    asked = client.say("UserPromptSubmit", prompt="tdd off")
    assert (asked["decision"], world.state.phase) == ("block", Phase.RED)
    off = client.say("UserPromptSubmit", prompt="tdd off 'a spike\nthen write the parser")
    assert "the laws are off" in off["hookSpecificOutput"]["additionalContext"]
    assert world.state.off_why == "'a spike"
    assert "decision" not in client.say("UserPromptSubmit", prompt="tdd on this module, please")
    assert phase(world) is Phase.OFF
    assert client.say("UserPromptSubmit", prompt=" tdd on ")["decision"] == "block"
    assert phase(world) is Phase.RED
    client.say("UserPromptSubmit", prompt="tdd revise tests/test_add.py --why it is obsolete now")
    (revised,) = world.events(Revised)
    assert revised == Revised(names=("tests/test_add.py",), why="it is obsolete now")
    world.write("tests/test_held.py", TEST_ADD)
    assert "add" in client.say("UserPromptSubmit", prompt="tdd holdout add tests/test_held.py")["reason"]
    assert list(world.state.held_out) == ["tests/test_held.py"]


@pytest.mark.parametrize(
    "sentence",
    [
        "tdd off the record, what is this file",
        "tdd off of the table please: explain",
        "tdd off for today? tell me",
        "tdd off topic but what is a fixture",
        "tdd revise the parser and its tests",
        "tdd holdout tests are what",
        "tdd refactor the parser so that it reads better",
        "tdd on this module, please",
    ],
)
def test_a_sentence_that_begins_as_a_command_is_prose_and_says_so(client: Client, sentence: str) -> None:
    said = client.say("UserPromptSubmit", prompt=sentence)
    assert "decision" not in said, "it goes on to the model"
    assert "was read as prose" in said["systemMessage"]
    assert phase(client.world) is Phase.RED


@pytest.mark.parametrize("line", ['"tdd" "off" x', "'tdd' off x", "> tdd off x", "tdd  off x", "tdd off? x"])
def test_another_spelling_of_a_command_is_none(client: Client, line: str) -> None:
    assert "decision" not in client.say("UserPromptSubmit", prompt=line)
    assert phase(client.world) is Phase.RED


def test_a_reason_behind_why_is_free(client: Client) -> None:
    client.say("UserPromptSubmit", prompt="tdd off --why the record, of course: a spike")
    assert client.world.state.off_why == "the record, of course: a spike"


def test_a_client_that_an_agent_started_does_not_speak_as_a_person(world: World) -> None:
    nested = Client(world, environment={"TDD_ACTOR": "agent"})
    assert "not done" in nested.say("UserPromptSubmit", prompt="tdd off x")["reason"]
    assert phase(world) is Phase.RED


def test_where_nothing_is_confined_a_word_waits_for_the_end_of_the_agents_call(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could come from inside the call."""
    without_sandbox(monkeypatch)
    client = Client(world, environment={PREFIX: "none"})
    record = call_records.open_record(str(world.project.repo.private), "serve")
    assert "say this again" in client.say("UserPromptSubmit", prompt="tdd off x")["reason"]
    assert phase(world) is Phase.RED
    os.close(record)
    assert "the laws are off" in client.say("UserPromptSubmit", prompt="tdd off x")["reason"]


def test_our_fault_refuses_the_agent_and_never_a_person(client: Client) -> None:
    log = client.world.project.repo.control / "events.jsonl"
    log.write_bytes(b"junk\n" + log.read_bytes())
    for tool, arguments in (("Write", {"file_path": "x"}), ("Bash", {"command": "x"})):
        said = client.say("PreToolUse", tool_name=tool, tool_input=arguments)["hookSpecificOutput"]
        assert said["permissionDecision"] == "deny"
        assert said["permissionDecisionReason"].startswith("Verdigris cannot judge this call: the log is")
    assert "the log is" in client.after("Write", file_path="x")
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop"):
        assert "Verdigris" in client.say(event, prompt="hello")["systemMessage"], event
    assert client.say("Notification") == {}


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_a_stop_is_sent_back_by_a_text_that_the_client_tells_once_and_without_our_command(event: str) -> None:
    given = CLIENT.render(HookCall(MOMENTS[event]), Reply("send-back", "not yet"))
    assert json.loads(given.stdout) == {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": "not yet"}
    }


# -- done is one rule: what a session leaves is compared with its start ----------------------------

DESELECT = "[pytest]\naddopts = --deselect tests/test_add.py::test_add\n"
BENT = TEST_ADD.replace("add(2, 3) == 5", "add(3, 3) == 6")


def test_a_red_that_the_session_brought_is_told_at_the_stop(client: Client) -> None:
    client.say("SessionStart", source="startup")
    client.world.write("tests/test_sub.py", TEST_SUB)
    client.world.test(SUB_ID)
    told = sent_back(client.say("Stop"))
    assert f"{SUB_ID} is red" in told
    assert not sent_back(client.say("Stop", stop_hook_active=True)), "a person may want it so"


def test_a_test_that_is_configured_away_is_told_at_the_stop(client: Client) -> None:
    client.say("UserPromptSubmit", prompt="hello")
    client.world.write("pytest.ini", DESELECT)
    told = sent_back(client.say("Stop"))
    assert "tests/test_add.py::test_add: it is still in its file" in told


def test_an_assertion_of_the_start_is_told_also_after_a_commit_of_the_agent(client: Client) -> None:
    client.say("SessionStart", source="startup")
    client.world.write("tests/test_add.py", BENT)
    client.world.repo.commit("as I like it")
    told = sent_back(client.say("Stop"))
    assert "an assertion changed: tests/test_add.py:" in told
    assert "tdd test-bug tests/test_add.py:" in told
    place = told.partition("tdd test-bug ")[2].partition(",")[0]
    report_bug(client.world.project, [place], "one and two are four here", cwd=client.world.root)
    assert not sent_back(client.say("Stop", stop_hook_active=True))
