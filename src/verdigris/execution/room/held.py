"""What a verdict's room holds of its own: the frozen files, out of the store, and nobody's bytecode."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.languages import language_of
from verdigris.core.pathclass import PathClass
from verdigris.execution.room.layers import Layer
from verdigris.execution.room.opening import possible
from verdigris.languages.runnerkeys import MIXED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.change import Entry
    from verdigris.storage.project import Project

FILES = 200
LARGE = 1 << 20
"""What is more than this is left where it lies, and compared before and after: each file costs time."""
_RUNNER = MIXED | {"conftest.py", "pytest.ini", ".pytest.ini", "__init__.py"}


def held(project: Project, tree: str, claimed: Iterable[str] = ()) -> Layer | None:
    """For runs on the worktree's own tree; `claimed` are files that come first. None without a sandbox."""
    if not possible(project).ok:
        return None
    entries = project.workspace.files(tree)
    first = frozenset(claimed)
    oracle = [entry for entry in entries if entry.path in first or _decides(project, entry.path)]
    oracle.sort(key=lambda entry: _rank(entry.path, first))
    python = (entry.path for entry in entries if entry.path.endswith(".py"))
    folders = dict.fromkeys(path.rpartition("/")[0] for path in python)
    firm = tuple(entry for entry in oracle[:FILES] if _size(project, entry) <= LARGE)
    return Layer(tree, tree, firm, tuple(folders))


def beside(layer: Layer | None, held: Layer | None) -> Layer | None:
    """Another tree's layer, where there is one, with what a verdict's room holds."""
    if layer is None or held is None:
        return held
    return replace(layer, firm=held.firm, cacheless=held.cacheless)


def _decides(project: Project, path: str) -> bool:
    return project.classify(path) in {PathClass.TEST, PathClass.SPEC} or path.rpartition("/")[2] in MIXED


def _rank(path: str, first: frozenset[str]) -> tuple[bool, bool, bool]:
    """The sooner, the more depends on it: what configures a runner, then tests, then data."""
    name = path.rpartition("/")[2]
    return path not in first, name not in _RUNNER and ".config." not in name, language_of(path) is None


def _size(project: Project, entry: Entry) -> int:
    try:
        return os.lstat(project.root / entry.path).st_size
    except OSError:
        return 0
