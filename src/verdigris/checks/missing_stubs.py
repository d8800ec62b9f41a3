"""Finds the declarations that test files need to load and that source lacks; nothing is run or written."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.languages import language_of
from verdigris.core.paths import PathClass
from verdigris.core.test_ids import split_id
from verdigris.core.verdict.redness import UNDECLARED, judge_collect_error, lacking_name
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.languages.registry import beyond_stubs, language_for
from verdigris.languages.stubs import data_of
from verdigris.storage.project import Project, bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.events import TestRun
    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.languages.stubs import Stub


def missing_stubs(
    project: Project, path: str, said: Sequence[str] = (), tree: str | None = None
) -> tuple[Stub, ...]:
    """The stubs that a test file needs to load; nothing is run or written.

    `said`: what a run said about the file. `tree`: if not the worktree's. A stub that a write would be denied
    for is left out.
    """
    language = language_for(path)
    if language is None:
        return ()
    files = ProjectFiles.of(project, tree)
    try:
        stubs = language.stubs.missing_stubs(path, files, said)
    except (SyntaxError, RecursionError):
        return ()
    return tuple(stub for stub in stubs if not _denied(stub, files))


def _denied(stub: Stub, files: ProjectFiles) -> bool:
    before = None if stub.new else data_of(stub.path, files)
    return beyond_stubs(stub.path, before, stub.whole.encode("utf-8", "surrogateescape")) is not None


def stubs_of_run(
    project: Project, report: TestReport | None, runs: Iterable[TestRun], tree: str | None = None
) -> dict[str, tuple[Stub, ...]]:
    """Stubs by test file, where a run shows that something is not declared."""
    runs = tuple(runs)
    paths = {split_id(run.native_id).path for run in runs if run.red in UNDECLARED}
    paths |= {split_id(run.native_id).path for run in runs if asks_existence(project, run)}
    errors = report.errors if report else ()
    paths |= {e.path for e in errors if e.kind == "AttributeError" or judge_collect_error(e) in UNDECLARED}
    there = [path for path in sorted(paths) if bytes_of(project, path) is not None]
    said = [error.message for error in errors]
    stubs = {path: missing_stubs(project, path, said, tree) for path in there}
    return {path: of_file for path, of_file in stubs.items() if of_file}


def asks_existence(project: Project, run: TestRun) -> bool:
    """Whether a test failed because a name is missing that its line does not call: a stub may satisfy it."""
    lacking, (path, _, line) = lacking_name(run.failure), run.place.rpartition(":")
    if not lacking or path != split_id(run.native_id).path:
        return False
    lines = (bytes_of(project, path) or b"").decode("utf-8", "replace").splitlines()
    return f"{lacking}(" not in "".join(lines[int(line) - 1 : int(line)])


class ProjectFiles:
    """The files of a tree, for the stubs of each language."""

    def __init__(self, project: Project, tree: str, paths: frozenset[str]) -> None:
        self.project = project
        self.tree = tree
        self.paths = paths

    @classmethod
    def of(cls, project: Project, tree: str | None = None) -> ProjectFiles:
        tree = tree or project.workspace.snapshot()
        return cls(project, tree, frozenset(entry.path for entry in project.workspace.files(tree)))

    @cached_property
    def source(self) -> tuple[str, ...]:
        return tuple(sorted(path for path in self.paths if self.is_source(path)))

    def is_source(self, path: str) -> bool:
        """Whether a path is source, also of a file that does not exist yet."""
        return self.project.classify(path) is PathClass.SOURCE

    def text(self, path: str) -> str:
        if path not in self.paths:
            return ""
        # As bytes: line ends stay as they are.
        return (self.project.workspace.read(self.tree, path) or b"").decode("utf-8", "surrogateescape")

    def stack_of(self, path: str) -> Stack:
        """The innermost stack of the file's language around it, or the first of all."""
        stacks = self.project.settings.stacks
        same = [stack for stack in stacks if stack.language == language_of(path)] or list(stacks)
        around = [s for s in same if s.root in {"", "."} or f"{path}/".startswith(f"{s.root.rstrip('/')}/")]
        return max(around or same, key=lambda stack: len(stack.root))

    @property
    def is_behaviour_red(self) -> bool:
        return self.project.settings.red == "behaviour"

    def packages(self, stack: Stack) -> tuple[Path, ...]:
        home = self.project.root / ("" if stack.root in {"", "."} else stack.root.rstrip("/"))
        cache = self.project.repo.private / "interpreters.json"
        try:
            interpreter = find_interpreter(home, self.project.root, stack.python, os.environ, cache)
        except (ConfigError, ToolMissing):
            return ()
        return tuple(map(Path, interpreter.places.packages)) if interpreter.places else ()
