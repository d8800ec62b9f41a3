"""`tdd code --acp` as an editor speaks to it: real pipes, the SDK's client and a raw one, a real server."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.acp_client import SECONDS, RawClient, acp, check_message, editing, schema, text_block
from support.cli import TDD, Cli
from support.code_sessions import FINISH, GOOD, HONEST, KEY, RED, TEST, TEST_ID, Played, call, playing, turn
from support.late_imports import needs
from support.openai_server import Answer, Refusal, Request, Stall, Step

pytestmark = [
    pytest.mark.slow,
    needs("acp", "the SDK of the Agent Client Protocol (verdigris[code]) is missing"),
]
TASK = "Write a calculator that adds."


class Hosting:
    """The SDK's client: keeps what it is told, and says yes once to whatever it is asked."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.permissions: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.permissions.append((tool_call, options))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)


def test_the_client_of_the_sdk_hosts_a_session_from_nothing_to_an_accepted_change(tmp_path: Path) -> None:
    """Every message on the wire is one of the protocol's."""
    client, asked = Hosting(), {}

    def observe(event: Any) -> None:
        if event.direction.value == "outgoing":
            asked[event.message.get("id")] = event.message.get("method")
        else:
            check_message(event.message, asked)

    async def host(played: Played) -> tuple[Any, Any, Any]:
        env = Cli(played.repo).environment() | played.env
        transport = {"stderr": asyncio.subprocess.DEVNULL}
        spawned = acp.spawn_agent_process(
            client, *TDD, "code", "--acp", env=env, cwd=played.repo.root, transport_kwargs=transport
        )
        async with spawned as (connection, _):
            connection._conn.add_observer(observe)
            begun = await connection.initialize(protocol_version=1)
            made = await connection.new_session(cwd=str(played.repo.root), mcp_servers=[])
            await connection.set_session_mode(session_id=made.session_id, mode_id="ask")
            block = acp.text_block(TASK)
            return begun, made, await connection.prompt(session_id=made.session_id, prompt=[block])

    with playing(tmp_path, (turn(call("shell", command="echo seen")), *HONEST)) as played:
        begun, made, ended = asyncio.run(host(played))
        assert played.repo.read("calculator.py").decode() == GOOD
        assert "seen" in played.answers()[0]
        path = str(played.repo.root / "calculator.py")
    assert begun.protocol_version == 1
    assert begun.agent_capabilities.load_session
    assert not begun.agent_capabilities.prompt_capabilities.image
    assert [mode.id for mode in made.modes.available_modes] == ["ask", "edits", "all"]
    assert ended.stop_reason == "end_turn"
    asked_about = [(one.title, [option.kind for option in options]) for one, options in client.permissions]
    kinds = ["allow_once", "allow_always", "reject_once"]
    assert asked_about[0] == ("shell echo seen", kinds)
    assert [title for title, _ in asked_about[1:]] == [
        f"create_file {TEST}",
        "create_file calculator.py",
        "edit_file calculator.py",
    ]
    steps: dict[str, list[str]] = {}
    for update in client.updates:
        if update.session_update in {"tool_call", "tool_call_update"}:
            steps.setdefault(update.tool_call_id, []).append(update.status)
    assert set(map(tuple, steps.values())) == {("pending", "in_progress", "completed")}
    edits = [
        (one.content[0].old_text, one.content[0].new_text, one.locations[0].line)
        for one in client.updates
        if one.session_update == "tool_call_update" and one.locations and one.locations[0].path == path
    ]
    assert edits == [
        (None, "def add(a, b):\n    raise NotImplementedError  # STUB:TDD\n", 1),
        ("def add(a, b):\n    raise NotImplementedError  # STUB:TDD\n", GOOD, 2),
    ]
    plans = [one.entries[0].status for one in client.updates if one.session_update == "plan"]
    assert plans[0] == "pending"
    assert plans[-1] == "completed"
    said = "".join(one.content.text for one in client.updates if one.session_update == "agent_message_chunk")
    assert "First a failing test." in said
    assert f"[tdd] accepted: {TEST_ID}" in said
    assert said.rstrip().endswith("add sums two numbers.")
    commands = next(one for one in client.updates if one.session_update == "available_commands_update")
    assert {"plan", "undo", "off"} <= {one.name for one in commands.available_commands}


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def statuses(client: RawClient) -> dict[str, str]:
    """The last one of each call."""
    found = {}
    for update in client.updates:
        if update["sessionUpdate"] in {"tool_call", "tool_call_update"}:
            found[update["toolCallId"]] = update["status"]
    return found


def test_a_person_is_asked_once_or_always_and_a_mode_says_about_what(tmp_path: Path) -> None:
    one, two = (turn(call("shell", command=f"echo {word}")) for word in ("one", "two"))
    note = turn(call("create_file", path="NOTES.md", content="a\n"), call("shell", command="echo three"))
    more = turn(call("create_file", path="MORE.md", content="b\n"))
    said = {"shell echo one": "always", "shell echo two": "no", "create_file NOTES.md": "always"}
    asked: list[str] = []

    def permit(params: dict[str, Any]) -> str:
        asked.append(params["toolCall"]["title"])
        return said.get(asked[-1], "nonsense")

    with playing(tmp_path, (one, one, two, "No.", note, more, "Done.")) as played:
        with editing(played, "--permission", "edits") as client:
            client.permit = permit
            session = client.new(played.repo.root)
            client.prompt(session, TASK)
            assert asked == ["shell echo one", "shell echo two"]
            assert [*statuses(client).values()] == ["completed", "completed", "failed"]
            client.ask("session/set_mode", sessionId=session, modeId="ask")
            client.prompt(session, "And a note.")
            assert asked[2:] == ["create_file NOTES.md", "shell echo three"]
            assert [one["currentModeId"] for one in client.of("current_mode_update")] == ["ask", "edits"]
            assert client.refused("session/set_mode", sessionId=session, modeId="free")["code"] == -32602
        answers = played.answers()
    assert "no-permission" in answers[2]
    assert "no-permission" in answers[4]
    assert answers[5].startswith("written")


def test_a_turn_that_is_cancelled_says_so_with_every_call_answered_and_the_next_one_goes_on(
    tmp_path: Path,
) -> None:
    slow = turn(call("shell", command="touch begun; sleep 300", seconds=300), call("list_files", glob="**"))

    def play(request: Request) -> Step:
        return (slow, Stall(), "Nothing to do.")[min(request.number, 3) - 1]

    with playing(tmp_path, play) as played, editing(played, "--permission", "all") as client:
        session = client.new(played.repo.root)
        number = client.send("session/prompt", sessionId=session, prompt=[text_block(TASK)])
        client.until(lambda one: one.get("params", {}).get("update", {}).get("status") == "in_progress")
        for _ in range(3):
            client.notify("session/cancel", sessionId=session)
        assert client.answer(number)["result"] == {"stopReason": "cancelled"}
        assert statuses(client) == {"1-call_0": "failed", "1-call_1": "failed"}
        number = client.send("session/prompt", sessionId=session, prompt=[text_block("Again.")])
        while len(played.server.requests) < 2:
            client.refused("session/prompt", sessionId=session, prompt=[text_block("Meanwhile.")])
        client.notify("session/cancel", sessionId=session)
        assert client.answer(number)["result"] == {"stopReason": "cancelled"}
        assert client.prompt(session, "And now?") == "end_turn"
        assert "Nothing to do." in client.text()
        roles = [message["role"] for message in played.messages]
        assert roles == ["system", "user", "assistant", "tool", "tool", "user", "user"]
        client.notify("session/cancel", sessionId=session)
        client.notify("session/cancel", sessionId="00000000")
        assert client.end()[0] == 0


def test_a_question_that_nobody_answers_can_be_cancelled(tmp_path: Path) -> None:
    with (
        playing(tmp_path, (turn(call("shell", command="echo one")), "Well.")) as played,
        editing(played) as client,
    ):
        session = client.new(played.repo.root)
        number = client.send("session/prompt", sessionId=session, prompt=[text_block(TASK)])
        client.until(lambda one: one.get("method") == "session/request_permission")
        client.notify("session/cancel", sessionId=session)
        assert client.answer(number)["result"] == {"stopReason": "cancelled"}
        assert statuses(client) == {"1-call_0": "failed"}


@pytest.mark.parametrize(
    ("words", "script", "reason", "said"),
    [
        (("--max-turns", "1"), HONEST, "max_turn_requests", "the limit of 1 turn is reached"),
        (("--max-tokens", "1"), HONEST, "max_tokens", "and the limit is 1"),
        (("--timeout", "1"), (Stall(),), "max_turn_requests", "The time is over."),
        ((), (Answer("I cannot help with that.", finish="content_filter"),), "refusal", "I cannot help"),
        ((), (Answer("And so on and", finish="length"),), "max_tokens", "And so on"),
        ((), (*RED, turn(call("edit_claim", test_ids=[TEST_ID])), "I stop."), "end_turn", "Not accepted"),
    ],
)
def test_each_ending_of_a_session_is_a_reason_to_stop(
    tmp_path: Path, words: tuple[str, ...], script: tuple[Step, ...], reason: str, said: str
) -> None:
    more = [script[-1]] * 4 if reason == "end_turn" else []
    with playing(tmp_path, (*script, *more)) as played, editing(played, *words) as client:
        assert client.prompt(client.new(played.repo.root), TASK) == reason
        assert said in client.text()


def test_a_model_that_does_not_answer_is_an_error_that_names_the_variable_and_not_the_key(
    tmp_path: Path,
) -> None:
    with playing(tmp_path, (Refusal(400, "no"),)) as played, editing(played) as client:
        played.server.key = "another"
        session = client.new(played.repo.root)
        error = client.refused("session/prompt", sessionId=session, prompt=[text_block(TASK)])
        assert "SCRIPT_KEY" in error["message"]
        assert KEY not in json.dumps(error)
        assert KEY not in client.end()[1]


def test_a_session_is_loaded_with_all_that_was_said_and_belongs_to_one_process(tmp_path: Path) -> None:
    with playing(tmp_path, (*HONEST, "It does.", "Another one.")) as played:
        with editing(played) as first:
            session = first.new(played.repo.root)
            first.prompt(session, TASK)
            with editing(played) as second:
                for method in ("session/new", "session/load"):
                    named = {"sessionId": session} if method == "session/load" else {}
                    error = second.refused(method, cwd=str(played.repo.root), mcpServers=[], **named)
                    assert f"session {session} is at work in this worktree already" in error["message"]
            first.process.kill()
        with editing(played) as again:
            again.ask("session/load", cwd=str(played.repo.root), sessionId=session, mcpServers=[])
            assert [one["content"]["text"] for one in again.of("user_message_chunk")] == [TASK]
            assert set(statuses(again).values()) == {"completed"}
            diffs = [one["content"][0] for one in again.of("tool_call_update")]
            assert [one["newText"] for one in diffs if one["type"] == "diff"][-1] == "    return a + b\n"
            assert again.of("plan")[-1]["entries"][0]["status"] == "completed"
            assert "First a failing test." in again.text()
            assert "[tdd] accepted" in again.text()
            assert again.prompt(session, "Does it add?") == "end_turn"
            assert again.text().rstrip().endswith("It does.")
            listed = again.ask("session/list", cwd=str(played.repo.root))["sessions"]
            assert [(one["sessionId"], one["title"]) for one in listed] == [(session, TASK)]
            before = len(again.of("tool_call"))
            again.ask("session/resume", cwd=str(played.repo.root), sessionId=session, mcpServers=[])
            assert len(again.of("tool_call")) == before
            error = again.refused("session/load", cwd=str(played.repo.root), sessionId="", mcpServers=[])
            assert "there is no session ''" in error["message"]


def test_sessions_of_one_editor_take_turns_in_a_worktree(tmp_path: Path) -> None:
    with playing(tmp_path, ("One.", "Two.", "Three.")) as played:
        with editing(played, "--permission", "all") as client:
            first, second = client.new(played.repo.root), client.new(played.repo.root / ".git" / "..")
            assert first != second
            assert client.prompt(second, "The second.") == "end_turn"
            client.ask("session/set_mode", sessionId=first, modeId="ask")
            assert client.prompt(first, "The first.") == "end_turn"
            client.ask("session/close", sessionId=second)
            assert client.refused("session/prompt", sessionId=second, prompt=[])["code"] == -32002
            assert client.prompt(first, "The first again.") == "end_turn"
            said = [one["content"] for one in played.messages if one["role"] == "user"]
        assert [one.splitlines()[0] for one in said] == ["The first.", "The first again."]
        ran = played.code("-p", "Nobody is in the way.", "--max-turns", "1")
        assert "is at work" not in ran.err


def test_a_command_is_a_persons_act_and_asks_no_model(tmp_path: Path) -> None:
    with playing(tmp_path, (*HONEST, *("Seen.",) * 4)) as played, editing(played) as client:
        session = client.new(played.repo.root)
        client.prompt(session, TASK)
        asked = len(played.server.requests)
        for line, said in (("/undo", "undone: calculator.py"), ("/nonsense", "there is no /nonsense")):
            assert client.prompt(session, line) == "end_turn"
            assert said in client.text()
        assert client.prompt(session, "/quit") == "end_turn"
        assert len(played.server.requests) == asked
        assert not (played.repo.root / "calculator.py").exists(), "as before the task"
        client.prompt(session, "Go on.")
        assert any("The person has undone your work" in str(said) for said in played.messages)


def test_files_that_a_prompt_brings_are_shown_unless_their_name_is_a_secrets(tmp_path: Path) -> None:
    with playing(tmp_path, ("Seen.",)) as played, editing(played) as client:
        root = played.repo.root
        resources = [
            {"uri": (root / "notes.md").as_uri(), "text": f"unsaved, with {KEY} in it"},
            {"uri": (root / ".env").as_uri(), "text": "TOKEN=hidden"},
        ]
        blocks = [
            text_block("Look at "),
            {"type": "resource_link", "uri": (root / "README.md").as_uri(), "name": "README.md"},
            *({"type": "resource", "resource": one} for one in resources),
        ]
        session = client.new(root)
        client.ask("session/prompt", sessionId=session, prompt=blocks)
        asked = played.messages[-1]["content"]
        image = {"type": "image", "data": "aa==", "mimeType": "image/png"}
        assert client.refused("session/prompt", sessionId=session, prompt=[image])["code"] == -32602
        assert client.refused("session/prompt", sessionId=session, prompt=[])["code"] == -32602
    assert asked.startswith("Look at README.md")
    assert "notes.md:\nunsaved, with [SCRIPT_KEY] in it" in asked
    assert "hidden" not in asked


JUNK = (
    (b"this is no message\n", -32700),
    (b'{"jsonrpc": "2.0", "id": 7, "met\n', -32700),
    (b"\xff\xfe\n", -32700),
    (b"[" * 100_000 + b"\n", -32700),
    (b"[]\n", -32600),
    (b'[{"jsonrpc": "2.0", "id": 7, "method": "initialize"}]\n', -32600),
    (b"null\n", -32600),
    (b"{}\n", -32600),
    (b'{"jsonrpc": "2.0", "id": [7], "method": "initialize"}\n', -32600),
    (b'{"jsonrpc": "2.0", "id": 7, "method": ["initialize"]}\n', -32600),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "session/dance"}\n', -32601),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "session/prompt"}\n', -32602),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": [1]}\n', -32602),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "session/new", "params": {"cwd": 5}}\n', -32602),
)


def test_what_is_no_message_is_answered_as_such_and_the_connection_goes_on(tmp_path: Path) -> None:
    with playing(tmp_path, ("Hello.",)) as played, editing(played, begin=False) as client:
        root = str(played.repo.root)
        early = client.refused("session/new", cwd=root, mcpServers=[])
        assert "initialize" in early["message"]
        client.ask("initialize", protocolVersion=99)
        for line, code in JUNK:
            client.write(line)
            message = client.until(lambda one: "error" in one)
            assert (line[:60], message["error"]["code"]) == (line[:60], code)
        client.write(b"\n   \n")
        for answer in (b'"id": [1], "result": 1', b'"id": 0, "error": "no"', b'"id": 99, "result": {}'):
            client.write(b'{"jsonrpc": "2.0", ' + answer + b"}\n")
        client.notify("session/cancel")
        client.notify("session/dance", sessionId=5)
        session = client.ask("session/new", cwd=root, mcpServers=[], _meta={"cwd": "/"})["sessionId"]
        assert client.prompt(session, TASK) == "end_turn"
        assert client.end()[0] == 0


def test_a_folder_in_which_nothing_can_be_done_is_refused_with_what_to_do(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    with playing(tmp_path, ()) as played, editing(played) as client:
        said = {
            cwd: client.refused("session/new", cwd=cwd, mcpServers=[])["message"]
            for cwd in ("repo", str(tmp_path / "none"), str(bare), "/\0")
        }
        assert "absolute path" in said["repo"]
        assert "that exists" in said[str(tmp_path / "none")]
        assert "git init" in said[str(bare)]
        assert "absolute path" in said["/\0"]
        played.repo.git("init", "-q", str(tmp_path / "other"))
        fresh = client.refused("session/new", cwd=str(tmp_path / "other"), mcpServers=[])
        assert "tdd init" in fresh["message"]


def test_a_client_that_goes_away_in_a_turn_interrupts_it_and_the_session_can_go_on(tmp_path: Path) -> None:
    def play(request: Request) -> Step:
        return Stall() if request.number == 1 else FINISH

    with playing(tmp_path, play) as played:
        with editing(played) as client:
            session = client.new(played.repo.root)
            number = client.send("session/prompt", sessionId=session, prompt=[text_block(TASK)])
            wait_until(lambda: bool(played.server.requests))
            code, _ = client.end()
            assert client.answer(number)["result"] == {"stopReason": "cancelled"}
            assert code == 130
        ran = played.code("--continue")
        assert f"session {session}, taken up again" in ran.err
        assert ran.out == "add sums two numbers.\n"


def test_a_polite_end_answers_what_was_asked_and_a_deaf_client_is_left(tmp_path: Path) -> None:
    with playing(tmp_path, lambda _: Stall()) as played:
        with editing(played) as client:
            session = client.new(played.repo.root)
            number = client.send("session/prompt", sessionId=session, prompt=[text_block(TASK)])
            wait_until(lambda: bool(played.server.requests))
            client.process.send_signal(signal.SIGTERM)
            assert client.answer(number)["result"] == {"stopReason": "cancelled"}
            assert client.process.wait(100) == 130
        with editing(played) as idle:
            idle.new(played.repo.root)
            idle.process.send_signal(signal.SIGINT)
            assert idle.process.wait(100) == 130


def test_standard_output_has_the_protocol_alone_and_standard_error_the_progress(tmp_path: Path) -> None:
    """Also where nobody reads standard error before the end, and it is full."""
    lines = [f"line {number} of what a talkative model says" for number in range(4_000)]
    with playing(tmp_path, ("Hello.", "\n".join(lines), "Well.")) as played, editing(played) as client:
        session = client.new(played.repo.root)
        for task in (TASK, "Go on.", "And on."):
            assert client.prompt(session, task) == "end_turn"
        assert all(line in client.text() for line in lines)
        code, err = client.end()
    assert code == 0
    assert f"session {session}" in err
    assert len(err) > 100_000
    assert "Traceback" not in err


def test_what_the_editor_says_is_not_said_on_the_command_line_too(tmp_path: Path) -> None:
    with playing(tmp_path, ()) as played:
        ran = played.code("--acp", "-p", "x")
        assert ran.code == 2
        assert "--acp and --prompt do not go together" in ran.err
        agent = Cli(played.repo).tdd("code", "--acp", env={**played.env, "TDD_ACTOR": "agent"})
        assert agent.code == 3
        assert "persons-verb" in agent.err
