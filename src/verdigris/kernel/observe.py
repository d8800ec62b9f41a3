"""What happened to the tree outside our commands: HEAD moves, edits that no claim covers, oracle drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdigris.core.actions import Unclaimed
from verdigris.core.events import Ground, HeadSeen, Suspended
from verdigris.core.pathclass import PathClass
from verdigris.core.runnerkeys import MIXED, runner_keys
from verdigris.core.stubs import only_stubs
from verdigris.kernel.repository import Head, head
from verdigris.kernel.workspace import moves

if TYPE_CHECKING:
    from verdigris.core.change import Change
    from verdigris.core.state import WorktreeState
    from verdigris.kernel.project import Project

ORACLE = frozenset({PathClass.TEST, PathClass.SPEC, PathClass.SWITCH})


@dataclass(frozen=True, slots=True)
class Difference:
    """Two trees, apart by class."""

    source: tuple[Change, ...]
    oracle: tuple[str, ...]
    """Test, spec and switch paths, and mixed files whose runner keys differ."""
    other: tuple[Change, ...]

    @property
    def protected(self) -> tuple[str, ...]:
        return (*self.oracle, *(c.path for c in self.source))


def difference(project: Project, old: str, new: str) -> Difference:
    source: list[Change] = []
    oracle: list[str] = []
    other: list[Change] = []
    for change in project.workspace.changes(old, new) if old != new else ():
        match project.classify(change.path):
            case PathClass.SOURCE:
                source.append(change)
            case cls if cls in ORACLE or _runner_keys_differ(project, change, old, new):
                oracle.append(change.path)
            case _:
                other.append(change)
    return Difference(tuple(source), tuple(oracle), tuple(other))


def _runner_keys_differ(project: Project, change: Change, old: str, new: str) -> bool:
    name = change.path.rpartition("/")[2]
    if name not in MIXED:
        return False
    before, after = (project.workspace.read(tree, change.path) or b"" for tree in (old, new))
    return runner_keys(name, before) != runner_keys(name, after)


def unclaimed(project: Project, ground: str, tree: str) -> tuple[Unclaimed, ...]:
    """Source that differs from the ground by more than stubs."""
    found = []
    for change in difference(project, ground, tree).source:
        before, after = (project.workspace.read(t, change.path) for t in (ground, tree))
        if after is None:
            found.append(Unclaimed(change.path, 1, "it was deleted"))
            continue
        old = None if before is None else before.decode("utf-8", "surrogateescape")
        finding = only_stubs(old, after.decode("utf-8", "surrogateescape"))
        if finding is not None:
            found.append(Unclaimed(change.path, finding.line, finding.why))
    return tuple(found)


def look(project: Project, state: WorktreeState) -> WorktreeState:
    """Take in what HEAD did since the last command: a plain commit changes nothing, a move brings ground."""
    now = head(project.repo)
    if state.ground is None:
        tree = project.workspace.snapshot()
        project.record(Ground(tree=tree, commit=now.commit, on=now.branch, why="first seen"))
        return project.state()
    seen = Head(None, None) if state.head is None else Head(state.head.on, state.head.commit)
    if seen == now:
        return state
    move = moves.move_since(project.repo, seen)
    if move.kind != "moved":
        project.record(HeadSeen(commit=now.commit, on=now.branch))
        return project.state()
    return take_ground(project, state, frozenset(move.paths), now, why="HEAD moved")


def take_ground(
    project: Project, state: WorktreeState, paths: frozenset[str], now: Head, why: str
) -> WorktreeState:
    """What commits made elsewhere brought is nobody's edit here; an open turn is suspended by it."""
    current = project.workspace.snapshot()
    ground = state.ground or current
    brought = tuple(sorted(c.path for c in project.workspace.changes(ground, current) if c.path in paths))
    events: list[Ground | Suspended] = [
        Ground(
            tree=project.workspace.graft(ground, current, brought),
            commit=now.commit,
            on=now.branch,
            why=why,
            paths=brought,
        )
    ]
    if state.turn is not None and brought:
        start = project.workspace.graft(state.turn.tree, current, brought)
        events.append(Suspended(turn=state.turn.id, tree=start, commit=now.commit, on=now.branch))
    project.record(*events)
    return project.state()
