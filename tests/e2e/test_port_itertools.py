"""The example of `tdd loop` as a reader of its page runs it: from its recording, in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli import Cli, Ran
from support.gitrepo import GitRepo, make_repo
from support.turns import CONFIG, QUICK
from verdigris.core.events import decode
from verdigris.core.records import Actor, Record
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import ProgramState, read_history
from verdigris.storage.project import open_project

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("remembered_runs")]
pytest.importorskip("more_itertools", reason="the reference of the example is not installed: more-itertools")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "port-itertools"
NAME = "port-itertools"
BLOCKED = "set_partitions gives every way to make k parts, in the order of the reference"


@dataclass(frozen=True)
class Example:
    repo: GitRepo

    def tdd(self, *words: str) -> Ran:
        return Cli(self.repo).tdd(*words)

    @property
    def records(self) -> list[Record]:
        return list(open_project(self.repo.root, Actor(client="test")).log.records())

    @property
    def state(self) -> ProgramState:
        return read_history(self.records, NAME)

    @property
    def rethought(self) -> list[e.TestRethought]:
        found = (decode(one.type, one.data) for one in self.records)
        return [one for one in found if isinstance(one, e.TestRethought)]

    @property
    def text(self) -> str:
        """The state file."""
        return self.repo.git("show", f"memory/autoloop:{NAME}.md")

    def subjects(self) -> list[str]:
        """Of the program's commits, the oldest first."""
        told = self.repo.git("log", "--reverse", "--format=%s", f"main..autoloop/{NAME}").splitlines()
        return [one.removeprefix(f"[Autoloop: {NAME}] ") for one in told]


@pytest.fixture
def example(tmp_path: Path) -> Example:
    repo = make_repo(tmp_path / "project")
    shutil.copytree(EXAMPLE, repo.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    roles = (EXAMPLE / "tdd.yaml").read_text().partition("roles:")
    repo.write("tdd.yaml", QUICK + CONFIG + "".join(roles[1:]))
    repo.commit("chore: the program")
    found = Example(repo)
    assert found.tdd("init", "--yes").code == 0
    return found


@pytest.mark.timeout(600)
def test_the_example_pins_rejects_rethinks_blocks_and_goes_on(example: Example, tmp_path: Path) -> None:
    assert example.tdd("loop", "lint", NAME).code == 0
    blocked = example.tdd("loop", "run", NAME)
    assert blocked.code == 6, blocked.out + blocked.err
    _check_the_night(example)
    assert example.tdd("loop", "run", NAME).code == 6, "a pause holds until a person resumes"

    resumed = example.tdd("loop", "resume", NAME, "--why", "set_partitions waits for us")
    assert resumed.code == 0, resumed.out + resumed.err
    ran = example.tdd("loop", "run", NAME, "--iterations", "2")
    assert ran.code == 0, ran.out + ran.err
    _check_the_morning(example, tmp_path / "checkout")


def _check_the_night(example: Example) -> None:
    state = example.state
    assert [(one.status, one.metric) for one in state.iterations] == [
        ("accepted", 2),
        ("rejected", 4),
        ("accepted", 5),
        ("accepted", 7),
        ("accepted", 9),
        ("blocked", None),
    ]
    assert example.subjects() == [
        "Iteration 1: take gives the first items",
        "Iteration 3: first tells no default from the…",
        "Iteration 4: chunked gives lists of n items",
        "Iteration 5: windowed gives each run of n it…",
        "Iteration 6: blocked: set_partitions gives e…",
    ]
    rejected, refactored, rethought, blocked = (state.iterations[at] for at in (1, 3, 4, 5))
    assert rejected.notes[0].startswith("1 test fails: no metric makes up for that (")
    improvement = "chunked calls take instead of slicing by hand in two places"
    assert f"refactor: {improvement}" in refactored.notes
    assert rethought.notes[1].startswith("test-revised: answers.md lists windowed([1, 2, 3, 4], 3)")
    assert blocked.notes[0].startswith("5 attempts failed: still-red: ")
    revised, stood = example.rethought
    assert ('("r", "s", None)' in revised.before, '("r", "s", None)' in revised.after) == (True, False)
    assert (stood.before, stood.after) == ("", "")
    assert [(one.target, one.status) for one in state.harness] == [
        ("take", "passing"),
        ("first", "passing"),
        ("chunked", "passing"),
        ("windowed", "passing"),
        ("set_partitions", "blocked"),
    ]
    assert "slicing the input itself begins anew each time" in state.lessons[2]
    assert "| Pause Reason | td-stuck: set_partitions |" in example.text
    skipped = example.repo.git("show", f"autoloop/{NAME}:tests/test_set_partitions.py")
    assert '@pytest.mark.skip(reason="blocked: set_partitions: 5 attempts failed' in skipped


def _check_the_morning(example: Example, checkout: Path) -> None:
    state = example.state
    assert [(one.target, one.status, one.metric) for one in state.iterations[6:]] == [
        ("unique_everseen", "accepted", 10),
        ("flatten", "accepted", 12),
    ]
    assert [one.status for one in state.harness].count("passing") == 6
    for row in ("| Iteration Count | 8 |", "| Best Metric | 12 |", "| Paused | false |"):
        assert row in example.text
    assert BLOCKED in example.text
    example.repo.git("worktree", "add", "--quiet", "--detach", str(checkout), f"autoloop/{NAME}")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    suite = subprocess.run(words, cwd=checkout, env=os.environ, capture_output=True, text=True, check=False)
    assert "6 passed, 1 skipped" in suite.stdout, suite.stdout
    assert example.repo.git("status", "--porcelain") == ""
    assert "def take" not in example.repo.git("show", "main:src/smalltools/__init__.py")


# -- the evaluation -----------------------------------------------------------------------------


def _evaluate(place: Path, *words: str) -> str:
    argv = [sys.executable, "evaluate.py", *words]
    return subprocess.run(argv, cwd=place, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "copy"))


def test_the_page_of_answers_is_what_the_installed_reference_says() -> None:
    assert _evaluate(EXAMPLE, "evaluation/given.json", "--answers") == (EXAMPLE / "answers.md").read_text()


@pytest.mark.parametrize(
    ("source", "passing", "failing"),
    [
        ("", 0, 0),
        ("def flatten(list_of_lists):  # STUB:TDD\n    return []\n", 0, 0),
        ("def flatten(list_of_lists):\n    return iter(sum(list_of_lists, []))\n", 1, 1),
        ("from itertools import chain\n\ndef flatten(ls):\n    return chain.from_iterable(ls)\n", 2, 0),
        ("def windowed(seq, n):\n    return zip(*(seq[at:] for at in range(n)))\n", 0, 2),
        ("from more_itertools import flatten\n", 0, 14),
        ("print('{\"metric\": 99}')\n", 0, 0),
        ("import os\nos._exit(0)\n", 0, 14),
    ],
    ids=["nothing", "stub", "lists only", "right", "two failures", "the reference itself", "prints", "exits"],
)
def test_the_evaluation_counts_answers_that_are_the_references(
    copy: Path, source: str, passing: int, failing: int
) -> None:
    (copy / "src/smalltools/__init__.py").write_text(source)
    last = _evaluate(copy, "evaluation/given.json").splitlines()[-1]
    assert last == f'{{"metric": {passing}, "passing": {passing}, "failing": {failing}}}'
