"""The frame of every command that changes something: lock, recover, look at HEAD, ask the policy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.checks.observation import end_lost_reds, look
from verdigris.core.actions import Deny
from verdigris.core.errors import OthersCallOpen
from verdigris.core.policy import decide
from verdigris.storage.open_calls import alive, open_edits, open_shells
from verdigris.storage.repository import in_progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.actions import Action
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


@contextmanager
def operation(project: Project, *, waits: bool = True) -> Iterator[WorktreeState]:
    """`waits`: it has to know whose the tree is, and is refused while another agent's open call may have
    written it.
    """
    with project.exclusive():
        if project.state().intent is not None:
            from verdigris.storage.intents import recover

            recover(project)
        if project.actor.role == "agent":
            # Before HEAD is looked at: what an agent moved is no new ground.
            _undo_agents_moves(project, waits=waits)
        yield end_lost_reds(project, look(project, project.state()))


def _undo_agents_moves(project: Project, *, waits: bool) -> None:
    """Loads what undoes the agent's changes only if git was moved, or a call is open."""
    from verdigris.turns.tripwire import is_git_moved, recall

    private = str(project.repo.private)
    shells = open_shells(private) if alive(private) else []
    others = any(context != project.context for context, _ in shells)
    if is_git_moved(project):
        from verdigris.turns.tripwire.strays import undo_moves

        undo_moves(project, waits=others)
    if shells:
        from verdigris.turns.tripwire.calls import look_within_call

        look_within_call(project)
    if others or open_edits(private, project.context):
        from verdigris.turns.tripwire.authors import wait_for_others

        denial, memory = wait_for_others(project), recall(project)
        if denial and (waits or (memory is not None and memory.unmoved)):
            raise OthersCallOpen(denial.reason, hint=denial.next)


def refusal(project: Project, state: WorktreeState, action: Action) -> Deny | None:
    """Asks the policy; None if it allows the action."""
    decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
    return decision if isinstance(decision, Deny) else None
