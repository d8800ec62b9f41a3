"""A session as a user runs it: the real command, a real server on a socket, real git and pytest."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from support.code_sessions import GOOD, HONEST, TEST, TEST_ID, TEST_TEXT, playing

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_a_task_becomes_an_accepted_change(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        ran = played.code("-p", "Write a calculator that adds.")
        assert ran.code == 0, ran.err
        assert ran.out == "add sums two numbers.\n"
        assert played.repo.read("calculator.py").decode() == GOOD
        assert played.repo.read(TEST).decode() == TEST_TEXT
        assert "[tdd] accepted" in ran.err
        assert "● green add two numbers" in ran.err
        answers = played.answers()
    assert "shapes" not in ran.err
    assert "lint" not in answers[0]
    assert "calculator.py (new):" in answers[2]
    assert f"{TEST_ID}: red" in answers[4]
    assert answers[5].splitlines()[0] == f"written: calculator.py; claims {TEST_ID}"
    assert answers[5].splitlines()[-1].startswith("[tdd] accepted")


def test_every_prompt_begins_with_the_one_before_it_and_every_call_is_answered(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        played.code("-p", "Write a calculator that adds.")
        requests = played.server.requests
    for before, after in pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages
        assert json.dumps(after.body["tools"]) == json.dumps(before.body["tools"])
    asked = [call["id"] for message in requests[-1].messages for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in requests[-1].messages if message["role"] == "tool"]
    assert asked == answered


def test_the_events_of_a_session_begin_with_its_id_and_end_with_what_it_cost(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        events = played.events("-p", "Write a calculator that adds.")
    assert events[0]["event"] == "session_began"
    assert len(events[0]["session"]) == 8
    assert {event["event"] for event in events} >= {"asked", "tool_called", "turn_judged", "plan_shown"}
    ended = events[-1]
    assert (ended["event"], ended["outcome"], ended["turns"]) == ("session_ended", "done", 4)
    assert ended["session"] == events[0]["session"]
    assert ended["cached"] > 0
    assert ended["cost"] is None
