"""The frame of every command that changes something: lock, recover, look at HEAD, ask the policy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.checks.observation import end_lost_reds, is_as_seen
from verdigris.core.actions import Action, Deny
from verdigris.core.errors import OthersCallOpen
from verdigris.core.events import TurnClosed
from verdigris.core.policy import BY_PHASE, decide
from verdigris.core.records import AGENT
from verdigris.core.value import replace
from verdigris.storage.calls.callers import are_clients_gone, open_edits
from verdigris.storage.calls.open_calls import is_any_left, may_move_git, open_shells
from verdigris.storage.repository import in_progress

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        close_late_turn(project)  # only a process that was killed leaves one: we hold the lock
        # Before HEAD is looked at: what an agent moved is no new ground.
        if project.actor.role == AGENT:
            by_agent = _undo_agents_moves(project, waits=waits)
        else:
            by_agent = may_move_git(str(project.repo.private))
        yield end_lost_reds(project, look_at_git(project, by_agent=by_agent))


def close_late_turn(project: Project) -> None:
    """Ends a turn that was opened for one settlement, if it was not accepted; the edits stay."""
    turn = project.state().turn
    if turn is not None and turn.late:
        project.record(TurnClosed(turn=turn.id), sync=True)


def look_at_git(project: Project, *, by_agent: bool) -> WorktreeState:
    state = project.state()
    if is_as_seen(project, state):
        return state
    from verdigris.checks.git_moves import look

    return look(project, state, by_agent=by_agent)


def _undo_agents_moves(project: Project, *, waits: bool) -> bool:
    """Whether an agent may have moved git since the last look: a call of one is open, or left a trace.

    Between calls it was a person. What undoes an agent's changes is loaded only if there may be some.
    """
    private = str(project.repo.private)
    from verdigris.turns.tripwire import is_git_moved, recall

    memory = recall(project)
    began = memory is not None and memory.began and not are_clients_gone(private)
    left = is_any_left(private) or began
    edits = open_edits(private, project.context)
    if not left and not edits:
        return False
    shells = open_shells(private) if left else []
    others = any(context != project.context for context, _ in shells)
    if left and is_git_moved(project):
        from verdigris.turns.tripwire.strays import undo_moves

        undo_moves(project, waits=others)
    if shells:
        from verdigris.turns.tripwire.calls import look_within_call

        look_within_call(project)
    if others or edits:
        _wait_for_others(project, waits=waits)
    return left


def _wait_for_others(project: Project, *, waits: bool) -> None:
    from verdigris.turns.tripwire import recall
    from verdigris.turns.tripwire.authors import wait_for_others

    denial, memory = wait_for_others(project), recall(project)
    if denial and (waits or (memory is not None and memory.unmoved)):
        raise OthersCallOpen(denial.reason, hint=denial.next)


def refusal(project: Project, state: WorktreeState, action: Action) -> Deny | None:
    """Asks the policy; None if it allows the action."""
    decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
    if isinstance(decision, Deny) and decision.rule in BY_PHASE:
        from verdigris.turns.next_move import following_move

        return replace(decision, next=following_move(project, state))
    return decision if isinstance(decision, Deny) else None
