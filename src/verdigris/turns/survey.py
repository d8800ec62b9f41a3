"""`tdd status`: the state of a worktree, and what its tree shows that is not in the log yet.

Nothing is written to the tree, except that an operation which a kill interrupted is finished first.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.checks import foundation
from verdigris.checks.unproven_commits import describe
from verdigris.core.errors import NotARepository, StorageError, ToolMissing, UserError
from verdigris.core.policy.next_move import TreeFacts, next_move
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.value import replace, value
from verdigris.storage.calls.open_calls import is_any_left
from verdigris.storage.git import find_program
from verdigris.storage.intents import recover
from verdigris.storage.lock import hold_lock
from verdigris.storage.project import CONFIG, Project
from verdigris.storage.repository import head, in_progress
from verdigris.turns.claim_check import own_view
from verdigris.turns.next_move import as_it_stands, asker_of, facts_of
from verdigris.turns.operation import look_at_git
from verdigris.turns.tripwire import recall
from verdigris.turns.tripwire.authors import what_to_wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.actions import Unclaimed

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
    notes = [*_take_in(project), *missing_parts(project)]
    state = project.state()
    if unfinished := in_progress(project.repo):
        notes.append(f"a {unfinished} is in progress")
    branch: str | None = None
    facts = TreeFacts(unfinished)
    try:
        branch = head(project.repo).branch
        tree = project.workspace.snapshot()
        state = as_it_stands(project, state, tree)
        facts = facts_of(project, own_view(project, state), tree, most=SHOWN)
        notes += _note_foundation(project, state)
        memory = recall(project)
        notes += describe(memory.unproven) if memory else ()
        notes += [state.hindrance.line] if state.hindrance else []
        state = _without_accepted_pins(project, state, tree)
    except (StorageError, ToolMissing, NotARepository) as error:
        notes.append(f"the tree could not be compared: {error.message}; {error.hint}")
    asker = replace(asker_of(project, state), wait=what_to_wait_for(project))
    move = next_move(own_view(project, state), facts, asker)
    return Survey(project.repo.worktree, branch, state, facts.unclaimed, facts.drift, tuple(notes), move)


def missing_parts(project: Project) -> Iterator[str]:
    """What the laws go by and is not there."""
    if not (project.root / CONFIG).exists():
        back = "`tdd init` brings it back"
        yield f"there is no {CONFIG} here; what was recorded of it is in force. {back}"
    if find_program("git", os.get_exec_path()) is None:
        yield "git is not on PATH: a claim, a settlement and HEAD need it"


def _without_accepted_pins(project: Project, state: WorktreeState, tree: str) -> WorktreeState:
    """Only the characterization tests that are in the tree and not in the ground yet."""
    if not state.characterized or state.ground is None:
        return state
    from verdigris.turns.test_record import added_tests

    new = added_tests(project, state.characterized, state.ground, tree)
    return replace(state, characterized=tuple(name for name in state.characterized if name in new))


def _take_in(project: Project) -> list[str]:
    """Finishes what a kill interrupted, and takes in what git did, as the next command would."""
    pending = project.state().intent
    what = "" if pending is None else f"an interrupted operation ({pending.kind}) waits to be finished: "
    try:
        with hold_lock(project.repo.lock("operation"), wait=0):
            done = None if pending is None else recover(project)
            if not is_any_left(str(project.repo.private)):
                look_at_git(project, by_agent=False)
    except UserError:
        return [f"another command is at work ({pending.kind})"] if pending else []
    except (StorageError, ToolMissing, NotARepository) as error:
        return [f"{what}{error.message}"]
    return [] if done is None else [f"an operation was interrupted: {done}"]


def _note_foundation(project: Project, state: WorktreeState) -> list[str]:
    """What changed below an open turn."""
    if state.phase is not Phase.GREEN or state.turn is None:
        return []
    below = foundation.find_changes(project, state.turn.foundation, state.turn.founded)
    return [f"{path} {foundation.CHANGED}" for path in foundation.fold_paths(below)]
