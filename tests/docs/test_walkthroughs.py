"""README and tutorial are followed, command by command, and what they show is what is printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import make_repo

PROJECT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"(?:`(?P<file>[\w./]+)`[^\n`]*:\n\n)?^```(?P<kind>python|console)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SKIPPED = "…"
_SECONDS = re.compile(r"\b\d+(?:\.\d+)? ?s\b")


def section(page: str, title: str, end: str) -> str:
    text = (PROJECT / page).read_text("utf-8")
    return text[text.index(title) : text.index(end)]


WALKS = {
    "README": lambda: section("README.md", "## One round, by hand", "[The first hour]"),
    "tutorial": lambda: section("docs/tutorial.md", "## 1. Set up", "## 6. "),
}


FEWEST = {"README": 2, "tutorial": 7}


def steps(command_lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console, with the lines that it is shown to print."""
    for at, line in enumerate(command_lines):
        if line.startswith("$ "):
            yield line[2:], list(takewhile(lambda other: not other.startswith("$ "), command_lines[at + 1 :]))


def run(cli: Cli, command: str) -> list[str]:
    words = shlex.split(command, comments=True)
    if words[0] == "tdd":
        ran = cli.tdd(*words[1:])
        said = ran.err + ran.out
    else:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=cli.root,
            env={**cli.environment(), "PATH": path, "COLUMNS": "80"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done)
        said = done.stdout
    return [_SECONDS.sub("N s", line.rstrip()) for line in said.splitlines()]


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are those that are printed; `…` stands for any number of lines."""
    if not shown:
        return not printed
    first, *rest = shown
    if first == _SKIPPED:
        return any(agrees(rest, printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and _SECONDS.sub("N s", first) == printed[0] and agrees(rest, printed[1:])


@pytest.mark.parametrize("name", WALKS)
def test_each_command_prints_what_the_page_shows(tmp_path: Path, name: str) -> None:
    cli = Cli(make_repo(tmp_path / "shop"))
    followed = 0
    for fence in _FENCE.finditer(WALKS[name]()):
        if fence["kind"] == "python":
            cli.repo.write(fence["file"], fence["text"])
            continue
        for command, shown in steps(fence["text"].splitlines()):
            printed = run(cli, command)
            assert agrees(shown, printed), "\n".join((f"$ {command}", *printed))
            followed += 1
    assert followed >= FEWEST[name]
    plain = [sys.executable.replace("python", "pytest"), "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        plain, cwd=cli.root, env=cli.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
