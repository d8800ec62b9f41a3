from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from verdigris.storage.open_calls import UNKNOWN, caller, forget_caller, forget_old_callers, note_caller

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


def test_of_two_the_later_one_is_meant_and_a_stop_ends_all(private: str) -> None:
    note_caller(private, "s", "tdd settle", "a1")
    note_caller(private, "s", "tdd status", "a1")
    note_caller(private, "s", "tdd settle", "")
    assert caller(private, "s", "tdd settle") == ""
    note_caller(private, "s", "tdd settle", "a2")
    forget_caller(private, "a1")
    assert caller(private, "s", "tdd status") == UNKNOWN
    assert caller(private, "s", "tdd settle") == "a2"
    note_caller(private, "s", "tdd status", "")
    assert caller(private, "s", "tdd status") == "", "the session's own is noted while a subagent is"
    forget_caller(private, "a2")
    assert caller(private, "s", "any") == caller(private, "s", "tdd settle") == ""
    assert not list((Path(private) / "callers").iterdir())


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
