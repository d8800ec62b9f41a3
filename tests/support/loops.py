"""A program that ports functions of a small library, and scripted models that play its roles."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.gitrepo import copied
from support.machines import TALK, PlayedRun, edit, stop
from support.pages import project_files
from support.turns import CONFIG, QUICK, begin_project
from verdigris.drivers.budget import Limits
from verdigris.drivers.loop.branches.memory import read_state
from verdigris.drivers.loop.history import ProgramState, read_history
from verdigris.drivers.loop.open_program import open_program
from verdigris.drivers.loop.run import LoopRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from support.openai_server import Request, Step
    from verdigris.drivers.happenings import RunEnded

NAME = "port"
FILES = project_files("loop")
"""Those of the program, and of its project."""
PROGRAM = FILES["program.md"]
TESTS = "tests/test_port.py"
FIRST = "import port\n\n\ndef test_first_is_the_first_item():\n    assert port.first([3, 4]) == 3\n"
WRONG_FIRST = FIRST.replace("== 3", "== 4")
LAST = FIRST + "\n\ndef test_last_is_the_last_item():\n    assert port.last([3, 4]) == 4\n"
FIRST_STUB = "def first(items):  # STUB:TDD\n    return None\n"
FIRST_CODE = "def first(items):\n    found = list(items)\n    return found[0]\n"
FIRST_TIDY = "def first(items):\n    return list(items)[0]\n"
LAST_STUB = FIRST_CODE + "\n\ndef last(items):  # STUB:TDD\n    return None\n"
LAST_CODE = FIRST_CODE + "\n\ndef last(items):\n    return list(items)[-1]\n"


def pin(target: str, behaviour: str) -> dict[str, Any]:
    return {
        "target": target,
        "behaviour": behaviour,
        "source": "reference.md",
        "assertions": [behaviour],
        "included": ["two items"],
        "excluded": ["no items: a test of its own"],
    }


PIN_FIRST = edit(
    "test",
    "the first item",
    {TESTS: FIRST, "port.py": FIRST_STUB},
    pin=pin("first", "first is the first item"),
)
MAKE_FIRST = edit("feat", "the first item", {"port.py": FIRST_CODE})
PIN_LAST = edit(
    "test", "the last item", {TESTS: LAST, "port.py": LAST_STUB}, pin=pin("last", "last is the last item")
)
MAKE_LAST = edit("feat", "the last item", {"port.py": LAST_CODE})
NONE_NEEDED = stop("nothing-to-do", "it is two lines")


def with_lesson(answer: str, lesson: str) -> str:
    return json.dumps({**json.loads(answer), "lesson": lesson})


HONEST: dict[str, Sequence[str]] = {
    "step-21-test_writer": (PIN_FIRST,),
    "step-22-code_writer": (MAKE_FIRST,),
    "step-25-improver": (with_lesson(NONE_NEEDED, "An iterable may be read only once"),),
    "step-41-test_writer": (PIN_LAST,),
    "step-42-code_writer": (MAKE_LAST,),
    "step-45-improver": (NONE_NEEDED,),
}
ROLES = ("test_writer", "code_writer", "improver", "optimizer")


@dataclass
class PlayedLoop(PlayedRun):
    def plays(self, places: Mapping[str, Sequence[str]] | None = None, **changed: Sequence[str]) -> None:
        self.record(HONEST if places is None else places, changed)

    def run(self, iterations: int = 1) -> RunEnded:
        with open_program(self.root, NAME, self.happenings.append) as opened:
            return LoopRun(opened, Limits(iterations)).make()

    @property
    def state(self) -> ProgramState:
        return read_history(self.project.log.records(), NAME)

    @property
    def text(self) -> str:
        """The state file."""
        return read_state(self.root, NAME)

    def subjects(self) -> list[str]:
        """The commits of the program's branch, the oldest first."""
        return self.repo.git("log", "--reverse", "--format=%s", f"main..autoloop/{NAME}").splitlines()

    def file(self, path: str) -> str:
        return self.repo.git("show", f"autoloop/{NAME}:{path}")


def cast(model: str = f"replay:{TALK}") -> str:
    return "roles:\n" + "".join(f"  {role}: {{model: '{model}'}}\n" for role in ROLES)


def honest(request: Request) -> Step:
    """The answers as a server's script."""
    found = re.search(r"You are the (\w+), in step (\d+)\.", request.text)
    assert found
    return HONEST[f"step-{found[2]}-{found[1]}"][0]


def make_loop(
    root: Path, config: str = "", *, program: str = PROGRAM, roles: str = "", **files: str
) -> PlayedLoop:
    setup = (roles or cast()) + config
    key = ("loop", setup, program, *files.items())
    world = PlayedLoop(copied(root, lambda place: _make(place, setup, program, files), *key))
    world.plays()
    return world


def _make(root: Path, setup: str, program: str, files: Mapping[str, str]) -> None:
    home = f".autoloop/programs/{NAME}"
    playbook = "strategy/test-driven.md"
    ours = {
        "tdd.yaml": f"{QUICK}{CONFIG}{setup}",
        f"{home}/program.md": program,
        **({f"{home}/{playbook}": FILES[playbook]} if "strategy/" in program else {}),
        **{path: FILES[path] for path in ("reference.md", "measure.py")},
        **dict.fromkeys(("port.py", "conftest.py", "tests/.gitkeep"), ""),
        ".gitignore": f"__pycache__/\n{TALK}\n",
    }
    begin_project(root, {**ours, **files}, "chore: the program")
