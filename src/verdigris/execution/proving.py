"""One run on another tree than the worktree's: laid over it in a room, or in place where no room can be.

In place the edits step aside and come back, whatever happens.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.core.events import Proved, Proving
from verdigris.execution.room.layers import Layer
from verdigris.execution.room.opening import possible
from verdigris.storage.intents import finishes
from verdigris.storage.snapshots.restoration import list_displaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.storage.project import Project
    from verdigris.storage.snapshots import Displaced


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
    # First all the way out: that call may have displaced bytes, and knows its own half-written files.
    away = project.workspace.lay(intent.start, intent.paths, expect=intent.edited)
    back = project.workspace.lay(intent.edited, intent.paths, expect=intent.start)
    project.record(Proved(displaced=list_displaced((*away, *back))), sync=True)
    return "brought the turn's edits back"
