"""A repository with the gate before the real client, and the actions of a scripted agent in it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.anthropic_model import Model, Script, Step, bash, model, use
from support.claude_code import ClaudeCode
from support.cli import Cli, Ran, make_cli

TEST_SUB = "import calc\n\n\ndef test_sub():\n    assert calc.sub(3, 2) == 1\n"
SUB_ID = "tests/test_sub.py::test_sub"
SUB = "\n\ndef sub(a, b):\n    return a - b\n"


@dataclass(frozen=True, slots=True)
class Place:
    cli: Cli
    claude: ClaudeCode

    @property
    def root(self) -> Path:
        return self.cli.root

    def path(self, name: str) -> str:
        return str(self.root / name)

    def read(self, name: str) -> str:
        return (self.root / name).read_text()

    def events(self, kind: str) -> list[Any]:
        return [event for event in self.cli.ok("log", "--json").json["events"] if event["type"] == kind]

    def phase(self) -> str:
        return str(self.cli.ok("status", "--json").json["phase"])

    def write(self, name: str, content: str) -> Step:
        return use("Write", file_path=self.path(name), content=content)

    def append(self, name: str, old: str, new: str) -> Step:
        return use("Edit", file_path=self.path(name), old_string=old, new_string=new)

    def plays(self, *script: Script, prompt: str = "go", flags: tuple[str, ...] = ()) -> tuple[Model, Ran]:
        with model(*script) as playing:
            ran = self.claude.run(playing, prompt, *flags)
        assert ran.code == 0, ran
        return playing, ran


def make_place(root: Path, *, gate: bool = True, live: bool = False, **files: str) -> Place:
    """`gate`: False makes the same repository without a gate. `live`: see `make_cli`."""
    cli = make_cli(root, live=live)
    for name, text in files.items():
        cli.repo.write(name, text)
    if gate:
        cli.ok("init", "--yes", "--agent", "claude")
    cli.repo.commit("with the gate" if gate else "more files")
    environment = cli.environment()
    commands = str(Path(sys.executable).parent)
    environment["PATH"] = f"{commands}{os.pathsep}{environment['PATH']}"
    return Place(cli, ClaudeCode(root, cli.repo.home, environment))


def reading(place: Place, name: str) -> Step:
    """The client requires that a file is read before it is edited."""
    return use("Read", file_path=place.path(name))


def red(place: Place) -> tuple[Step, ...]:
    return (place.write("tests/test_sub.py", TEST_SUB), bash(f"tdd test {SUB_ID}"))


def edit(place: Place, new: str = SUB) -> tuple[Step, ...]:
    old = "    return a + b\n"
    return (reading(place, "calc.py"), place.append("calc.py", old, old + new))
