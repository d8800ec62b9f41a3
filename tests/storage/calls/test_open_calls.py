from __future__ import annotations

import os
import shlex
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.cli import make_cli
from verdigris.storage.calls import call_records, open_calls
from verdigris.storage.calls.callers import (
    UNKNOWN,
    at_work,
    caller,
    forget_caller,
    forget_old_callers,
    note_caller,
)

if TYPE_CHECKING:
    from support.turns import World


def test_an_open_call_is_told_by_its_command(tmp_path: Path) -> None:
    private = str(tmp_path / "tdd/worktrees/main")
    record = call_records.open_record(private, "make all\nand more")
    assert open_calls.open_call(private) == "make all\nand more"
    assert open_calls.alive(private)
    denial = open_calls.refusal(private)
    assert denial is not None
    assert denial.reason.endswith(": make all")
    os.close(record)
    assert open_calls.refusal(private) is None
    assert not open_calls.alive(private)


def test_a_call_that_was_killed_is_waited_for_while_its_guard_finishes_it(tmp_path: Path) -> None:
    private = str(tmp_path / "tdd/worktrees/main")
    record = call_records.open_record(private, "sleep 60")
    ended = subprocess.Popen(["true"])
    ended.wait()
    own = Path(call_records.own_path(private))
    own.rename(own.with_name(str(ended.pid)))
    threading.Timer(0.2, os.close, [record]).start()
    assert open_calls.open_call(private) is None


def test_where_no_call_ever_was(world: World) -> None:
    private = str(world.project.repo.private)
    assert open_calls.open_call(private) is None
    assert not open_calls.alive(private)


def test_a_persons_verbs_are_refused_while_a_call_is_open(tmp_path: Path) -> None:
    cli = make_cli(tmp_path / "repo")
    cli.ok("init", "--yes")
    record = call_records.open_record(str(cli.root / ".git/tdd/worktrees/main"), "sleep 60")
    for verb in (["off", "--why", "x"], ["init", "--yes"], ["holdout", "add", "tests/test_add.py"]):
        ran = cli.tdd(*verb)
        assert ran.code == 3
        assert "sleep 60" in ran.err
    cli.ok("status")
    os.close(record)
    cli.ok("off", "--why", "x")
    assert cli.tdd("on", env={"TDD_ACTOR": "agent"}).code == 3


ODD = "cat <<'X'\nit's \"$HOME\" \\ \udcff é\nX"


@pytest.fixture
def private(tmp_path: Path) -> str:
    return str(tmp_path)


def wrapped(command: str) -> str:
    """As Claude Code hands a command to its shell prefix."""
    return f"source /x 2>/dev/null || true && eval {shlex.quote(command)} < /dev/null && pwd -P >| /tmp/c"


@pytest.mark.parametrize("command", ["tdd claim a b", ODD, "true"])
def test_a_command_is_found_in_the_clients_line(private: str, command: str) -> None:
    assert caller(private, "s", wrapped(command)) == ""
    note_caller(private, "s", command, "a1")
    assert caller(private, "s", wrapped(command)) == caller(private, "s", command) == "a1"
    assert caller(private, "other", wrapped(command)) == UNKNOWN
    assert caller(private, "s", wrapped(f"{command} ")) == UNKNOWN


def test_each_call_is_its_own_agents_and_a_stop_ends_all(private: str) -> None:
    note_caller(private, "s", "tdd settle", "a1")
    note_caller(private, "s", "tdd status", "a1")
    assert caller(private, "s", "tdd settle") == "a1"
    note_caller(private, "s", "tdd settle", "")
    assert caller(private, "s", "tdd settle") == ""
    note_caller(private, "s", "tdd settle", "a2")
    assert caller(private, "s", "tdd settle") == "a2"
    forget_caller(private, "a1")
    assert caller(private, "s", "tdd status") == UNKNOWN
    note_caller(private, "s", "tdd settle", "a2")
    note_caller(private, "s", "tdd status", "")
    assert caller(private, "s", "tdd status") == "", "the session's own is noted while a subagent is"
    forget_caller(private, "a2")
    assert caller(private, "s", "any") == caller(private, "s", "tdd settle") == ""
    assert not list((Path(private) / "callers").iterdir())


def test_two_who_are_about_to_run_the_same_are_not_told_apart(private: str) -> None:
    for agent in ("author", "validator"):
        note_caller(private, "s", "tdd test", agent)
    assert [caller(private, "s", "tdd test") for _ in range(2)] == [UNKNOWN, UNKNOWN]
    note_caller(private, "s", "tdd test", "validator")
    assert caller(private, "s", "tdd test") == "validator", "both have begun"


def test_of_two_who_are_about_to_run_the_same_one_ends(private: str) -> None:
    for agent in ("author", "validator"):
        note_caller(private, "s", "tdd test", agent)
    assert at_work(private, "s") == {"s", "author", "validator"}
    forget_caller(private, "author")
    assert at_work(private, "s") == {"s", "validator"}
    assert caller(private, "s", "tdd test") == "validator"


def test_what_a_killed_subagent_left_is_forgotten_after_a_day(private: str) -> None:
    note_caller(private, "s", "x", "a1")
    now = time.time()
    forget_old_callers(private, now + 3600)
    assert caller(private, "s", "x") == "a1"
    forget_old_callers(private, now + 25 * 3600)
    assert caller(private, "s", "x") == ""


def test_the_session_alone_leaves_no_notes(private: str) -> None:
    note_caller(private, "s", "tdd settle", "")
    assert not (Path(private) / "callers").exists()


def test_a_line_that_is_no_shell_is_nobodys(private: str) -> None:
    note_caller(private, "s", "x", "a1")
    assert caller(private, "s", "it's") == UNKNOWN
