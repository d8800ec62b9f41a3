"""An evaluation of `tdd loop` against its bare command: what the room and the base's evaluator cost."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot import make_tree
from timing import Row, against, interleaved

from verdigris.core.records import Actor
from verdigris.drivers.loop.metric.evaluation import measure
from verdigris.drivers.loop.metric.measurement import Measurement
from verdigris.drivers.loop.programs.boundaries import bind_project, bounds_of
from verdigris.drivers.loop.programs.discovery import FoundProgram
from verdigris.drivers.loop.programs.program import read_program
from verdigris.execution.room.rooms import possible
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import open_project

if TYPE_CHECKING:
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


def rows() -> list[Row]:
    return [row for size in SIZES for row in _measure(size)]


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
