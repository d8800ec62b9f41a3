"""`tdd demo`: a scripted agent meets the law in a made-up repository; each answer is the kernel's own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from verdigris.core.actions import Actor, Deny
from verdigris.core.errors import ToolMissing
from verdigris.core.value import value
from verdigris.kernel.claiming import claim
from verdigris.kernel.project import open_project
from verdigris.kernel.settle import Settlement, settle
from verdigris.kernel.setup import initialise
from verdigris.kernel.testing import run_tests
from verdigris.kernel.writing import write

if TYPE_CHECKING:
    from verdigris.kernel.project import Project

CALC = "def add(a, b):\n    return a + b\n"
TESTS = "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"
ALREADY_GREEN = TESTS + "\n\ndef test_add_zero():\n    assert calc.add(2, 0) == 2\n"
REAL_TEST = TESTS + "\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n"
WEAKER_TEST = REAL_TEST.replace("== 2", "is not None")
SUB = "\n\ndef sub(a, b):\n    return a - b\n"
SUB_BUT_ADD_BROKEN = CALC.replace("a + b", "a - b") + SUB


class Stage(Protocol):
    """Where the play is shown."""

    def act(self, text: str) -> None:
        """What the agent does."""

    def answer(self, *lines: str) -> None:
        """What the kernel says to it."""


@value
class Agent:
    """The scripted agent: it knows no rules, it only tries."""

    project: Project
    stage: Stage

    def writes(self, path: str, text: str, why: str) -> None:
        self.stage.act(f"{why}: writes {path}")
        match write(self.project, {path: text.encode()}, cwd=self.project.root):
            case Deny() as no:
                self.stage.answer(*no.lines())
            case _:
                self.stage.answer("allowed")

    def tests(self, test_id: str) -> None:
        self.stage.act(f"runs `tdd test {test_id}`")
        tested = run_tests(self.project, [test_id], cwd=self.project.root)
        for run in tested.tests:
            red = "" if run.red is None else f", red: {run.red}"
            self.stage.answer(f"{run.test_id}: {run.status}{red}", *([run.failure] if run.failure else []))

    def claims(self, test_id: str, path: str) -> None:
        self.stage.act(f"runs `tdd claim {test_id} {path}`")
        match claim(self.project, test_id, [path], cwd=self.project.root):
            case Deny() as no:
                self.stage.answer(*no.lines())
            case _:
                self.stage.answer(f"claimed; phase {self.project.state().phase}")

    def settles(self) -> None:
        self.stage.act("runs `tdd settle`")
        match settle(self.project):
            case Deny() as no:
                self.stage.answer(*no.lines())
            case Settlement() as settlement:
                self.stage.answer(*settlement.verdict.reasons, settlement.footer)


def play(stage: Stage, folder: Path | None = None) -> Project:
    """The whole play; the repository it leaves is whole and can be looked at."""
    root = folder or Path(tempfile.mkdtemp(prefix="tdd-demo-"))
    _repository(root)
    initialise(root, Actor(role="person", client="demo"))
    agent = Agent(open_project(root, Actor(role="agent", context="demo", client="demo")), stage)
    new_test = "tests/test_calc.py::test_sub"
    agent.writes("calc.py", CALC + SUB, "it wants subtraction, and starts with the code")
    agent.writes("tests/test_calc.py", ALREADY_GREEN, "it writes a test that proves nothing new")
    agent.tests("tests/test_calc.py::test_add_zero")
    agent.claims("tests/test_calc.py::test_add_zero", "calc.py")
    agent.writes("tests/test_calc.py", REAL_TEST, "it writes a test for what is missing")
    agent.tests(new_test)
    agent.claims(new_test, "calc.py")
    agent.writes("tests/test_calc.py", WEAKER_TEST, "it would rather have an easier test")
    agent.writes("calc.py", SUB_BUT_ADD_BROKEN, "it edits the source, and breaks something else")
    agent.settles()
    agent.writes("calc.py", CALC + SUB, "it mends that")
    agent.settles()
    return agent.project


def _repository(root: Path) -> None:
    (root / "tests").mkdir(parents=True)
    (root / "calc.py").write_text(CALC)
    (root / "tests" / "test_calc.py").write_text(TESTS)
    (root / "conftest.py").write_text("")
    stacks = "stacks:\n  - root: .\n    language: python\n    runner: pytest\n"
    (root / "tdd.yaml").write_text(stacks + f"    python: {_interpreter()}\n")
    _git(root, "init", "-q", "-b", "main")
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "a calculator that can only add")


def _interpreter() -> str:
    if importlib.util.find_spec("pytest") is None:
        raise ToolMissing(
            "the demo needs pytest beside Verdigris.", hint=f"{sys.executable} -m pip install pytest"
        )
    return sys.executable


def _git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false"]
    try:
        subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)
    except FileNotFoundError:
        raise ToolMissing("git is not on PATH.", hint="install git") from None
