"""A link that a living process puts where a file tool is about to write."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gates.hooks import payload, run
from support.shelled import Shelled
from verdigris.core.events import Violation
from verdigris.storage.calls import held_processes, open_calls
from verdigris.storage.calls.call_records import folder_of
from verdigris.storage.relied_files import is_guarded

PATIENCE = 30.0


def wait_until(is_so: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def server(one: Shelled) -> Iterator[int]:
    """A process that outlives its call."""
    one.run("sleep 600 > /dev/null 2>&1 &")
    (pid,) = open_calls.processes_of_calls(str(one.private))
    yield pid
    os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGKILL)
    run(payload(one.world, "Read", "PostToolUse", file_path=f"{one.root}/notes.txt"), "PostToolUse")


def before(one: Shelled, path: str) -> dict[str, Any]:
    said = run(payload(one.world, "Write", file_path=f"{one.root}/{path}", content="x"))
    return json.loads(said.stdout)  # type: ignore[no-any-return]


def after(one: Shelled, path: str) -> str:
    raw = payload(one.world, "Write", "PostToolUse", file_path=f"{one.root}/{path}", content="x")
    said = json.loads(run(raw, "PostToolUse").stdout)
    return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_processes_of_earlier_calls_are_held_until_the_tool_has_written(one: Shelled, server: int) -> None:
    assert before(one, "notes.txt") == {}
    assert state_of(server) == "T"
    after(one, "notes.txt")
    wait_until(lambda: state_of(server) != "T")
    assert not is_guarded(str(one.private))


def test_a_server_that_nobody_lets_go_goes_on_by_itself(one: Shelled, server: int) -> None:
    assert before(one, "notes.txt") == {}
    wait_until(lambda: state_of(server) != "T")
    assert is_guarded(str(one.private)), "the tool may still write"


def test_one_that_is_stopped_already_stays_so(one: Shelled, server: int) -> None:
    os.kill(server, signal.SIGSTOP)
    wait_until(lambda: state_of(server) == "T")
    held_processes.hold(str(one.private))
    held_processes.let_go(str(one.private))
    assert state_of(server) == "T"


def test_a_tool_that_ends_leaves_others_guarded(one: Shelled, server: int) -> None:
    assert before(one, "notes.txt") == {}
    assert before(one, "more.txt") == {}
    after(one, "notes.txt")
    assert is_guarded(str(one.private))
    assert state_of(server) == "T", "the other tool may still write"
    after(one, "more.txt")
    assert not is_guarded(str(one.private))
    wait_until(lambda: state_of(server) != "T")


def test_a_guard_whose_tool_was_refused_holds_nobody_longer(one: Shelled, server: int) -> None:
    assert before(one, "refused.txt") == {}
    wait_until(lambda: state_of(server) != "T")
    assert before(one, "notes.txt") == {}
    after(one, "notes.txt")
    assert state_of(server) != "T"
    run(payload(one.world, "", "UserPromptSubmit", prompt="go on"), "UserPromptSubmit")
    assert not is_guarded(str(one.private))


def test_a_call_that_begins_while_a_file_tool_may_write_is_guarded(one: Shelled) -> None:
    assert before(one, "late.txt") == {}
    assert not is_guarded(str(one.private))
    shell = payload(one.world, "Bash", command="sleep 1").replace(b'"s1"', b'"s2"')
    assert run(shell, prefix=str(one.private.parent.parent / "shell")).stdout == "{}"
    assert is_guarded(str(one.private))
    target, link = one.root / ".git" / "hooks" / "post-checkout", one.root / "late.txt"
    one.run("ln -s .git/hooks/post-checkout late.txt")
    target.write_text("#!/bin/sh\ntouch owned\n")
    assert "post-checkout was put back" in after(one, "late.txt")
    assert not target.exists()
    run(shell.replace(b"PreToolUse", b"PostToolUse"), "PostToolUse")
    assert not is_guarded(str(one.private))
    link.unlink()


def test_a_process_that_is_no_calls_is_never_stopped(one: Shelled, server: int) -> None:
    """Numbers of namespaces are used again: the record could name another's."""
    import subprocess

    assert server
    other = subprocess.Popen(["unshare", "--user", "--mount", "sleep", "600"])
    try:
        wait_until(lambda: Path(f"/proc/{other.pid}/comm").read_text() == "sleep\n")
        space = f"mnt {Path(f'/proc/{other.pid}/ns/mnt').stat().st_ino}".ljust(32)
        record = Path(folder_of(str(one.private)), "999999999")
        record.write_text(f"+{space}{'':32}")
        assert other.pid in open_calls.processes_of_calls(str(one.private))
        before(one, "notes.txt")
        assert state_of(server) == "T"
        assert state_of(other.pid) != "T"
        record.unlink()
    finally:
        other.kill()
        other.wait()


def test_a_denied_call_holds_nobody(one: Shelled, server: int) -> None:
    assert before(one, "tdd.yaml")
    assert state_of(server) != "T"
    assert not is_guarded(str(one.private))


def test_without_a_living_process_nothing_is_held_or_copied(one: Shelled) -> None:
    assert not open_calls.processes_of_calls(str(one.private))
    assert before(one, "notes.txt") == {}
    assert not is_guarded(str(one.private))
    after(one, "notes.txt")


RELIED = [
    ".git/hooks/post-checkout",
    ".git/config",
    ".git/tdd/worktrees/main/shell",
    ".git/tdd/shell",
    ".git/info/attributes",
]


@pytest.mark.parametrize("target", [*RELIED, ".claude/settings.local.json", ".git/tdd/events.jsonl"])
def test_what_was_written_through_a_late_link_is_put_back(one: Shelled, server: int, target: str) -> None:
    assert server
    path, link = one.root / target, one.root / "late.txt"
    was = path.read_bytes() if path.exists() else None
    assert before(one, "late.txt") == {}
    link.symlink_to(path)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"#!/bin/sh\ntouch owned\n")
    said = after(one, "late.txt")
    assert f"{target} was put back: it changed while a file tool wrote" in said
    if target.endswith("events.jsonl"):
        assert path.read_bytes().startswith(was or b"")
    else:
        assert (path.read_bytes() if path.exists() else None) == was
    (kept,) = (Path(word.rstrip(")\n")) for word in said.split() if "/tdd/undone/" in word)
    assert kept.read_bytes() == b"#!/bin/sh\ntouch owned\n"
    assert any(target in found.path for found in one.world.events(Violation))  # type: ignore[attr-defined]
    link.unlink()
    run(payload(one.world, "Read", "PostToolUse", file_path=f"{one.root}/notes.txt"), "PostToolUse")


@pytest.mark.skipif(not os.access("/var/lib", os.W_OK), reason="a folder that is in none of the places")
def test_what_nobody_guards_is_taken_away_if_it_was_written_through_a_link(one: Shelled, server: int) -> None:
    assert server
    outside, link = Path(f"/var/lib/tdd-late.{os.getpid()}"), one.root / "late.txt"
    assert before(one, "late.txt") == {}
    link.symlink_to(outside)
    outside.write_text("x")
    said = after(one, "late.txt")
    assert f"{outside} was removed: a file tool wrote it through a link" in said
    assert not outside.exists()
    link.unlink()


def test_a_verb_between_does_not_end_the_guard(one: Shelled, server: int) -> None:
    assert server
    before(one, "late.txt")
    one.run("tdd status")
    assert is_guarded(str(one.private))
    log = one.private.parent.parent / "events.jsonl"
    was = log.read_bytes()
    log.write_bytes(was[: len(was) // 2])
    one.run("tdd status")
    assert log.read_bytes().startswith(was)
    after(one, "late.txt")
