from __future__ import annotations

import pytest

from support.cli import Cli

RESET = "\x1b["


def test_a_terminal_gets_colours(cli: Cli) -> None:
    shown = cli.on_a_terminal("doctor")
    assert shown.code == 0, shown
    assert "\x1b[32m●\x1b[0m ok   log" in shown.out


@pytest.mark.parametrize("variable", ["NO_COLOR", "CI"])
def test_a_terminal_gets_none_where_the_user_says_so(variable: str, cli: Cli) -> None:
    shown = cli.on_a_terminal("doctor", env={variable: "1"})
    assert "● ok   log" in shown.out
    assert RESET not in shown.out


def test_a_pipe_gets_none(cli: Cli) -> None:
    assert RESET not in cli.ok("doctor").out


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(cli: Cli) -> None:
    shown = cli.on_a_terminal("test")
    assert shown.code == 0, shown
    assert "1/1 tests" in shown.out
    assert "tests/test_add.py::test_add" in shown.out
    in_ci = cli.on_a_terminal("test", env={"CI": "1"})
    assert "1/1 tests" not in in_ci.out
    piped = cli.ok("test")
    assert (piped.err, "1/1" in piped.out) == ("", False)
