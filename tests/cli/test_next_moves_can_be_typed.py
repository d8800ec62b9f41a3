"""`next:` as a user follows it: the command that is printed is typed as it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from support.cli import FIXED, RED, SOURCE, Cli

pytestmark = pytest.mark.usefixtures("remembered_runs")

SUB = "tests/test_sub.py::test_sub"
DENIED, MISUSED, FAULT = 3, 2, 70
MOST_MOVES = 9
EDIT = "edit the claimed source"


def _told(text: str) -> str:
    """The last move that was named."""
    return [line for line in text.splitlines() if line.startswith("next: ")][-1].removeprefix("next: ")


def _typed(cli: Cli, move: str) -> str:
    """What the first command of the move answers, after the edit that it asks for."""
    if move.startswith(EDIT):
        cli.repo.write("calc.py", FIXED)
    if move.startswith("put back what"):
        cli.repo.git("checkout", "--", "tests/test_add.py")
        return cli.ok("status").out
    if move.startswith("write one failing test"):
        cli.repo.write("tests/test_sub.py", RED)
        return cli.tdd("test", SUB).out
    command = re.findall(r"`([^`]+)`", move)[0]
    program, *words = shlex.split(command)
    if program == "git":
        cli.repo.git(*words)
        return cli.ok("status").out
    ran = cli.tdd(*words)
    assert ran.code not in {DENIED, MISUSED, FAULT}, (move, ran)
    return ran.out if "next: " in ran.out else cli.ok("status").out


def _is_accepted(text: str) -> bool:
    return any("● accepted" in line for line in text.splitlines())


def _red(cli: Cli) -> None:
    cli.repo.write("tests/test_sub.py", RED)
    cli.tdd("test", SUB)


def _nothing(cli: Cli) -> None:
    cli.ok("status")


def _source_before_the_red(cli: Cli) -> None:
    cli.repo.write("calc.py", SOURCE.replace("a + b", "b + a"))
    _red(cli)


def _weaker_suite(cli: Cli) -> None:
    cli.repo.write("tests/test_add.py", "")
    _red(cli)


def _another_file_was_changed_since(cli: Cli) -> None:
    _red(cli)
    cli.repo.write(
        "tests/test_add.py", cli.repo.read("tests/test_add.py") + b"\n\ndef test_more():\n    assert True\n"
    )


def _the_test_was_deleted(cli: Cli) -> None:
    _red(cli)
    (cli.root / "tests/test_sub.py").unlink()


def _test_bug(cli: Cli) -> None:
    _red(cli)
    cli.ok("claim", SUB)
    cli.repo.write("calc.py", FIXED)
    cli.ok("test-bug", "tests/test_sub.py:5", "it should be two")
    cli.repo.write("tests/test_sub.py", RED.replace("3, 2) == 1", "3, 1) == 2"))


def _head_moved_under_the_turn(cli: Cli) -> None:
    cli.repo.git("switch", "--quiet", "--create", "side")
    cli.repo.write("other.py", "x = 1\n")
    cli.repo.commit("theirs")
    cli.repo.git("switch", "--quiet", "-")
    cli.ok("status")
    _red(cli)
    cli.ok("claim", SUB)
    cli.repo.git("merge", "--quiet", "side")
    cli.tdd("settle")


def _merge_in_progress(cli: Cli) -> None:
    for branch, text in (("side", "1"), (None, "2")):
        cli.repo.git("switch", "--quiet", *(["--create", branch] if branch else ["-"]))
        cli.repo.write("notes.txt", text)
        cli.repo.commit(f"notes {text}")
    _red(cli)
    cli.ok("claim", SUB)
    with pytest.raises(AssertionError):
        cli.repo.git("merge", "--quiet", "side")


def _open_refactor(cli: Cli) -> None:
    cli.ok("refactor", "begin")


@pytest.mark.slow
@pytest.mark.parametrize(
    "bring_about",
    [
        _nothing,
        _source_before_the_red,
        _weaker_suite,
        _another_file_was_changed_since,
        _the_test_was_deleted,
        _test_bug,
        _head_moved_under_the_turn,
        _merge_in_progress,
        _open_refactor,
    ],
    ids=lambda state: state.__name__.strip("_"),
)
def test_what_is_printed_after_next_can_be_typed_until_source_is_open(
    cli: Cli, bring_about: Callable[[Cli], None]
) -> None:
    """From there on all ways are one: the first of them is followed to its acceptance."""
    bring_about(cli)
    text = cli.ok("status").out
    for _ in range(MOST_MOVES):
        if _told(text).startswith(EDIT) and bring_about is not _nothing:
            return
        text = _typed(cli, _told(text))
        if _is_accepted(text):
            return
    raise AssertionError(text)
