from __future__ import annotations

import pytest

from verdigris.drivers.code.settings import Mode, Permission, deny_without_yes

ALLOW = ("git log*", "ls", "make test && make lint")


def asks(mode: Mode, tool: str, *, edits: bool = False, **given: str) -> bool:
    return Permission(mode, ALLOW).needs_yes(tool, given, edits=edits)


def test_all_asks_about_nothing() -> None:
    assert not asks("all", "shell", command="rm -rf /")
    assert not asks("all", "edit_file", edits=True)


def test_edits_asks_about_commands_alone_and_ask_about_both() -> None:
    assert not asks("edits", "edit_file", edits=True)
    assert asks("ask", "edit_file", edits=True)
    for mode in ("ask", "edits"):
        assert asks(mode, "shell", command="rm x")
        assert not asks(mode, "read_file")
        assert not asks(mode, "shell", job="j1")


@pytest.mark.parametrize("command", ["git log", "git log -3 --oneline", "ls", "make test && make lint"])
def test_what_is_on_the_list_is_not_asked_about(command: str) -> None:
    assert not asks("edits", "shell", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "ls -l",
        "git logx; rm y",
        "git log | sh",
        "git log $(rm x)",
        "git log\nrm x",
        "git log > f",
        "git log & x",
    ],
)
def test_a_line_that_joins_more_to_it_is(command: str) -> None:
    assert asks("edits", "shell", command=command)


def test_a_refusal_names_other_ways() -> None:
    assert "run_tests" in deny_without_yes("shell").next
