"""The hook process end to end: bytes on stdin, exit 0 or 2, and never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gates.hooks import ENTRY, payload, run, write
from support.turns import World, make_world
from verdigris.gates.quick import quick
from verdigris.storage import stat_cache
from verdigris.storage.calls.call_records import folder_of
from verdigris.storage.calls.callers import UNKNOWN, caller, end_edit
from verdigris.storage.log import light

QUICK = {
    *("verdigris", "verdigris.gates", "verdigris.gates.quick", "verdigris.gates.quick.quick"),
    *("verdigris.gates.clients", "verdigris.gates.clients.claude", "verdigris.gates.clients.claude.quick"),
    *(
        "verdigris.gates.quick.quick",
        "verdigris.gates.quick.place",
        "verdigris.storage",
        "verdigris.storage.quick_patterns",
        "verdigris.storage.quick_state",
    ),
    *("verdigris.storage.log", "verdigris.storage.log.light"),
    *("__future__", "gc", "fcntl", "_json", "_sha256", "_sha2"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = make_world(tmp_path_factory.mktemp("entry") / "a repo")
    world.write("notes.md", "x")
    run(write(world, "notes.md"))
    return world


def imported(world: World, raw: bytes, event: str = "PreToolUse", prefix: str = "") -> set[str]:
    """What a call loaded besides what any start loads."""
    floor = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", "pass"], capture_output=True, check=True
    )
    done = run(raw, event, "-X", "importtime", prefix=prefix)
    assert (done.returncode, done.stdout) == (0, "{}\n")

    def names(text: str) -> set[str]:
        return {line.rpartition("|")[2].strip() for line in text.splitlines() if "|" in line}

    return names(done.stderr) - names(floor.stderr.decode())


def test_an_allowed_edit_is_recorded_and_loads_next_to_nothing(world: World) -> None:
    before = len(list(world.project.log.records()))
    assert imported(world, write(world, "notes.md")) <= QUICK
    *_, last = world.project.log.records()
    assert (last.type, last.data) == ("edit", {"paths": ["notes.md"]})
    assert len(list(world.project.log.records())) == before + 1
    assert world.whole()


def test_a_stale_card_is_made_anew_by_the_call_that_finds_it_so(world: World) -> None:
    world.red_by_record("tests/test_x.py::test_x")
    done = run(write(world, "notes.md"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")
    assert imported(world, write(world, "notes.md")) <= QUICK
    assert world.whole()


def test_a_run_without_checkpoints_ends(world: World) -> None:
    control = os.fspath(world.project.repo.control)
    run(write(world, "notes.md"))
    head = light.head(control)
    assert head is not None
    envelope: dict[str, Any] = {"worktree": "main", "branch": None, "actor": {}, "v": 1}
    while light.append(control, light.stamp(head), "call", envelope, {"tool": "Read"}):
        pass
    assert run(write(world, "notes.md")).stdout == "{}\n"
    after = light.head(control)
    assert after is not None
    assert after["checkpoint"] > head["checkpoint"]
    assert imported(world, write(world, "notes.md"))
    assert world.whole()


def test_what_is_not_plain_is_decided_by_the_kernel(world: World) -> None:
    done = run(write(world, "tdd.yaml"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert run(payload(world, "TodoWrite", todos=[])).stdout.strip() == "{}"


def test_after_a_call_nothing_is_loaded_but_the_looks_of_things(world: World) -> None:
    for event in ("PreToolUse", "PostToolUse"):  # takes the looks
        run(payload(world, "Bash", event, command="true"), event)
    run(write(world, "notes.md"))
    raw = payload(world, "Edit", "PostToolUse", file_path=str(world.root / "notes.md"))
    loaded = imported(world, raw, "PostToolUse")
    assert loaded <= {*QUICK, "verdigris.gates.quick.quick"}
    assert quick.VERSION == stat_cache.VERSION
    world.write("calc.py", world.read("calc.py").replace("+", "-"))
    told = run(payload(world, "Bash", "PostToolUse", command="true"), "PostToolUse")
    assert told.returncode == 0
    assert "calc.py" in told.stdout
    assert stat_cache.read(world.project.repo.private, world.root) is not None


def shell(world: World, command: str = "true", **more: str) -> bytes:
    return json.dumps({**json.loads(payload(world, "Bash", command=command)), **more}).encode()


@pytest.fixture(scope="module")
def confined(world: World) -> str:
    """The prefix; the tree was looked at since the last change."""
    prefix = str(world.project.repo.control / "shell")
    for event in ("PreToolUse", "PostToolUse"):
        run(payload(world, "Bash", event, command="true"), event, prefix=prefix)
    return prefix


def test_a_confined_shell_call_loads_next_to_nothing(world: World, confined: str) -> None:
    run(shell(world), prefix=confined)
    assert imported(world, shell(world), prefix=confined) <= QUICK


def test_a_shell_call_that_is_not_confined_is_never_allowed_quickly(world: World, confined: str) -> None:
    for prefix in ("/bin/sh", ""):
        done = json.loads(run(shell(world), prefix=prefix).stdout)
        assert "unconfined-shell" in done["hookSpecificOutput"]["permissionDecisionReason"]


def test_right_after_a_denial_an_edit_and_a_shell_call_load_next_to_nothing(
    world: World, confined: str
) -> None:
    run(shell(world), prefix=confined)
    for raw in (write(world, "notes.md"), shell(world)):
        denied = run(write(world, "tdd.yaml"), prefix=confined)
        assert json.loads(denied.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert imported(world, raw, prefix=confined) <= QUICK
    end_edit(str(world.project.repo.private), "s1")


def test_the_shell_call_of_a_subagent_is_remembered_as_its_own(world: World, confined: str) -> None:
    private = str(world.project.repo.private)
    run(shell(world), prefix=confined)
    assert imported(world, shell(world, "tdd test x", agent_id="a1"), prefix=confined) <= QUICK
    assert caller(private, "s1", "tdd test x") == "a1"
    assert imported(world, shell(world, "tdd test x"), prefix=confined) <= QUICK
    assert caller(private, "s1", "tdd test x") == ""
    assert imported(world, shell(world, "tdd test y"), prefix=confined) <= QUICK
    assert caller(private, "s1", "tdd test y") == "", "the session's own"
    assert caller(private, "s1", "tdd test z") == UNKNOWN


def test_before_a_shell_call_a_change_of_what_is_protected_is_looked_at(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    confined = str(world.project.repo.control / "shell")
    run(shell(world), prefix=confined)
    assert imported(world, shell(world), prefix=confined) <= QUICK
    world.write("calc.py", world.read("calc.py") + "\n\ndef more():\n    return 1\n")
    assert "calc.py" in run(shell(world), prefix=confined).stdout


def test_before_a_shell_call_the_record_of_another_is_looked_at(world: World, confined: str) -> None:
    run(shell(world), prefix=confined)
    left = Path(folder_of(str(world.project.repo.private)))
    left.mkdir(parents=True, exist_ok=True)
    (left / "1").write_bytes(b" " * 40)
    assert run(shell(world), prefix=confined).stdout.strip() == "{}"
    assert not list(left.iterdir())


DEEP = b'{"tool_input":' * 50_000
JUNK = [
    *(
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        DEEP,
        b"x" * 3_000_000,
        b'"\\ud800"',
        b"\0" * 99,
    ),
    b'{"hook_event_name":"PreToolUse"}',
    b'{"hook_event_name":["PreToolUse"],"cwd":7,"tool_name":{},"tool_input":[]}',
]


@pytest.mark.parametrize("raw", JUNK, ids=range(len(JUNK)))
def test_junk_is_no_traceback(raw: bytes) -> None:
    done = run(raw)
    assert done.returncode in {0, 2}
    assert done.stdout in {"", "{}", "{}\n"} or json.loads(done.stdout)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or done.stderr


def test_ten_megabytes(world: World) -> None:
    assert run(write(world, "notes.md", "é\n" * 3_500_000)).stdout == "{}\n"


def test_the_last_of_two_keys_counts(world: World) -> None:
    allowed, denied = write(world, "notes.md").decode(), write(world, "tdd.yaml").decode()
    both = allowed[:-1] + "," + denied[1:]
    assert "deny" in run(both.encode()).stdout
    assert run((denied[:-1] + "," + allowed[1:]).encode()).stdout == "{}\n"


def test_a_broken_installation_blocks_the_agent_and_not_the_person(tmp_path: Path) -> None:
    broken = tmp_path / "verdigris" / "gates" / "entry.py"
    broken.parent.mkdir(parents=True)
    shutil.copy(ENTRY, broken)
    for event, code in {"PreToolUse": 2, "PostToolUse": 2, "UserPromptSubmit": 0, "": 2}.items():
        done = run(b"{}", event, entry=broken)
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert "next:" in done.stderr


def test_killed_while_it_waits_it_leaves_the_log_whole(world: World) -> None:
    argv = [sys.executable, "-I", "-S", os.fspath(ENTRY), "claude", "PreToolUse"]
    hook = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert hook.stdin
    hook.stdin.write(write(world, "notes.md")[:40])
    hook.stdin.flush()
    hook.kill()
    hook.stdin.close()
    assert hook.wait() == -signal.SIGKILL
    assert world.whole()
