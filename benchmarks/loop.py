"""`tdd loop`: what an iteration costs beyond models and tools, and an evaluation beyond its bare command.

The iterations are those of the example, replayed: models answer at once. The rest is the loop's own: prompts,
snapshots, verdicts, records, commit, state file.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot import make_tree
from timing import Row, ToolTime, against, interleaved, own_rows

from verdigris.core.records import Actor
from verdigris.drivers.budget import Limits
from verdigris.drivers.happenings import IterationBegan
from verdigris.drivers.loop.discovery import FoundProgram, bind_project, bounds_of
from verdigris.drivers.loop.evaluation import measure
from verdigris.drivers.loop.measurement import Measurement
from verdigris.drivers.loop.open_program import open_program
from verdigris.drivers.loop.program import read_program
from verdigris.drivers.loop.run import LoopRun
from verdigris.execution.rooms import possible
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    from verdigris.drivers.happenings import Happening
    from verdigris.storage.project import Project

SIZES = (100, 5_000)
ROUNDS = 9
EVALUATOR = "import json\n\nprint(json.dumps({'metric': sum(range(100_000))}))\n"
PROGRAM = """\
## Goal
A number.

## Target
- `src/`

## Evaluation
```sh
python3 bench.py
```
"""


EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "port-itertools"
ITERATIONS = 4
"""Of the example: three are accepted, one of them with a refactor, and one is rejected."""


def rows() -> list[Row]:
    return [*_iterate(), *(row for size in SIZES for row in _measure(size))]


def _iterate() -> list[Row]:
    if importlib.util.find_spec("more_itertools") is None:
        return [Row("no iterations here without more-itertools, the example's reference", 0)]
    tools, marks = ToolTime(), list[tuple[float, float]]()

    def watch(happening: Happening | None) -> None:
        if happening is None or isinstance(happening, IterationBegan):
            marks.append((time.perf_counter() * 1000, tools.seconds * 1000))

    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name, tools.taken():
        os.environ["HOME"] = name
        root = Path(shutil.copytree(EXAMPLE, Path(name).resolve() / "port"))
        _commit(root)
        initialise(root, Actor(client="bench"))
        with open_program(root, "port-itertools", watch) as opened:
            LoopRun(opened, Limits(ITERATIONS)).make()
        watch(None)
    pairs = pairwise(marks)
    taken = [(after - before, inside - outside) for (before, outside), (after, inside) in pairs]
    return own_rows("an iteration", "the loop's", taken)


def _commit(root: Path) -> None:
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), (*person, "commit", "--quiet", "--message", "all")):
        subprocess.run(["git", *words], cwd=root, check=True)


def _measure(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name, "root").resolve()
        root.mkdir()
        make_tree(root, size)
        (root / "bench.py").write_text(EVALUATOR)
        initialise(root, Actor())
        project = open_project(root, Actor())
        if not possible(project).ok:
            return [Row("no evaluation here without a sandbox", 0)]
        found = FoundProgram(read_program("bench", PROGRAM), "program.md", PROGRAM, {})
        base = project.workspace.snapshot()
        bound = bind_project(project, bounds_of(found, [e.path for e in project.workspace.files(base)]))
        (root / "src" / "d0" / "m0.py").write_text("VALUE = -1\n")
        bare, ours = f"the command alone, {size:,} files", f"evaluation, {size:,} files, one of them edited"
        subjects = {
            bare: lambda: subprocess.run(
                ["/bin/sh", "-c", found.program.evaluation], cwd=root, check=True, capture_output=True
            ),
            ours: lambda: _evaluate(bound, base, found),
        }
        return against(interleaved(subjects, ROUNDS), bare, {})


def _evaluate(project: Project, base: str, found: FoundProgram) -> None:
    measured = measure(project, project.workspace.snapshot(), base, found.program)
    assert isinstance(measured, Measurement), measured
