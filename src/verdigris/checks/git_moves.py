"""Takes in what git did since the last look: all that a person did, and of an agent's moves what others made.

What an agent commits becomes ground by a verdict only (ADR 38).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.ground import first_ground, follow_git, held_by_git
from verdigris.checks.observation import difference, is_cut_out
from verdigris.core.events import CycleMoved, Event, Ground, HeadSeen, RefactorBegun, Suspended
from verdigris.core.paths import PathClass
from verdigris.core.records import AGENT
from verdigris.core.state import Phase, Refactor, WorktreeState
from verdigris.core.value import take_fields
from verdigris.storage.git import users_git
from verdigris.storage.repository import Head, head

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.storage.project import Project
    from verdigris.storage.snapshots.head_moves import HeadMove


def look(project: Project, state: WorktreeState, *, by_agent: bool | None = None) -> WorktreeState:
    """Takes in what git did since the last look. `by_agent`: who did it, if not whoever looks."""
    now = head(project.repo)
    if state.ground is None:
        tree = first_ground(project)
        project.record(Ground(tree=tree, commit=now.commit, on=now.branch, why="first seen"))
        return project.state()
    seen = _seen_head(state)
    is_agents = project.actor.role == AGENT if by_agent is None else by_agent
    if is_agents:
        return state if seen == now else _look_after_agent(project, state, seen, now)
    ground = follow_git(project, state)
    if ground == state.ground and seen == now:
        return state
    brought = _find_moved(project, state) | _find_committed(project, state, now)
    return _record(project, state, ground, brought, now)


def _find_moved(project: Project, state: WorktreeState) -> frozenset[str]:
    """Paths that commits made elsewhere brought since the last look."""
    seen = _seen_head(state)
    if seen.commit == head(project.repo).commit:
        return frozenset()
    from verdigris.storage.snapshots import head_moves

    move = head_moves.move_since(project.repo, seen)
    return _find_brought(project, state, move) if move.kind == "moved" else frozenset()


def _find_committed(project: Project, state: WorktreeState, now: Head) -> frozenset[str]:
    """Frozen files that a person changed and committed under an open turn: they are ground."""
    if state.turn is None or now.commit == state.turn.commit:
        return frozenset()
    tree = project.workspace.snapshot()
    drift = difference(project, state.turn.tree, tree).oracle
    if not drift:
        return frozenset()
    held = held_by_git(project, state, state.turn.commit, tree, drift)
    here = project.workspace.read_many(tree, held)
    return frozenset(path for path, content in held.items() if here.get(path) == (content and content[1]))


def _seen_head(state: WorktreeState) -> Head:
    return Head(None, None) if state.head is None else Head(state.head.on, state.head.commit)


def _look_after_agent(project: Project, state: WorktreeState, before: Head, now: Head) -> WorktreeState:
    """A commit of its own changes nothing; a move brings what others made."""
    from verdigris.storage.snapshots import head_moves

    move = head_moves.move_since(project.repo, before)
    if move.kind != "moved":
        unearned = _find_unearned(project, state, before.commit, now.commit)
        project.record(HeadSeen(commit=now.commit, on=now.branch, unearned=unearned))
        return project.state()
    brought = _find_brought(project, state, move)
    brought -= _foreign_source(project, state, brought)
    current = project.workspace.snapshot()
    ground, _ = _graft_move(project, state.ground or current, current, brought)
    return _record(project, state, ground, brought, now)


def _find_unearned(
    project: Project, state: WorktreeState, old: str | None, new: str | None
) -> Mapping[str, str]:
    """Path → blob in HEAD of what the agent's commits changed otherwise than the ground has it."""
    from verdigris.storage.snapshots import head_moves

    changes = head_moves.changes_between(users_git(project.repo), old, new)
    changed = {c.path: c for c in changes if project.classify(c.path) is not PathClass.OTHER}
    there = project.workspace.entries(state.ground or "", changed) if changed else {}
    return {path: change.new or "" for path, change in changed.items() if change.after != there.get(path)}


def _record(
    project: Project, state: WorktreeState, ground: str, under: frozenset[str], now: Head
) -> WorktreeState:
    """`under`: what others brought, or a person committed: no edit of a turn, and it suspends an open one."""
    events: list[Event] = [HeadSeen(commit=now.commit, on=now.branch)]
    if ground != state.ground:
        changes = project.workspace.changes(state.ground or ground, ground)
        paths = tuple(change.path for change in changes)
        why = "HEAD moved" if _seen_head(state) != now else "back to what HEAD has"
        events = [Ground(tree=ground, commit=now.commit, on=now.branch, why=why, paths=paths, follows=True)]
    project.record(*events, *(_move_starts(project, state, under, now) if under else ()))
    return project.state()


def _move_starts(project: Project, state: WorktreeState, paths: frozenset[str], now: Head) -> Iterator[Event]:
    """The start of an open turn, stage or refactor takes in what came from elsewhere."""
    current = project.workspace.snapshot()
    if (begun := state.turn or state.refactor) is not None:
        paths -= _find_own(project, begun.commit)
    if state.turn is not None:
        start, brought = _graft_move(project, state.turn.tree, current, paths)
        if brought:
            yield Suspended(turn=state.turn.id, tree=start, commit=now.commit, on=now.branch)
    if state.open_cycle is not None:
        start, brought = _graft_move(project, state.open_cycle.tree, current, paths)
        if brought:
            yield CycleMoved(cycle=state.open_cycle.id, tree=start)
    if state.refactor is not None:
        start, brought = _graft_move(project, state.refactor.tree, current, paths)
        begun = state.refactor
        if brought:
            # Otherwise an abort would set aside what others committed.
            record = _without_moved(project, begun, start)
            yield take_fields(RefactorBegun, begun, tree=start, record=record)


def _without_moved(project: Project, begun: Refactor, start: str) -> str:
    """How the tests of a refactor stood before it, without those that the move took away."""
    from verdigris.checks.suite_tests import read_tests_of, record_of

    tests = read_tests_of(project, begun.record)
    kept = {i: status for i, status in tests.items() if not is_cut_out(project, i, begun.tree, start)}
    return begun.record if len(kept) == len(tests) else record_of(project, kept)


def _find_own(project: Project, since: str | None) -> frozenset[str]:
    """Source that HEAD has as commits made here since then left it: that is the turn's own work."""
    from verdigris.storage.snapshots import head_moves

    now = head(project.repo).commit
    commits = head_moves.made_since(project.repo, since) if since != "" else {}
    held = head_moves.entries_at(project.repo, now, commits)
    same = (path for path, entry in commits.items() if held.get(path) == entry)
    return frozenset(path for path in same if project.classify(path) is PathClass.SOURCE)


def _graft_move(
    project: Project, start: str, current: str, paths: frozenset[str]
) -> tuple[str, tuple[str, ...]]:
    """`start` with what a move brought, and which paths those are."""
    brought = tuple(c.path for c in project.workspace.changes(start, current) if c.path in paths)
    return project.workspace.graft(start, current, brought), brought


# -- what an agent brings ----------------------------------------------------------------------


def _find_brought(project: Project, state: WorktreeState, move: HeadMove) -> frozenset[str]:
    """What a move brought from elsewhere; of what was committed here on the way, only what was ground."""
    from verdigris.storage.snapshots import head_moves

    ground = state.ground
    if ground is None:
        return move.paths
    earned = {
        path
        for path, entry in move.mixed.items()
        if project.workspace.read(ground, path)
        == (entry and head_moves.read_as_checked_out(project.repo, entry))
    }
    return move.paths | earned


def _foreign_source(project: Project, state: WorktreeState, paths: frozenset[str]) -> frozenset[str]:
    """Source that HEAD holds as a commit did at which it was no ground, neither on coming nor on leaving."""
    from verdigris.storage.snapshots import head_moves

    undecided = frozenset(path for path in paths if project.classify(path) is PathClass.SOURCE)
    current = project.workspace.snapshot()
    found: frozenset[str] = frozenset()
    for commit, grounds in _stations(project, state):
        same = head_moves.find_unmoved(project.repo, commit, undecided) if undecided else frozenset()
        undecided -= same
        for ground in grounds if same else ():
            same = same.intersection(c.path for c in project.workspace.changes(ground, current))
        found |= {path for path in same if not _is_stub(project, path, grounds, current)}
    return found


def _is_stub(project: Project, path: str, grounds: tuple[str, ...], current: str) -> bool:
    """Against what was ground there: stubs need no red, so they are nothing to be earned."""
    from verdigris.checks.source_edits import more_than_stubs

    after = project.workspace.read(current, path)
    befores = (project.workspace.read(ground, path) for ground in grounds)
    return after is not None and any(
        more_than_stubs(project, path, before, after, current) is None for before in befores
    )


def _stations(project: Project, state: WorktreeState) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The commits at which HEAD was seen, with the grounds there: the latest first, other worktrees' last."""
    all_known = project.log.state().worktrees
    for worktree in (state, *(w for name, w in all_known.items() if name != project.repo.worktree)):
        at = worktree.head.commit if worktree.head and worktree.phase is not Phase.OFF else None
        for commit, grounds in reversed(list(worktree.grounds.items())):
            yield commit, (*grounds, worktree.ground) if commit == at and worktree.ground else grounds
