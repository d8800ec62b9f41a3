"""Writes the stubs that a test needs, through the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.missing_stubs import ProjectFiles, missing_stubs
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import FilesUnloaded
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.execution.test_selection import resolve
from verdigris.languages.registry import language_for
from verdigris.storage.project import Project, bytes_of
from verdigris.turns.next_move import following_move
from verdigris.turns.test import run_tests
from verdigris.turns.write import write

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.languages.stubs import Stub


@value
class Stubbed:
    test: str
    """The test file that needs them."""
    stubs: tuple[Stub, ...]
    next: str = ""


def write_stubs(project: Project, word: str, *, cwd: Path) -> Stubbed | Deny:
    """Writes as any write does: the gate decides, and all of the files are written or none."""
    (native,) = resolve(project, [word], cwd=cwd)
    path = split_id(native).path
    if bytes_of(project, path) is None:
        raise UserError(f"{path} is not a test file.", hint="name a test, or the file that holds it")
    hindrance = project.state().hindrance
    if hindrance is not None and hindrance.cure and path in hindrance.files:
        return Deny("suite-broken", f"No stub is missing: {hindrance.what}.", hindrance.cure)
    language = language_for(path)
    stubs = missing_stubs(project, path)
    if not stubs and language is not None and language.facts.compiled:
        # What the text does not show, such as the type of a variable, the compiler says.
        stubs = run_tests(project, [word], cwd=cwd).stubs.get(path, ())
    if not stubs or language is None:
        return Stubbed(path, (), following_move(project, project.state()))
    stubs = (*language.stubs.path_files(path, stubs, ProjectFiles.of(project)), *stubs)
    before = project.workspace.snapshot()
    files = {one.path: one.whole.encode("utf-8", "surrogateescape") for one in stubs}
    decision = write(project, files, cwd=project.root)
    if isinstance(decision, Deny):
        return decision
    project.record(FilesUnloaded(files={**project.state().unloaded, path: before}))
    return Stubbed(path, stubs, following_move(project, project.state()))
