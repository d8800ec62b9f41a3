"""The frame of every command that changes something: lock, recover, look at HEAD."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.checks.observation import end_lost_reds, look
from verdigris.storage.intents import recover

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


@contextmanager
def operation(project: Project) -> Iterator[WorktreeState]:
    with project.exclusive():
        recover(project)
        if project.actor.role == "agent":
            # Before HEAD is looked at: what an agent moved is no new ground.
            from verdigris.turns.tripwire.calls import look_within_call
            from verdigris.turns.tripwire.moves import undo_moves

            undo_moves(project)
            look_within_call(project)
        yield end_lost_reds(project, look(project, project.state()))
