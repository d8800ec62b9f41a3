"""A kata and the answers of scripted models, as a recording that `replay:FILE` plays."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.gitrepo import GitRepo, copied
from support.turns import CONFIG, QUICK, begin_project
from verdigris.core.records import Actor
from verdigris.drivers.machine.open_machine import open_machine
from verdigris.drivers.machine.run import MachineRun
from verdigris.models.roles.answer import SCHEMA_NAME
from verdigris.storage.project import Project, open_project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from verdigris.drivers.happenings import Happening, RunEnded, YourTurn
    from verdigris.drivers.machine.person import Person

KATA = """\
# String Calculator

A function `add` sums the numbers in a string. It is built step by step.

- an empty string is 0
- one number is its value
- two numbers, separated by a comma, are summed
"""
TALK = "talk.jsonl"
TEST = "tests/test_calculator.py"
EMPTY = "from calculator import add\n\n\ndef test_empty_is_zero():\n    assert add('') == 0\n"
ONE = EMPTY + "\n\ndef test_one_number():\n    assert add('7') == 7\n"
TWO = ONE + "\n\ndef test_two_numbers():\n    assert add('1,2') == 3\n"
STUB = "def add(numbers):  # STUB:TDD\n    return -1\n"
ZERO = "def add(numbers):\n    return 0\n"
NUMBER = "def add(numbers):\n    return int(numbers) if numbers else 0\n"
TIDY = "def add(numbers: str) -> int:\n    return int(numbers or 0)\n"
SUM = "def add(numbers: str) -> int:\n    return sum(int(n or 0) for n in numbers.split(','))\n"


def edit(kind: str, subject: str, files: Mapping[str, str | None], **more: Any) -> str:
    """An answer with edits: None deletes."""
    edits: list[dict[str, Any]] = [
        {"path": path, "action": "delete" if text is None else "upsert", "intent": f"about {path}"}
        | {"content": text, "to": None}
        for path, text in files.items()
    ]
    said = {"verdict": "edit", "reason": "", "rationale": f"Because of {subject}.", "read": []}
    return json.dumps({**said, "type": kind, "subject": subject, "edits": edits, **more})


def stop(verdict: str, reason: str) -> str:
    said = {"verdict": verdict, "reason": reason, "rationale": "", "read": [], "type": "", "subject": ""}
    return json.dumps({**said, "edits": []})


FIRST = edit("test", "an empty string is zero", {TEST: EMPTY, "calculator.py": STUB})
HONEST: dict[str, Sequence[str]] = {
    "step-1-tester": (FIRST,),
    "step-2-implementor": (edit("feat", "the empty string", {"calculator.py": ZERO}),),
    "step-3-refactorer": (
        edit("refactor", "say what goes in and out", {"calculator.py": ZERO.replace("numbers", "_text")}),
    ),
    "step-4-tester": (edit("test", "one number", {TEST: ONE}),),
    "step-5-implementor": (edit("feat", "one number", {"calculator.py": NUMBER}),),
    "step-6-refactorer": (edit("refactor", "types", {"calculator.py": TIDY}),),
    "step-7-tester": (edit("test", "two numbers", {TEST: TWO}),),
    "step-8-implementor": (edit("feat", "sum", {"calculator.py": SUM}),),
    "step-9-refactorer": (stop("nothing-to-do", "it is one line"),),
}


def recording(places: Mapping[str, Sequence[str]]) -> str:
    lines = [{"recording": "verdigris", "schema": 1}]
    asked = {"wants": SCHEMA_NAME, "messages": []}
    usage = {"prompt": 100, "cached": 60, "completion": 10, "estimated": False}
    for place, answers in places.items():
        for number, text in enumerate(answers, 1):
            reply = {"text": text, "calls": [], "usage": usage, "finish": "stop", "model": "scripted"}
            lines.append({"place": place, "number": number, "asked": asked, "reply": reply})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@dataclass
class PlayedRun:
    """A repository in which the roles of a driver are played from a recording."""

    repo: GitRepo
    happenings: list[Happening] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.repo.root

    @property
    def project(self) -> Project:
        return open_project(self.root, Actor(client="test"))

    def of(self, kind: type[Any]) -> list[Any]:
        return [happening for happening in self.happenings if isinstance(happening, kind)]

    def record(self, honest: Mapping[str, Sequence[str]], changed: Mapping[str, Sequence[str]]) -> None:
        """The honest answers, except at the named places, such as `step_2_implementor`."""
        places = dict(honest)
        for name, answers in changed.items():
            _, step, role = name.split("_", 2)
            places[f"step-{step}-{role}"] = answers
        self.repo.write(TALK, recording(places))


@dataclass
class Kata(PlayedRun):
    def plays(self, **changed: Sequence[str]) -> None:
        self.record(HONEST, changed)

    def run(self, steps: int | None = None, person: Person | None = None) -> RunEnded:
        with open_machine(self.root, self.happenings.append) as machine:
            return MachineRun(machine, person or nobody).make(steps)

    def log(self, form: str, *words: str) -> list[str]:
        """The commits after the first one, the oldest first."""
        return self.repo.git("log", "--reverse", f"--format={form}", *words).split("\x00\n")[1:]

    def subjects(self, branch: str = "main") -> list[str]:
        return self.repo.git("log", "--reverse", "--format=%s", branch).splitlines()[1:]

    def commits(self, branch: str = "main") -> list[tuple[str, str]]:
        """Tree and message of each commit: a resumed run must have the same."""
        told = self.repo.git("log", "--reverse", "--format=%T%x1f%B%x1e", branch)
        parts = [part.strip("\n").split("\x1f") for part in told.split("\x1e") if part.strip()]
        return [(tree, message.strip()) for tree, message in parts]


def nobody(_: YourTurn) -> None:
    return None


def make_kata(root: Path, config: str = "", *, roles: str = "", **files: str) -> Kata:
    """The String Calculator, committed, with all roles played from the recording."""
    key = ("kata", config, roles, *files.items())
    kata = Kata(copied(root, lambda place: _make(place, config, roles, files), *key))
    kata.plays()
    return kata


def _make(root: Path, config: str, roles: str, files: Mapping[str, str]) -> None:
    models = roles or "".join(
        f"  {role}: {{model: 'replay:{TALK}'}}\n" for role in ("tester", "implementor", "refactorer")
    )
    ours = {
        "tdd.yaml": f"{QUICK}{CONFIG}roles:\n{models}{config}",
        "kata.md": KATA,
        "conftest.py": "",
        ".gitignore": f"__pycache__/\n{TALK}\n",
    }
    begin_project(root, {**ours, **files}, "chore: the kata")
