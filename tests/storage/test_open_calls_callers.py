from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from verdigris.storage.open_calls import caller, forget_caller, note_caller

if TYPE_CHECKING:
    from pathlib import Path

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
    assert caller(private, "other", wrapped(command)) == ""
    assert caller(private, "s", wrapped(f"{command} ")) == ""


def test_of_two_the_later_one_is_meant_and_a_stop_ends_all(private: str) -> None:
    note_caller(private, "s", "tdd settle", "a1")
    note_caller(private, "s", "tdd status", "a1")
    note_caller(private, "s", "tdd settle", "")
    assert caller(private, "s", "tdd settle") == ""
    note_caller(private, "s", "tdd settle", "a2")
    forget_caller(private, "a1")
    assert caller(private, "s", "tdd status") == ""
    assert caller(private, "s", "tdd settle") == "a2"


def test_a_line_that_is_no_shell_is_nobodys(private: str) -> None:
    note_caller(private, "s", "x", "a1")
    assert caller(private, "s", "it's") == ""
