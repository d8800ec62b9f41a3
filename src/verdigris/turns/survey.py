"""`tdd status`: the state of a worktree, and what its tree shows that is not in the log yet.

Nothing is written, except that an operation which a kill interrupted is finished first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks import foundation
from verdigris.checks.observation import find_brought
from verdigris.checks.unproven_commits import describe
from verdigris.core.errors import NotARepository, StorageError, ToolMissing, UserError
from verdigris.core.policy.next_move import TreeFacts, next_move
from verdigris.core.state import Phase
from verdigris.core.value import value
from verdigris.storage.intents import recover
from verdigris.storage.lock import hold_lock
from verdigris.storage.repository import Head, head, in_progress
from verdigris.storage.snapshots import head_moves
from verdigris.turns.claim_check import as_it_stands, asker_of, facts_of
from verdigris.turns.tripwire import recall

if TYPE_CHECKING:
    from verdigris.core.actions import Unclaimed
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project

SHOWN = 100
"""Unclaimed edits that are listed at most."""


@value
class Survey:
    worktree: str
    branch: str | None
    state: WorktreeState
    unclaimed: tuple[Unclaimed, ...] = ()
    """Source edits that no claim covers, in the red phase."""
    drift: tuple[str, ...] = ()
    """Oracle paths that differ from the frozen ones, in the green phase."""
    notes: tuple[str, ...] = ()
    """What was finished, and what could not be compared."""
    next: str = ""
    """The next move, by the state and the tree."""


def survey(project: Project) -> Survey:
    notes = _finish_interrupted(project)
    state = project.state()
    if unfinished := in_progress(project.repo):
        notes.append(f"a {unfinished} is in progress")
    branch: str | None = None
    facts = TreeFacts(unfinished)
    asker = asker_of(project, state)
    try:
        branch = head(project.repo).branch
        tree = project.workspace.snapshot()
        state = as_it_stands(project, state, tree)
        facts = facts_of(project, state, tree, asker, brought=_note_moves(project, state, notes), most=SHOWN)
        memory = recall(project)
        notes += describe(memory.unproven) if memory else ()
    except (StorageError, ToolMissing, NotARepository) as error:
        notes.append(f"the tree could not be compared: {error.message}")
    move = next_move(state, facts, asker)
    return Survey(project.repo.worktree, branch, state, facts.unclaimed, facts.drift, tuple(notes), move)


def _finish_interrupted(project: Project) -> list[str]:
    pending = project.state().intent
    if pending is None:
        return []
    try:
        with hold_lock(project.repo.lock("operation"), wait=0):
            done = recover(project)
    except UserError:
        return [f"another command is at work ({pending.kind})"]
    except StorageError as error:
        return [f"an interrupted operation ({pending.kind}) waits to be finished: {error.message}"]
    return [] if done is None else [f"an operation was interrupted: {done}"]


def _note_moves(project: Project, state: WorktreeState, notes: list[str]) -> frozenset[str]:
    """The paths that a move of HEAD brought since the last command. Notes it, and what a turn stands on."""
    brought = _find_brought(project, state)
    if brought is not None:
        notes.append(
            "HEAD moved since the last command; the next command takes its files as the new baseline"
        )
    if state.phase is Phase.GREEN and state.turn is not None:
        below = foundation.find_changes(project, state.turn.foundation, state.turn.founded)
        notes += [f"{path} {foundation.CHANGED}" for path in foundation.fold_paths(below)]
    return brought or frozenset()


def _find_brought(project: Project, state: WorktreeState) -> frozenset[str] | None:
    """Paths that a move of HEAD brought since the last command; None if HEAD did not move."""
    if state.head is None:
        return None
    move = head_moves.move_since(project.repo, Head(state.head.on, state.head.commit))
    return find_brought(project, state, move) if move.kind == "moved" else None
