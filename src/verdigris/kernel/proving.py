"""One run on the turn's start tree, in place: the edits step aside and come back, whatever happens."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.core.events import Proved, Proving
from verdigris.kernel.aside import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.kernel.project import Project
    from verdigris.kernel.workspace import Displaced


@contextmanager
def on_start_tree(project: Project, *, start: str, edited: str, paths: Sequence[str]) -> Iterator[None]:
    if not paths:
        yield
        return
    project.record(Proving(paths=tuple(paths), edited=edited, start=start), sync=True)
    away: tuple[Displaced, ...] = ()
    try:
        away = project.workspace.lay(start, paths, expect=edited)
        yield
    finally:
        back = project.workspace.lay(edited, paths, expect=start)
        project.record(Proved(displaced=shown((*away, *back))), sync=True)
