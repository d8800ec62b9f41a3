"""A session as a user runs it: the real command, a real server on a socket, real git and pytest."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from support.cli import Cli
from support.code_sessions import (
    FINISH,
    GOOD,
    GREEN,
    HONEST,
    KEY,
    RED,
    STUB,
    TEST,
    TEST_ID,
    TEST_TEXT,
    call,
    playing,
    turn,
)
from support.openai_server import Request, Stall, Step

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("remembered_runs")]


@dataclass(frozen=True)
class HonestSession:
    """What is left of one that came on standard input and was played to its end."""

    code: int
    out: str
    err: str
    files: dict[str, str]
    answers: list[str]
    requests: list[Request]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> HonestSession:
    with playing(tmp_path_factory.mktemp("honest"), HONEST) as played:
        process = played.start("-p", "-")
        out, err = process.communicate("Write a calculator that adds.\n", timeout=100)
        files = {path: played.repo.read(path).decode() for path in ("calculator.py", TEST)}
        return HonestSession(
            process.returncode, out, err, files, played.answers(), list(played.server.requests)
        )


def test_a_task_becomes_an_accepted_change(honest: HonestSession) -> None:
    assert honest.code == 0, honest.err
    assert honest.out == "add sums two numbers.\n"
    assert honest.files == {"calculator.py": GOOD, TEST: TEST_TEXT}
    assert "[tdd] accepted" in honest.err
    assert "● green add two numbers" in honest.err
    assert "shapes" not in honest.err
    answers = honest.answers
    assert "lint" not in answers[0]
    assert "it ran over stubs, and no file holds them" in answers[2]
    assert f"red {TEST_ID}: " in answers[4]
    assert answers[5].splitlines()[0] == "written; claims test_add"
    assert answers[5].splitlines()[-1].startswith("[tdd] accepted")


def test_a_task_may_come_on_standard_input(honest: HonestSession) -> None:
    assert honest.requests[0].messages[1]["content"].startswith("Write a calculator that adds.\n")


def test_every_prompt_begins_with_the_one_before_it_and_every_call_is_answered(honest: HonestSession) -> None:
    requests = honest.requests
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


def test_a_session_that_was_killed_goes_on_and_a_second_one_is_refused_with_its_id(tmp_path: Path) -> None:
    """It is killed while the model is silent in the middle of an answer, with a turn open."""
    silent = threading.Event()
    script = [*RED, GREEN, FINISH]

    def play(request: Request) -> Step:
        if request.number == 3:
            silent.set()
            return Stall()
        return script[request.number - 1 if request.number < 3 else request.number - 2]

    with playing(tmp_path, play) as played:
        process = played.fork("-p", "Write a calculator that adds.", "--json")
        session = json.loads(process.stdout.readline())["session"]
        assert silent.wait(100)
        second = played.code("-p", "Another task.")
        assert second.code == 2
        assert f"session {session} is at work in this worktree already" in second.err
        process.kill()
        process.communicate()
        ran = played.code("--continue")
        assert ran.code == 0, ran.err
        assert f"session {session}, taken up again" in ran.err
        assert played.repo.read("calculator.py").decode() == GOOD
        before, after = played.server.requests[2].messages, played.server.requests[3].messages
        assert after[: len(before)] == before


def test_a_call_that_a_kill_cut_off_is_answered_before_the_model_is_asked_again(tmp_path: Path) -> None:
    marker = tmp_path / "begun"
    slow = turn(
        call("read_file", path="README.md"),
        call("shell", command=f"touch {marker} 2>/dev/null; touch begun; sleep 300", seconds=300),
    )

    def play(request: Request) -> Step:
        return slow if request.number == 1 else "I give up."

    with playing(tmp_path, play) as played:
        process = played.fork("-p", "Wait.")
        _until((played.repo.root / "begun").exists)
        process.kill()
        process.communicate()
        played.code("--continue")
        messages = played.messages
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert "README.md: lines" in messages[3]["content"]
    assert "interrupted while this call was under way" in messages[4]["content"]


def test_an_interrupt_the_end_of_the_time_and_a_limit_have_exit_codes_of_their_own(tmp_path: Path) -> None:
    with playing(tmp_path, lambda _: Stall()) as played:
        process = played.fork("-p", "Wait.")
        _until(lambda: bool(played.server.requests))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "interrupted" in err
        timed = played.code("--continue", "--timeout", "1")
        assert timed.code == 3
        assert "--timeout" in timed.err
    with playing(tmp_path / "other", HONEST) as played:
        limited = played.code("-p", "Write a calculator that adds.", "--max-turns", "1")
        assert limited.code == 3
        assert "tdd code --resume" in limited.err


def test_what_the_law_does_not_accept_has_an_exit_code_of_its_own_and_is_told(tmp_path: Path) -> None:
    wrong = turn(call("edit_file", path="calculator.py", search=STUB, replace=GOOD.replace("+", "-")))
    with playing(tmp_path, (*RED, wrong, *["It is done."] * 8)) as played:
        ran = played.code("-p", "Write a calculator that adds.")
    assert ran.code == 1, ran.err
    assert "Not accepted" in ran.out
    assert TEST_ID in ran.out


def test_a_wrong_key_is_told_by_the_name_of_its_variable_alone(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        played.server.key = "another"
        ran = played.code("-p", "Write a calculator that adds.")
    assert ran.code == 69
    assert "SCRIPT_KEY" in ran.err
    assert KEY not in ran.err + ran.out


def test_an_agent_cannot_start_a_session(tmp_path: Path) -> None:
    with playing(tmp_path, ()) as played:
        ran = Cli(played.repo).tdd("code", "-p", "x", env={**played.env, "TDD_ACTOR": "agent"})
    assert ran.code == 3
    assert "persons-verb" in ran.err


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_at_a_terminal_tasks_and_commands_are_taken_line_by_line(tmp_path: Path) -> None:
    look = turn(call("shell", command="echo seen"))
    lines = b"Write a calculator that adds.\nn\n/plan\n/nonsense\n/undo\n/quit\n"
    with playing(tmp_path, (look, *HONEST)) as played:
        ran = Cli(played.repo).on_a_terminal("code", "--plain", env=played.env, answer=lines)
        assert ran.code == 0, ran.out
        assert "[no-permission]" in played.answers()[0]
        assert not (played.repo.root / "calculator.py").exists(), "as before the task"
    for text in (
        "The model asks for shell:",
        "  echo seen",
        "run it? [y/N]",
        "add sums two numbers.",
        "● green add two numbers",
    ):
        assert text in ran.out
    assert "there is no /nonsense" in ran.out
    assert "undone: calculator.py" in ran.out
    assert ran.out.rstrip().endswith("is kept: `tdd code --continue` goes on")
