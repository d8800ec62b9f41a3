"""Compares the tree with the log: moves of HEAD, edits that no claim covers, changes of the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import CycleMoved, Event, Ground, HeadSeen, RedsEnded, RefactorBegun, Suspended
from verdigris.core.paths import PathClass
from verdigris.core.state import Phase
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.storage.repository import Head, head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.actions import Unclaimed
    from verdigris.core.paths import Change, Entry
    from verdigris.core.state import Red, WorktreeState
    from verdigris.execution.room import Layer
    from verdigris.storage.project import Project
    from verdigris.storage.snapshots.head_moves import HeadMove

ORACLE = frozenset({PathClass.TEST, PathClass.SPEC, PathClass.SWITCH})


@value
class TreeDifference:
    """Two trees, apart by class."""

    source: tuple[Change, ...]
    oracle: tuple[str, ...]
    """Test, spec and switch paths, and mixed files whose runner keys or tests differ."""
    other: tuple[Change, ...]

    @property
    def protected(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.oracle, *(c.path for c in self.source))))


@value
class Candidate:
    """What a verdict is about: a tree with its edits, and the tree that they began with."""

    project: Project
    start: str
    tree: str
    edits: TreeDifference
    room: Layer | None = None
    """In which its tests run, where a sandbox can be made."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(c.path for c in (*self.edits.source, *self.edits.other))


def difference(project: Project, old: str, new: str) -> TreeDifference:
    if old == new:
        return TreeDifference((), (), ())
    from verdigris.checks.source_edits import parts_differ

    source: list[Change] = []
    oracle: list[str] = []
    other: list[Change] = []
    for change in project.workspace.changes(old, new):
        cls = project.classify(change.path)
        drifted, rest = (True, False) if cls in ORACLE else parts_differ(project, change, old, new)
        if drifted:
            oracle.append(change.path)
        if cls is PathClass.SOURCE and rest:
            source.append(change)
        elif not drifted:
            other.append(change)
    return TreeDifference(tuple(source), tuple(oracle), tuple(other))


def source_roots(project: Project, tree: str) -> tuple[str, ...]:
    """Folders from which the modules of a tree are imported."""
    from verdigris.languages.registry import by_language

    paths = (entry.path for entry in project.workspace.files(tree))
    source = by_language(path for path in paths if project.classify(path) is PathClass.SOURCE)
    roots = (root for language, mine in source.items() for root in language.import_roots(mine))
    return tuple(dict.fromkeys(roots))


def find_unclaimed(
    project: Project, ground: str, tree: str, *, limit: int | None = None
) -> tuple[Unclaimed, ...]:
    """Source that differs from the ground by more than stubs; `limit`: so many are enough."""
    source = difference(project, ground, tree).source
    if not source:
        return ()
    from verdigris.checks.source_edits import find_edits

    return find_edits(project, source, tree, limit=limit).found


def is_layout(project: Project, change: Change) -> bool:
    """Whether a formatter may have done it."""
    from verdigris.languages.registry import is_same_tree, language_for

    readable = language_for(change.path) is not None or "." not in change.path.rpartition("/")[2]
    if change.old is None or change.new is None or not readable:
        return False
    before, after = project.workspace.blobs((change.old, change.new))
    return before is not None and after is not None and is_same_tree(change.path, before, after)


def look(project: Project, state: WorktreeState) -> WorktreeState:
    """Take in what HEAD did since the last command: a plain commit changes nothing, a move brings ground."""
    now = head(project.repo)
    if state.ground is None:
        tree = first_ground(project)
        project.record(Ground(tree=tree, commit=now.commit, on=now.branch, why="first seen"))
        return project.state()
    seen = Head(None, None) if state.head is None else Head(state.head.on, state.head.commit)
    if seen == now:
        return state
    from verdigris.storage.snapshots import head_moves

    move = head_moves.move_since(project.repo, seen)
    if move.kind != "moved":
        project.record(HeadSeen(commit=now.commit, on=now.branch))
        return project.state()
    return take_ground(project, state, find_brought(project, state, move), now, why="HEAD moved")


def end_lost_reds(project: Project, state: WorktreeState) -> WorktreeState:
    """A red ends with its test, which can no longer be run."""
    gone = lost_reds(project, state, project.workspace.snapshot()) if state.reds else ()
    if not gone:
        return state
    project.record(RedsEnded(test_ids=gone))
    return project.state()


def lost_reds(project: Project, state: WorktreeState, tree: str) -> tuple[str, ...]:
    """Ids of the reds whose file or text is gone; those of open claims stay."""
    old = {i: red for i, red in state.reds.items() if i not in state.claims and red.tree != tree}
    files = {entry.path for entry in project.workspace.files(tree)} if old else set()
    return tuple(
        test_id
        for test_id, red in old.items()
        if (path := split_id(red.native_id).path) not in files or _is_cut_out(project, red, path, tree)
    )


def _is_cut_out(project: Project, red: Red, path: str, tree: str) -> bool:
    """A test that no reader found in the text of its red may be created at run time: only a run shows it."""
    before, after = project.workspace.read(red.tree, path), project.workspace.read(tree, path)
    if before == after:
        return False
    from verdigris.languages.tests import is_written

    then, now = ((text or b"").decode("utf-8", "surrogateescape") for text in (before, after))
    return is_written(path, then, red.native_id) and not is_written(path, now, red.native_id)


def find_brought(project: Project, state: WorktreeState, move: HeadMove) -> frozenset[str]:
    """What is new ground of a move: nothing that was committed here and never earned."""
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
    paths = move.paths | earned
    return paths - _foreign_source(project, state, paths)


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
    for known in (state, *(w for name, w in all_known.items() if name != project.repo.worktree)):
        at = known.head.commit if known.head and known.phase is not Phase.OFF else None
        for commit, grounds in reversed(list(known.grounds.items())):
            yield commit, (*grounds, known.ground) if commit == at and known.ground else grounds


def first_ground(project: Project) -> str:
    """The tree as it stands, but source as committed: what was edited here before we came is no ground."""
    tree = project.workspace.snapshot()
    commit = _first_commit(project)
    if commit is None:
        return tree
    from verdigris.storage.snapshots import head_moves

    listed = head_moves.list_commit(project.repo, commit)
    held = {e.path: e for e in listed.files if project.classify(e.path) is PathClass.SOURCE}
    inside = tuple(f"{submodule}/" for submodule in listed.submodules)
    here = {e.path for e in project.workspace.files(tree) if project.classify(e.path) is PathClass.SOURCE}
    known = head_moves.clean_entries(project.repo, held.values())
    edited = {p for p in here | held.keys() if p not in known and not p.startswith(inside)}
    return project.workspace.compose(tree, {p: _as_held(project, held.get(p)) for p in sorted(edited)})


def _first_commit(project: Project) -> str | None:
    """HEAD; in a worktree that was added under the law, without what was committed in it since."""
    if not project.log.state().worktrees.keys() - {project.repo.worktree}:
        return head(project.repo).commit
    from verdigris.storage.snapshots import head_moves

    (first,) = project.log.records(limit=1)
    return head_moves.before_own_commits(project.repo, first.ts // 1000)


def _as_held(project: Project, entry: Entry | None) -> tuple[str, bytes] | None:
    from verdigris.storage.snapshots import head_moves

    return None if entry is None else (entry.mode, head_moves.read_as_checked_out(project.repo, entry))


def take_ground(
    project: Project, state: WorktreeState, paths: frozenset[str], now: Head, why: str
) -> WorktreeState:
    """Changes from commits made elsewhere are no edits of this turn; they suspend an open one."""
    current = project.workspace.snapshot()
    ground, brought = _graft_move(project, state.ground or current, current, paths)
    events: list[Event] = [
        Ground(tree=ground, commit=now.commit, on=now.branch, why=why, paths=brought),
    ]
    if state.turn is not None:
        start, under = _graft_move(project, state.turn.tree, current, paths)
        if under:
            events.append(Suspended(turn=state.turn.id, tree=start, commit=now.commit, on=now.branch))
    if state.open_cycle is not None:
        start, under = _graft_move(project, state.open_cycle.tree, current, paths)
        events += [CycleMoved(cycle=state.open_cycle.id, tree=start)] if under else []
    if state.refactor is not None:
        start, under = _graft_move(project, state.refactor.tree, current, paths)
        if under:
            # Otherwise an abort would set aside what others committed.
            begun = state.refactor
            events.append(
                RefactorBegun(
                    tree=start,
                    record=begun.record,
                    uncovered=begun.uncovered,
                    foundation=begun.foundation,
                    founded=begun.founded,
                    optimizes=begun.optimizes,
                )
            )
    project.record(*events)
    return project.state()


def _graft_move(
    project: Project, start: str, current: str, paths: frozenset[str]
) -> tuple[str, tuple[str, ...]]:
    """`start` with what a move brought, and which paths those are."""
    brought = tuple(c.path for c in project.workspace.changes(start, current) if c.path in paths)
    return project.workspace.graft(start, current, brought), brought
