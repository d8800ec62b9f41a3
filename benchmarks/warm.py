"""One test id by a resident's process: the call inside the kernel and the whole command, against lean pytest.

The second table is of a test whose third-party imports dominate; the third of twenty ids in one call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from timing import Row, against, interleaved

from verdigris.core.records import Actor
from verdigris.execution.resident import resident
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.storage.project import Project

ROUNDS = 15
WAIT = 60.0
TDD = str(Path(sys.executable).with_name("tdd"))
PLAIN = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n"
HEAVY = "import openai\n" + PLAIN
MANY = "import calc\nimport pytest\n\n\n" + "\n\n".join(
    f"def test_{n}():\n    assert calc.add({n}, 1) == {n + 1}\n" for n in range(20)
)


def rows() -> list[Row]:
    return [*_one("plain", PLAIN, (0.5, 0.6)), *_one("third-party imports", HEAVY, (1.0, 1.1)), *_twenty()]


def _one(what: str, text: str, targets: tuple[float, float]) -> list[Row]:
    """`targets`: of the call, and of the whole command."""
    names = ["tests/test_calc.py::test_add"]
    lean = f"cold lean pytest, {what}"
    with _project(text) as (project, changed):
        medians = interleaved(
            {
                lean: lambda: _lean(project, names),
                "tdd test, cold": changed(lambda: _command(project, names, warm=False)),
                "the call, warm": changed(lambda: _called(project, names)),
                "tdd test, warm": changed(lambda: _command(project, names, warm=True)),
            },
            ROUNDS,
        )
    wanted = zip(("the call, warm", "tdd test, warm"), targets, strict=True)
    return against(medians, lean, {name: f"≤ {target} × lean" for name, target in wanted})


def _twenty() -> list[Row]:
    with _project(MANY) as (project, changed):
        ids = [f"tests/test_calc.py::test_{n}" for n in range(20)]
        one = "the call of one id, warm"
        medians = interleaved(
            {
                one: changed(lambda: _called(project, ids[:1])),
                "of twenty ids": changed(lambda: _called(project, ids)),
            },
            ROUNDS,
        )
    return against(medians, one, {"of twenty ids": "≤ 1.2 × one and their own time"})


def _lean(project: Project, names: list[str]) -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names]
    subprocess.run(argv, cwd=project.root, check=True, capture_output=True)


def _command(project: Project, names: list[str], *, warm: bool) -> None:
    env = {**os.environ, "VERDIGRIS_WARM": str(int(warm))}
    subprocess.run([TDD, "test", *names], cwd=project.root, env=env, check=True, capture_output=True)


def _called(project: Project, names: list[str]) -> None:
    (stack,) = project.settings.stacks
    report = run_request(project, stack, TestRequest(tuple(names)))
    if len(report.results) != len(names):
        raise RuntimeError(report.tail)


@contextmanager
def _project(
    text: str,
) -> Iterator[tuple[Project, Callable[[Callable[[], None]], Callable[[], None]]]]:
    """With a resident that is ready, and what changes the tree, so that no answer comes from the log."""
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "1", "VERDIGRIS_WARM": "1"}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    versions = count()
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name)
        (root / "tests").mkdir()
        (root / "calc.py").write_text("def add(a, b):\n    return a + b\n")
        (root / "conftest.py").write_text("")
        (root / "tests" / "test_calc.py").write_text(text)
        (root / "tdd.yaml").write_text(f"stacks:\n  - root: .\n    python: {sys.executable}\n")
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        subprocess.run([TDD, "init", "--yes"], cwd=root, check=True, capture_output=True)
        project = open_project(root, Actor("person", client="bench"))
        private = str(project.repo.private)

        def changed(work: Callable[[], None]) -> Callable[[], None]:
            def do() -> None:
                (root / "calc.py").write_text(f"def add(a, b):\n    return a + b\n\n\nV = {next(versions)}\n")
                work()

            return do

        try:
            _called(project, ["tests/test_calc.py::" + ("test_0" if text is MANY else "test_add")])
            _await(private)
            yield project, changed
        finally:
            resident.stop(private)


def _await(private: str) -> None:
    deadline = time.monotonic() + WAIT
    while not all(
        resident.read_note(str(f)).get("ready") for f in (Path(private) / resident.FOLDER).glob("*")
    ):
        if time.monotonic() > deadline:
            raise TimeoutError("no resident")
        time.sleep(0.05)
