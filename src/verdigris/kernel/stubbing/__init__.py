"""Stubs of what a test asks of source and source does not have: told, and written through the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.languages import GO, NODE, PYTHON, RUST, language_of
from verdigris.core.redness import judge_collect_error
from verdigris.core.testids import split_id
from verdigris.core.value import value
from verdigris.kernel.reading import is_read
from verdigris.kernel.selection import resolve
from verdigris.kernel.stubbing.place import Files
from verdigris.kernel.writing import write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from verdigris.core.events import TestRun
    from verdigris.core.missing_names import Stub
    from verdigris.core.report import TestReport
    from verdigris.kernel.project import Project

UNDECLARED = frozenset({"import", "build", "missing-name"})
"""Why a test is no valid red where source may lack a declaration."""


@value
class Stubbed:
    test: str
    """The file whose wants they are."""
    stubs: tuple[Stub, ...]


def write_stubs(project: Project, word: str, *, cwd: Path) -> Stubbed | Deny:
    """As any write: the gate decides, and all of the files are written or none."""
    (native,) = resolve(project, [word], cwd=cwd)
    path = split_id(native).path
    if not (project.root / path).is_file():
        raise UserError(f"{path} is no test file.", hint="name a test, or the file that holds it")
    stubs = missing_stubs(project, path)
    if not stubs:
        return Stubbed(path, ())
    files = {one.path: one.whole.encode("utf-8", "surrogateescape") for one in stubs}
    decision = write(project, files, cwd=project.root)
    return decision if isinstance(decision, Deny) else Stubbed(path, stubs)


def missing_stubs(project: Project, path: str) -> tuple[Stub, ...]:
    """What a test file needs to load, by its text alone; nothing is run and nothing is written."""
    files = Files.of(project)
    try:
        match language_of(path):
            case language if language == PYTHON:
                from verdigris.kernel.stubbing.python import stubs_of

                return stubs_of(project, path, files)
            case language if language == NODE and is_read(path):
                from verdigris.kernel.stubbing import node

                return node.stubs_of(path, files, raises=project.settings.red == "behaviour")
            case language if language == GO:
                from verdigris.kernel.stubbing import go

                return go.stubs_of(path, files)
            case language if language == RUST:
                from verdigris.kernel.stubbing import rust

                return rust.stubs_of(path, files)
            case _:
                return ()
    except (SyntaxError, RecursionError):
        return ()


def stubs_of_run(
    project: Project, report: TestReport | None, runs: Iterable[TestRun]
) -> dict[str, tuple[Stub, ...]]:
    """By test file, where a run shows that something is not declared."""
    found = {split_id(run.native_id).path for run in runs if run.red in UNDECLARED}
    found |= {e.path for e in (report.errors if report else ()) if judge_collect_error(e) in UNDECLARED}
    told = {path: missing_stubs(project, path) for path in sorted(found) if (project.root / path).is_file()}
    return {path: stubs for path, stubs in told.items() if stubs}
