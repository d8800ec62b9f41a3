"""Builds compiled tests before any of them runs, into a folder that is kept."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from typing import TYPE_CHECKING, Protocol

from verdigris.core.records import from_json, to_json
from verdigris.core.value import value
from verdigris.sandbox import clear

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.runs import Ran, RunPlace
    from verdigris.runners.protocol import TestRequest
    from verdigris.storage.project import Project


@value
class Prepared:
    place: RunPlace
    """In which the tests are to run, with what is compiled already."""
    failed: Ran | None = None
    """A build that did not come to its end: nothing is to be run."""
    opened: tuple[str, ...] = ()
    """Files of the worktree that compilers opened: some take data into the tests."""


class Compiler(Protocol):
    def prepare(self, place: RunPlace, stack: Stack, request: TestRequest, spare: str) -> Prepared:
        """`spare` is an empty folder of this call's own."""


_COARSE = 20_000_000
"""Nanoseconds that the clock of a file system may be behind."""
_NEVER = 2**62


@value
class Built:
    """What a kept build was made from."""

    tree: str
    changed: Mapping[str, int]
    """Paths that changed since the first build, with the times that they are shown with, in nanoseconds."""
    ended: int = _NEVER
    """When it was over: a file with a later time has not been read by it."""
    whole: bool = False
    """Whether all of it could be built."""


def date_build(project: Project, tree: str, built: Built | None) -> Built:
    """The build as it is to be made from `tree`, on top of what is there."""
    if built is None:
        return Built(tree, {})
    now = time.time_ns() - _COARSE
    paths = (c.path for c in project.workspace.changes(built.tree, tree)) if tree != built.tree else ()
    fresh = {path: _time(project, path, built.ended) or now for path in paths}
    return Built(tree, {**built.changed, **fresh})


def misdated_paths(project: Project, built: Built) -> frozenset[str]:
    """Changed paths that the worktree shows with another time."""
    return frozenset(path for path, at in built.changed.items() if _time(project, path, 0) != at)


def _time(project: Project, path: str, after: int) -> int | None:
    """As the worktree has it, where that is later."""
    try:
        found = os.lstat(project.root / path).st_mtime_ns
    except OSError:
        return None
    return found if after < found < time.time_ns() else None


def read(file: Path) -> Built | None:
    try:
        return from_json(Built, json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def write(file: Path, built: Built) -> None:
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    fresh.write_text(json.dumps(to_json(built)), encoding="ascii")
    fresh.replace(file)


FOLDER = "caches"
_KEPT = 3
"""Of one kind: another toolchain or other options make another."""


def cache_folder(area: Path, kind: str, words: Sequence[str] = ()) -> Path:
    """The folder of a kind for these words, made where it is missing; those used least lately go."""
    above = area / FOLDER / kind
    folder = above / hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
    if not folder.is_dir():
        folder.mkdir(parents=True)
        older = sorted((one for one in above.iterdir() if one != folder), key=lambda one: one.stat().st_mtime)
        for one in older[: -(_KEPT - 1)]:
            empty_folder(one)
            one.rmdir()
    os.utime(folder)
    return folder


def empty_folder(folder: Path) -> None:
    clear(str(folder))
