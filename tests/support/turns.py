"""A real project under the law, driven in this process: real git, real pytest, no command line."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.gitrepo import GitRepo, copied, make_repo
from verdigris.core.events import Event, TestRun, decode
from verdigris.core.records import Actor
from verdigris.core.report import Status
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import Project, open_project
from verdigris.turns.claim import claim
from verdigris.turns.claim_check import Claimed
from verdigris.turns.settle import Settlement, settle
from verdigris.turns.test import run_tests
from verdigris.turns.test_record import Tested

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.core.actions import Deny
    from verdigris.core.state import WorktreeState

QUICK = "liveness: {enabled: false}\n"
"""For tests that are not about liveness: otherwise each settlement runs the claimed tests twice more."""
CONFIG = f"""\
stacks:
  - root: .
    language: python
    runner: pytest
    python: {json.dumps(sys.executable)}
"""
CALC = "def add(a, b):\n    return a + b\n"
SUB = "\n\ndef sub(a, b):\n    return a - b\n"
MUL = "\n\ndef mul(a, b):\n    return a * b\n"
TEST_ADD = "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"
TEST_SUB = "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n"
SUB_ID = "tests/test_sub.py::test_sub"
THEIRS = "def theirs():\n    return 1\n"
"""A module that another branch has."""


def branch_off(repo: GitRepo, more: Mapping[str, str] | None = None) -> None:
    """Make a branch `side` with the module of THEIRS, `mul` and the files of `more`, and without one test."""
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    repo.git("switch", "--quiet", "--create", "side")
    for path, text in {"theirs.py": THEIRS, "calc.py": CALC + MUL, **(more or {})}.items():
        repo.write(path, text)
    repo.git("rm", "--quiet", "tests/test_add.py")
    repo.commit("theirs")
    repo.git("switch", "--quiet", "main")


@dataclass(frozen=True, slots=True)
class World:
    repo: GitRepo

    @property
    def root(self) -> Path:
        return self.repo.root

    @property
    def project(self) -> Project:
        return open_project(self.root, Actor(role="person", client="test"))

    @property
    def state(self) -> WorktreeState:
        return self.project.state()

    def write(self, path: str, text: str | bytes) -> None:
        self.repo.write(path, text)

    def read(self, path: str) -> str:
        return self.repo.read(path).decode()

    def test(self, *words: str) -> Tested:
        return run_tests(self.project, words, cwd=self.root)

    def claim(self, test_id: str, *targets: str) -> Claimed | Deny:
        return claim(self.project, [test_id], targets, cwd=self.root)

    def settle(self, *, owe: bool = False) -> Settlement:
        done = settle(self.project, owe=owe)
        assert isinstance(done, Settlement), done
        return done

    def claimed(self, test_id: str = SUB_ID, *targets: str) -> None:
        """See a red and claim it."""
        self.test(test_id)
        done = self.claim(test_id, *(targets or ("calc.py",)))
        assert isinstance(done, Claimed), done

    def red_by_record(self, *test_ids: str, known: bool = False, by: str = "") -> None:
        """Record these valid reds without a run, for tests that are not about the run.

        `by`: the agent that saw them.
        """
        tree = self.project.workspace.snapshot()
        reds = (
            TestRun(
                test_id=test_id,
                test_id_source="native",
                status=Status.FAIL,
                command="pytest",
                duration_ms=1,
                tree=tree,
                native_id=test_id,
                red="valid",
                known=known,
                by=by,
            )
            for test_id in test_ids
        )
        self.project.record(*reds)

    def green_by_record(self, *targets: str) -> None:
        """Enter the green phase with the usual red, without running it."""
        self.write("tests/test_sub.py", TEST_SUB)
        self.red_by_record(SUB_ID)
        done = self.claim(SUB_ID, *(targets or ("calc.py",)))
        assert isinstance(done, Claimed), done

    def green(self) -> None:
        """Enter the green phase with the usual red."""
        self.write("tests/test_sub.py", TEST_SUB)
        self.claimed()

    def events(self, *kinds: type[Event]) -> list[Event]:
        decoded = (decode(record.type, record.data) for record in self.project.log.records())
        return [event for event in decoded if isinstance(event, kinds or Event)]

    def whole(self) -> bool:
        return self.project.log.verify().whole

    def aside(self) -> str:
        """The edits that were set aside last."""
        return list(self.state.aside)[-1]


def make_world(root: Path, config: str = "", **files: str) -> World:
    """A calculator that can add, committed and set up; `config` is more of tdd.yaml, files by path."""
    return _made(root, QUICK + CONFIG + config, files)


def make_live_world(root: Path, config: str = "", **files: str) -> World:
    """The same, with settlements that check whether assertions are live."""
    return _made(root, CONFIG + config, files)


def make_green_world(root: Path, config: str = "", **files: str) -> World:
    """The same as `make_world` and then `green`; the red was run once, when the pattern was made."""
    return _green(root, QUICK + CONFIG + config, files)


def make_green_live_world(root: Path, config: str = "", **files: str) -> World:
    return _green(root, CONFIG + config, files)


def _green(root: Path, config: str, files: dict[str, str]) -> World:
    def make(place: Path) -> None:
        _make(place, config, files)
        World(GitRepo(place, place)).green()

    return World(copied(root, make, "green", config, *files.items()))


def _made(root: Path, config: str, files: dict[str, str]) -> World:
    return World(copied(root, lambda place: _make(place, config, files), config, *files.items()))


def _make(root: Path, config: str, files: dict[str, str]) -> None:
    ours = {"tdd.yaml": config, "conftest.py": "", "calc.py": CALC, "tests/test_add.py": TEST_ADD}
    begin_project(root, ours | files, "a calculator")


def begin_project(root: Path, files: Mapping[str, str], subject: str) -> GitRepo:
    """A repository with these files in one commit, set up for its first run."""
    repo = make_repo(root)
    for path, text in files.items():
        repo.write(path, text)
    repo.commit(subject)
    initialise(root, Actor(client="test"))
    remember_interpreter(root)
    return repo


def remember_interpreter(root: Path) -> None:
    """Record the facts about the interpreter, as a first run does, so that no copy has to ask again."""
    known = open_project(root, Actor(client="test")).repo.private / "interpreters.json"
    find_interpreter(root, root, sys.executable, os.environ, known)
