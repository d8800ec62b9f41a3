"""`tdd status`: the state of a worktree, and what its tree shows that is not in the log yet.

Nothing is written, except that an operation which a kill interrupted is finished first.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.checks import foundation
from verdigris.checks.observation import difference, find_brought, find_unclaimed, lost_reds
from verdigris.checks.unproven_commits import describe
from verdigris.core.errors import NotARepository, StorageError, ToolMissing, UserError
from verdigris.core.policy.next_move import next_move
from verdigris.core.state import Phase
from verdigris.core.value import replace, value
from verdigris.storage.git import find_program
from verdigris.storage.intents import recover
from verdigris.storage.lock import hold_lock
from verdigris.storage.project import CONFIG
from verdigris.storage.repository import Head, head, in_progress
from verdigris.storage.snapshots import head_moves
from verdigris.turns.claim_check import following_move
from verdigris.turns.tripwire import recall

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    notes = [*_finish_interrupted(project), *missing_parts(project)]
    state = project.state()
    if unfinished := in_progress(project.repo):
        notes.append(f"a {unfinished} is in progress")
    branch: str | None = None
    edits: tuple[Unclaimed, ...] = ()
    drift: tuple[str, ...] = ()
    try:
        branch = head(project.repo).branch
        edits, drift = _tree(project, state, notes)
        memory = recall(project)
        notes += describe(memory.unproven) if memory else ()
        state = _without_accepted_pins(project, _without_lost_reds(project, state))
        move = following_move(project, state)
    except (StorageError, ToolMissing, NotARepository) as error:
        notes.append(f"the tree could not be compared: {error.message}")
        move = next_move(state)
    return Survey(project.repo.worktree, branch, state, edits, drift, tuple(notes), move)


def missing_parts(project: Project) -> Iterator[str]:
    """What the laws go by and is not there."""
    if not (project.root / CONFIG).exists():
        back = f"`git checkout -- {CONFIG}`, or `tdd init`, brings it back"
        yield f"there is no {CONFIG} here; what was recorded of it is in force. {back}"
    if find_program("git", os.get_exec_path()) is None:
        yield "git is not on PATH: a claim, a settlement and HEAD need it"


def _without_lost_reds(project: Project, state: WorktreeState) -> WorktreeState:
    gone = lost_reds(project, state, project.workspace.snapshot()) if state.reds else ()
    return replace(state, reds={i: red for i, red in state.reds.items() if i not in gone})


def _without_accepted_pins(project: Project, state: WorktreeState) -> WorktreeState:
    """Only the characterization tests that are in the tree and not in the ground yet."""
    if not state.characterized or state.ground is None:
        return state
    from verdigris.turns.test import added_tests

    new = added_tests(project, state.characterized, state.ground, project.workspace.snapshot())
    return replace(state, characterized=tuple(name for name in state.characterized if name in new))


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


def _tree(
    project: Project, state: WorktreeState, notes: list[str]
) -> tuple[tuple[Unclaimed, ...], tuple[str, ...]]:
    brought = _find_brought(project, state)
    if brought is not None:
        notes.append(
            "HEAD moved since the last command; the next command takes its files as the new baseline"
        )
    if state.phase is Phase.RED and state.ground is not None:
        edits = find_unclaimed(project, state.ground, project.workspace.snapshot(), limit=SHOWN)
        return tuple(u for u in edits if u.path not in (brought or ())), ()
    if state.phase is Phase.GREEN and state.turn is not None:
        drift = difference(project, state.turn.tree, project.workspace.snapshot()).oracle
        below = foundation.find_changes(project, state.turn.foundation, state.turn.founded)
        notes += [f"{path} {foundation.CHANGED}" for path in foundation.fold_paths(below)]
        return (), tuple(path for path in drift if path not in (brought or ()))
    return (), ()


def _find_brought(project: Project, state: WorktreeState) -> frozenset[str] | None:
    """Paths that a move of HEAD brought since the last command; None if HEAD did not move."""
    if state.head is None:
        return None
    move = head_moves.move_since(project.repo, Head(state.head.on, state.head.commit))
    return find_brought(project, state, move) if move.kind == "moved" else None
