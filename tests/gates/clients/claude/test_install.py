from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.turns import World
from verdigris.core.errors import UserError
from verdigris.core.events import GateInstalled
from verdigris.gates.agent_shell.launcher import HOOK_ENTRY, interpreter
from verdigris.gates.clients.claude.install import confine, install, uninstall
from verdigris.gates.clients.claude.quick import LOCAL, PREFIX
from verdigris.gates.clients.claude.settings import HOOKS, SHARED, command, with_hooks, without_hooks

THEIRS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]},
    "env": {"A": "1"},
}


def test_hooks_are_added_beside_others_and_come_out_again() -> None:
    merged = with_hooks(THEIRS, "/r/.git/tdd/shell")
    assert merged["hooks"]["PreToolUse"][0] == THEIRS["hooks"]["PreToolUse"][0]  # type: ignore[index]
    assert merged["env"] == {"A": "1", PREFIX: "/r/.git/tdd/shell"}
    assert set(merged["hooks"]) == {hook.event for hook in HOOKS}
    assert with_hooks(merged, "/r/.git/tdd/shell") == merged
    assert without_hooks(merged) == THEIRS
    assert without_hooks(with_hooks({})) == {}


def test_the_write_gates_fail_closed_and_the_others_open() -> None:
    hooks = with_hooks({})["hooks"]
    closed = {event for event, (entry,) in hooks.items() if entry["hooks"][0].get("onFailure") == "block"}
    assert closed == {"PreToolUse", "PostToolUse", "PostToolUseFailure"}
    assert all(entry["matcher"] == "*" and entry["hooks"][0]["timeout"] for (entry,) in hooks.values())


ODD = (
    '\ufeff{\r\n\t"//": "a note", "$schema": "x",\r\n\t"env": {"A": "\\u00e9 é", "A": "2"},\r\n'
    '\t"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "ruff format"}]}]},\r\n'
    '\t"statusLine": {"type": "command", "command": "x"} }'
)


@pytest.mark.parametrize("theirs", [None, '{"env":   {"A": "1"}}', "{}\n", "", ODD])
def test_uninstall_gives_back_the_very_bytes(world: World, theirs: str | None) -> None:
    for name in (SHARED, LOCAL) if theirs is not None else ():
        (world.root / name).parent.mkdir(exist_ok=True)
        (world.root / name).write_bytes((theirs or "").encode())
    assert install(world.project, team=True) == (LOCAL, SHARED)
    assert install(world.project) == ()
    assert str(world.root) not in world.read(SHARED)
    assert uninstall(world.project) == (LOCAL, SHARED)
    assert (world.root / ".claude").exists() is (theirs is not None)
    for name in (SHARED, LOCAL) if theirs is not None else ():
        assert (world.root / name).read_bytes() == (theirs or "").encode()
    assert not (world.project.repo.control / "hook").exists()


def test_what_was_written_for_another_client_is_not_taken_for_ours(world: World) -> None:
    theirs = '{"env":   {"A": "1"}}'
    (world.root / SHARED).parent.mkdir()
    (world.root / SHARED).write_text(theirs)
    install(world.project, team=True)
    world.project.record(GateInstalled(client="scribe", before={}, after={".scribe.json": "{}"}))
    assert uninstall(world.project) == (LOCAL, SHARED)
    assert world.read(SHARED) == theirs


def test_what_others_wrote_is_kept_beside_ours(world: World) -> None:
    (world.root / ".claude").mkdir()
    (world.root / SHARED).write_bytes(ODD.encode())
    install(world.project, team=True)
    merged = json.loads(world.read(SHARED))
    assert merged["//"] == "a note"
    assert merged["env"] == {"A": "2"}
    assert merged["hooks"]["PostToolUse"][0]["hooks"][0]["command"] == "ruff format"
    assert len(merged["hooks"]["PostToolUse"]) == 2


def test_what_a_user_added_since_stays(world: World) -> None:
    install(world.project, team=True)
    settings = json.loads(world.read(SHARED))
    world.write(SHARED, json.dumps({**settings, "model": "opus"}))
    install(world.project)
    uninstall(world.project)
    assert json.loads(world.read(SHARED)) == {"model": "opus"}


def test_the_personal_file_is_never_committed_and_the_team_is_asked_for(world: World) -> None:
    assert install(world.project) == (LOCAL,)
    world.repo.git("add", "--all")
    assert world.repo.git("diff", "--cached", "--name-only") == ""
    assert install(world.project, team=True) == (SHARED,)
    world.repo.git("add", "--all")
    assert world.repo.git("diff", "--cached", "--name-only") == SHARED


def test_shared_hooks_of_an_older_version_are_brought_up_to_date_by_whoever_connects(world: World) -> None:
    install(world.project, team=True)
    settings = world.read(SHARED)
    world.write(SHARED, settings.replace('"timeout": 60', '"timeout": 61'))
    assert install(world.project) == (SHARED,)
    assert world.read(SHARED) == settings


def test_broken_settings_and_an_open_turn_are_refused(world: World) -> None:
    world.write(SHARED, "{")
    with pytest.raises(UserError, match="not JSON"):
        install(world.project)
    world.write(SHARED, "{}")
    world.green_by_record()
    with pytest.raises(UserError, match="green phase"):
        install(world.project, team=True)
    confine(world.project)
    assert PREFIX in world.read(LOCAL)


def call(world: World, event: str, payload: str, **env: str) -> tuple[int, str, str]:
    hook = next(hook for hook in HOOKS if hook.event == event)
    done = subprocess.run(
        ["sh", "-c", command(hook)],
        input=payload,
        env={"PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(world.root), **env},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def written(launcher: Path, script: str) -> None:
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)


def test_the_committed_command_finds_the_gate_from_anywhere_in_the_clone(
    world: World, tmp_path: Path
) -> None:
    install(world.project)
    linked = tmp_path / "a linked one"
    world.repo.git("worktree", "add", "-q", "-b", "linked", str(linked))
    (world.root / "deep/er").mkdir(parents=True)
    for folder, root in ((world.root, world.root), (world.root / "deep/er", world.root), (linked, linked)):
        for name, decision in (("calc.py", '"deny"'), ("notes.md", "{}")):
            arguments = {"file_path": str(root / name), "content": "x = 1\n"}
            payload = {"cwd": str(folder), "tool_name": "Write", "tool_input": arguments}
            whole = json.dumps({"hook_event_name": "PreToolUse", **payload})
            code, out, err = call(world, "PreToolUse", whole, CLAUDE_PROJECT_DIR=str(folder))
            assert (code, err) == (0, "")
            assert decision in out


def test_a_stop_is_found_from_anywhere_and_its_answer_comes_as_it_is(world: World, tmp_path: Path) -> None:
    install(world.project)
    answer = r'{"decision": "block", "reason": "a\nb \\ c"}'
    written(world.project.repo.control / "hook", f"printf %s '{answer}'")
    linked = tmp_path / "a linked one"
    world.repo.git("worktree", "add", "-q", "-b", "linked", str(linked))
    (world.root / "deep/er").mkdir(parents=True)
    for folder in (world.root, world.root / "deep/er", linked):
        assert call(world, "Stop", "{}", CLAUDE_PROJECT_DIR=str(folder)) == (0, answer, "")


NO_ANSWER = ["exit 1", "exit 2", "exit 3", "kill -9 $$", "echo junk", "exec /nowhere/python", "exit 0"]
READS, WRITES = (json.dumps({"tool_name": tool}) for tool in ("Read", "Write"))
OPEN = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop")


def reason(out: str) -> str:
    """Why the call is refused; the client takes it from here without the command."""
    said = json.loads(out)["hookSpecificOutput"]
    assert said["hookEventName"] != "PreToolUse" or said["permissionDecision"] == "deny"
    return str(said.get("permissionDecisionReason") or said["additionalContext"])


@pytest.mark.parametrize("script", NO_ANSWER)
def test_whatever_is_no_answer_blocks_a_write_and_lets_a_person_go_on(world: World, script: str) -> None:
    install(world.project)
    written(world.project.repo.control / "hook", script)
    for event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        code, out, err = call(world, event, WRITES)
        assert (code, err) == (0, "")
        assert "no answer here: blocked. next, for a person: tdd doctor" in reason(out)
    for event in OPEN:
        code, out, err = call(world, event, "{}")
        assert (code, err) == (0, "")
        assert "Verdigris" in json.loads(out)["systemMessage"]


@pytest.mark.parametrize("script", [script for script in NO_ANSWER if "exec" not in script])
def test_a_gate_that_is_there_and_fails_lets_nothing_be_read(world: World, script: str) -> None:
    install(world.project)
    written(world.project.repo.control / "hook", script)
    assert reason(call(world, "PreToolUse", READS)[1])


def test_a_clone_without_the_gate_can_read_and_is_told_how_to_install_it(world: World) -> None:
    code, out, err = call(world, "PreToolUse", WRITES)
    assert (code, err) == (0, "")
    assert "pip install verdigris" in reason(out)
    assert "tdd init --agent claude" in reason(out)
    for tool in ("Read", "Grep", "TodoWrite"):
        payload = json.dumps(
            {"tool_name": tool, "tool_input": {"x": {"tool_name": "Write"}}}, separators=(",", ":")
        )
        for event in ("PreToolUse", "PostToolUse"):
            assert call(world, event, payload) == (0, "{}\n", "")
    sly = {"tool_name": "mcp__x__y", "tool_input": {"tool_name": "Read", "text": '"tool_name":"Read"'}}
    assert reason(call(world, "PreToolUse", json.dumps(sly))[1])
    for event in OPEN:
        code, out, err = call(world, event, "{}")
        assert (code, err) == (0, "")
        assert "pip install verdigris and tdd init --agent claude" in json.loads(out)["systemMessage"]


@pytest.mark.parametrize("gone", ["python", "entry"])
def test_a_launcher_whose_verdigris_is_gone_is_a_clone_without_it(world: World, gone: str) -> None:
    install(world.project)
    hook = world.project.repo.control / "hook"
    missing = str(HOOK_ENTRY) if gone == "entry" else interpreter()
    hook.write_text(hook.read_text().replace(missing, "/nowhere/x"))
    assert "pip install verdigris" in reason(call(world, "PreToolUse", WRITES)[1])
    assert call(world, "PreToolUse", READS) == (0, "{}\n", "")
