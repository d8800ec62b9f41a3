"""When the files of a tree seem to be written, for a tool that builds anew what is newer than its output.

Cargo goes by the time of a file, and anybody can set that: a source moved into place with an old time would
be judged by what was built from another text. So each kept build knows the tree that it was last made from,
and a file that differs from it is shown with a time later than whatever was built before.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from typing import TYPE_CHECKING

from verdigris.core.codec import from_json, to_json
from verdigris.core.value import value

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.project import Project

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


def dated(project: Project, tree: str, built: Built | None) -> Built:
    """The build as it is to be made from `tree`, on top of what is there."""
    if built is None:
        return Built(tree, {})
    now = time.time_ns() - _COARSE
    paths = (c.path for c in project.workspace.changes(built.tree, tree)) if tree != built.tree else ()
    fresh = {path: _time(project, path, built.ended) or now for path in paths}
    return Built(tree, {**built.changed, **fresh})


def misdated(project: Project, built: Built) -> frozenset[str]:
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
