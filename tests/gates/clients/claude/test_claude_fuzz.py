"""Whatever comes in: exit 0 or 2, an answer that a client can read, never a yes to what policy denies."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from support.turns import SUB_ID, TEST_SUB, World, make_world
from verdigris.gates.clients.claude.client import CLIENT
from verdigris.gates.clients.claude.quick import OWN, PREFIX, READERS, SHELLS
from verdigris.gates.gate import answer

PAYLOADS, SEEDS = 20_000, 4
LIKE_REAL = 0.1
MOST_REAL = 200
"""For each seed: those cost the kernel a decision each; all others are answered before it."""
FROZEN = (
    "tests/test_sub.py",
    "./tests/../tests/test_sub.py",
    " tests/test_add.py",
    "conftest.py",
    "tdd.yaml",
)
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SessionStart",
    "UserPromptSubmit",
    "What",
)
TOOLS = (
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Bash",
    "TodoWrite",
    "mcp__files__write",
    "New",
)
KEYS = (
    "file_path",
    "notebook_path",
    "path",
    "content",
    "old_string",
    "new_string",
    "edits",
    "replace_all",
    "x",
)
WRITERS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}


def anything(chance: random.Random, depth: int = 3) -> Any:
    kind = chance.randrange(12 if depth else 9)
    if kind < 9:
        huge = "x" * 20_000 if chance.random() < 0.02 else ""
        simple = (None, True, -1, 1e308, "", "\0", "\ud800", "calc.py" + huge, chance.choice(FROZEN))
        return simple[kind]
    if kind < 11:
        return {chance.choice(KEYS): anything(chance, depth - 1) for _ in range(chance.randrange(4))}
    return [anything(chance, depth - 1) for _ in range(chance.randrange(4))]


def payload(chance: random.Random, root: Path) -> dict[str, Any]:
    """A few like real ones, most with something essential missing, unknown or of another kind."""
    tool = chance.choice(TOOLS)
    arguments = {chance.choice(KEYS): anything(chance) for _ in range(chance.randrange(5))}
    if chance.random() < 0.5:
        arguments[WRITERS.get(tool, "path")] = chance.choice(FROZEN)
    made: dict[str, Any] = {
        "hook_event_name": "PreToolUse" if chance.random() < 0.96 else chance.choice(EVENTS),
        "tool_name": tool,
        "tool_input": arguments,
        "cwd": str(root),
        "session_id": "s1",
        "permission_mode": chance.choice(("default", "acceptEdits", "bypassPermissions", None)),
        "prompt": "words",
    }
    if chance.random() < LIKE_REAL:
        return made
    for key in chance.sample(("hook_event_name", "tool_name", "tool_input", "cwd"), 2):
        made[key] = anything(chance)
    if chance.random() < 0.9:
        made["hook_event_name"] = chance.choice(
            (None, 7, [], {}, "", "Pretooluse", "PermissionRequest", "\ud800")
        )
    return made


def bytes_of(chance: random.Random, made: dict[str, Any]) -> bytes:
    raw = json.dumps(made, allow_nan=True).encode()
    match chance.randrange(40):
        case 0:
            return raw[: chance.randrange(len(raw))]
        case 1:
            return raw.replace(b'"', b"\xff", 1)
        case 2:
            return b"[" * 50_000
        case 3:
            return raw.replace(b"{", b'{"tool_name": {}, ', 1)
        case 4:
            return raw.decode().encode("utf-16")
        case _:
            return raw


def writes_frozen(made: dict[str, Any]) -> bool:
    """Whether a client would change the oracle by this call."""
    tool, arguments = made.get("tool_name"), made.get("tool_input")
    if (
        made.get("hook_event_name") != "PreToolUse"
        or not isinstance(tool, str)
        or not isinstance(arguments, dict)
    ):
        return False
    if tool in WRITERS:
        return arguments.get(WRITERS[tool]) in FROZEN
    known = {*SHELLS, *READERS, *OWN}
    return tool not in known and any(frozen in json.dumps(arguments) for frozen in FROZEN)


@pytest.fixture(scope="module")
def green(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = make_world(tmp_path_factory.mktemp("fuzz") / "repo")
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    world.claim(SUB_ID, "calc.py")
    return world


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_payload_has_an_answer(green: World, seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(seed)
    root = green.root
    environment = {"HOME": str(root.parent), "CLAUDE_PROJECT_DIR": str(root), PREFIX: "/else/where"}
    refused = real = 0
    for _ in range(PAYLOADS // SEEDS):
        made = payload(chance, root)
        raw = bytes_of(chance, made)
        if made.get("hook_event_name") in EVENTS:
            real += 1
            if real > MOST_REAL:
                continue
        given = answer(CLIENT, raw, environment)
        assert given.exit_code in {0, 2}, raw
        assert "Traceback" not in given.stdout + given.stderr, raw
        document = json.loads(given.stdout) if given.exit_code == 0 else {}
        assert isinstance(document, dict), raw
        decision = document.get("hookSpecificOutput", {}).get("permissionDecision")
        assert decision in {None, "deny", "ask"}, raw
        if writes_frozen(made) and raw == json.dumps(made).encode():
            refused += 1
            assert given.exit_code == 2 or decision == "deny", raw
    assert refused > MOST_REAL / 8
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("cwd", ["/a\0b", "/a\ud800", "\ud800", "x" * 5000, "relative", "/gone"])
def test_a_folder_that_is_none_is_no_fault_of_ours(
    world: World, event: str, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.root)
    arguments = {"file_path": "calc.py", "content": "x", "command": "true"}
    for tool in ("Write", "Bash", "mcp__files__write"):
        payload: dict[str, Any] = {"hook_event_name": event, "session_id": "s", "cwd": cwd, "tool_name": tool}
        payload |= {"tool_input": arguments, "tool_response": {}, "prompt": "go on"}
        for environment in ({}, {"CLAUDE_PROJECT_DIR": str(world.root)}):
            given = answer(CLIENT, json.dumps(payload).encode(), environment)
            assert "a bug in Verdigris" not in given.stdout + given.stderr, given
