"""Back to a tree that is known: what differs from it is set aside, and whatever is open ends with that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import Event, RefactorEnded
from verdigris.core.state import Phase
from verdigris.core.turn_events import laying_aside
from verdigris.turns import aside
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from verdigris.storage.project import Project


def lay_back(project: Project, tree: str, why: str) -> tuple[str, ...]:
    """The paths that were set aside; nobody's verdict, so nobody's strike."""
    with operation(project) as state:
        now = project.workspace.snapshot()
        paths = tuple(change.path for change in project.workspace.changes(tree, now)) if tree != now else ()
        if not paths and state.turn is None and state.refactor is None:
            return ()
        intent = laying_aside(
            state, paths=paths, edited=now, start=tree, why=why, test_ids=tuple(state.claims)
        )
        aborted: list[Event] = []
        if state.phase is Phase.REFACTOR and state.refactor is not None:
            aborted = [RefactorEnded(verdict="aborted", tree=state.refactor.tree)]
        project.record(*aborted, intent, sync=True)
        aside.carry_out(project, intent)
        return paths
