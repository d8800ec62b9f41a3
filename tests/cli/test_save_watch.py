"""What `tdd settle --watch` says after a save."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from support.cli import TDD, make_cli
from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.cli.save_watch import describe_save


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = make_world(tmp_path)
    monkeypatch.chdir(world.root)
    return world


def said(world: World) -> list[tuple[str | None, str]]:
    return [(line.dot, line.text) for line in describe_save(world.project)]


def test_a_test_alone_is_red_and_with_its_code_it_is_accepted(world: World) -> None:
    assert said(world) == [(None, "nothing changed that a verdict is about")]
    world.write("tests/test_sub.py", TEST_SUB)
    ((dot, text),) = said(world)
    assert dot == "red"
    assert text.startswith(f"red: {SUB_ID}: AttributeError")
    world.write("calc.py", CALC + SUB)
    assert said(world) == [("green", f"accepted: {SUB_ID}")]


def test_code_that_is_wrong_or_that_no_test_asks_for_says_why(world: World) -> None:
    world.write("calc.py", CALC + SUB.replace("-", "+"))
    ((dot, text),) = said(world)
    assert (dot, text.startswith("No test changed with this change")) == ("red", True)
    world.write("tests/test_sub.py", TEST_SUB)
    ((dot, text),) = said(world)
    assert (dot, text.partition(":")[0]) == ("red", "still-red")


def test_a_test_that_does_not_parse_is_said_and_nothing_is_lost(world: World) -> None:
    world.write("tests/test_sub.py", "def test_sub(:\n")
    ((dot, text),) = said(world)
    assert dot == "yellow"
    assert text.startswith("no red in tests/test_sub.py; next: ")


def test_it_watches_until_it_is_interrupted(tmp_path: Path) -> None:
    cli = make_cli(tmp_path / "repo", ready=True)
    words = [*TDD, "settle", "--watch"]
    with subprocess.Popen(
        words, cwd=cli.root, env=cli.environment(), stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        lines = [watching.stdout.readline(), watching.stdout.readline()]
        cli.repo.write("tests/test_sub.py", TEST_SUB)
        lines.append(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=60) == 0
    assert lines[0] == "watching; Ctrl-C ends it\n"
    assert lines[2].startswith(f"● red: {SUB_ID}: ")
