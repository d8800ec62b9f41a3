"""Checks that the tree stood still during a run, and runs tests on another tree.

Asked only while processes of an agent's calls live: each keeps the rights of the phase that it began in.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.core.confinement.protection import above
from verdigris.core.events import Proved, Proving
from verdigris.core.paths import PathClass
from verdigris.execution.room.layers import Layer
from verdigris.execution.room.rooms import possible
from verdigris.languages.registry import is_mixed
from verdigris.storage import stat_cache
from verdigris.storage.intents import finishes
from verdigris.storage.open_calls import alive
from verdigris.storage.snapshots.mapped import shared_inodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.storage.project import Project
    from verdigris.storage.snapshots.restoration import Displaced


def stat_tree(project: Project, tree: str) -> list[stat_cache.Row]:
    """How all looks that a verdict rests on: source, tests, and the folders that tests are looked for in."""
    if not alive(str(project.repo.private)):
        return []
    paths = [e.path for e in project.workspace.files(tree)]
    classes = {path: project.classify(path) for path in paths}
    judged = [path for path, cls in classes.items() if cls is not PathClass.OTHER or is_mixed(path, cls)]
    tests = (path for path in judged if classes[path] is PathClass.TEST)
    folders = {"", *(folder for path in tests for folder in above(path))}
    root = os.fsencode(project.root)
    return [stat_cache.stamp(root, os.fsencode(path)) for path in (*judged, *sorted(folders))]


def touched_paths(project: Project, before: list[stat_cache.Row]) -> tuple[str, ...]:
    """What was touched since, or could be without a trace."""
    if not before:
        return ()
    touched = dict.fromkeys(stat_cache.differs(os.fsencode(project.root), before))
    hidden = shared_inodes(project.repo.private)
    touched |= dict.fromkeys(path for path, _, inode, *_ in before if inode in hidden)
    return tuple(os.fsdecode(path) or "." for path in touched)


@contextmanager
def on_start_tree(
    project: Project, *, start: str, edited: str, paths: Sequence[str]
) -> Iterator[Layer | None]:
    """`paths` are as in `start` for the run that is given the layer; None where they lie in the worktree."""
    if not paths:
        yield None
    elif possible(project).ok:
        yield Layer(project.workspace.graft(edited, start, paths), edited)
    else:
        with _in_place(project, start, edited, paths):
            yield None


@contextmanager
def _in_place(project: Project, start: str, edited: str, paths: Sequence[str]) -> Iterator[None]:
    from verdigris.storage.snapshots.restoration import list_displaced

    project.record(Proving(paths=tuple(paths), edited=edited, start=start), sync=True)
    away: tuple[Displaced, ...] = ()
    try:
        away = project.workspace.lay(start, paths, expect=edited)
        yield
    finally:
        back = project.workspace.lay(edited, paths, expect=start)
        project.record(Proved(displaced=list_displaced((*away, *back))), sync=True)


@finishes(Proving)
def finish_proving(project: Project, intent: Proving) -> str:
    from verdigris.storage.snapshots.restoration import list_displaced

    # First all the way out: that call may have displaced bytes, and knows its own half-written files.
    away = project.workspace.lay(intent.start, intent.paths, expect=intent.edited)
    back = project.workspace.lay(intent.edited, intent.paths, expect=intent.start)
    project.record(Proved(displaced=list_displaced((*away, *back))), sync=True)
    return "brought the turn's edits back"
