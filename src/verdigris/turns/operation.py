"""The frame of every command that changes something: lock, recover, look at HEAD, ask the policy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.checks.observation import end_lost_reds, look
from verdigris.core.actions import Deny
from verdigris.core.policy import BY_PHASE, decide
from verdigris.core.value import replace
from verdigris.storage.open_calls import alive
from verdigris.storage.repository import in_progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.actions import Action
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


@contextmanager
def operation(project: Project) -> Iterator[WorktreeState]:
    with project.exclusive():
        if project.state().intent is not None:
            from verdigris.storage.intents import recover

            recover(project)
        if project.actor.role == "agent":
            # Before HEAD is looked at: what an agent moved is no new ground.
            _undo_agents_moves(project)
        yield end_lost_reds(project, look(project, project.state()))


def _undo_agents_moves(project: Project) -> None:
    """Loads what undoes the agent's changes only if git was moved, or a call is open."""
    from verdigris.turns.tripwire import is_git_moved

    if is_git_moved(project):
        from verdigris.turns.tripwire.strays import undo_moves

        undo_moves(project)
    if alive(str(project.repo.private)):
        from verdigris.turns.tripwire.calls import look_within_call

        look_within_call(project)


def refusal(project: Project, state: WorktreeState, action: Action) -> Deny | None:
    """Asks the policy; None if it allows the action."""
    decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
    if isinstance(decision, Deny) and decision.rule in BY_PHASE:
        from verdigris.turns.claim_check import following_move

        return replace(decision, next=following_move(project, state))
    return decision if isinstance(decision, Deny) else None
