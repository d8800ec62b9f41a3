"""Sets edits aside and restores them; lists overwritten files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import Event, LayingAside, RefactorEnded, Restored, Restoring, Reverted
from verdigris.core.paths import LINK, PathClass
from verdigris.core.state import Phase
from verdigris.core.turn_events import next_aside
from verdigris.core.value import value
from verdigris.languages.registry import beyond_stubs
from verdigris.storage.intents import carries_out
from verdigris.storage.snapshots.restoration import list_displaced
from verdigris.turns.operation import operation, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.core.state import LaidAside, WorktreeState
    from verdigris.storage.project import Project


def set_aside(project: Project, intent: LayingAside, *first: Event) -> str:
    """Takes the edits out of the tree, and returns the id that they are kept as. `first` is recorded before.

    The caller holds the operation.
    """
    project.record(*first, intent, sync=True)
    carry_out(project, intent)
    return intent.aside


@carries_out(LayingAside, "finished setting {intent.aside} aside")
def carry_out(project: Project, intent: LayingAside) -> None:
    """The effect of an intent that is in the log, and its outcome. Safe to repeat."""
    displaced = project.workspace.lay(intent.start, intent.paths, expect=intent.edited)
    project.record(Reverted(aside=intent.aside, displaced=list_displaced(displaced)), sync=True)


@carries_out(Restoring, "finished restoring {intent.aside}")
def carry_out_restore(project: Project, intent: Restoring) -> None:
    displaced = project.workspace.lay(intent.after, intent.paths, expect=intent.before)
    project.record(Restored(aside=intent.aside, displaced=list_displaced(displaced)), sync=True)


def lay_unclaimed_aside(project: Project) -> LaidAside | Deny | None:
    """`tdd aside`: source edits made before any red are set aside, and come back with the next claim."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("aside")):
            return denial
        tree = project.workspace.snapshot()
        ground = state.ground or tree
        edits = find_unclaimed(project, ground, tree)
        if not edits:
            return None
        intent = LayingAside(
            aside=next_aside(state),
            paths=tuple(u.path for u in edits),
            edited=tree,
            start=ground,
            why="edited before a red",
            back_at_claim=True,
        )
        laid = set_aside(project, intent)
        return project.state().aside[laid]


def restore(project: Project, aside: str) -> tuple[str, ...] | Deny:
    """`tdd restore ID`: the paths that were brought back."""
    with operation(project) as state:
        laid = _find_aside(state, aside)
        if denial := refusal(project, state, Do("restore", aside)):
            return denial
        return lay_on(project, laid, frozen=state.phase is Phase.GREEN)


def lay_on(project: Project, laid: LaidAside, *, frozen: bool = True) -> tuple[str, ...] | Deny:
    """Applies the edits, by a three-way merge if the tree moved on; a conflict changes nothing.

    `frozen`: edits of the oracle are refused.
    """
    current = project.workspace.snapshot()
    moved = {c.path: c for c in project.workspace.changes(laid.start, current)}
    edits = {c.path: c for c in project.workspace.changes(laid.start, laid.edited) if c.path in laid.paths}
    target = project.workspace.graft(current, laid.edited, [p for p in edits if p not in moved])
    merged: dict[str, tuple[str, bytes] | None] = {}
    for path in edits.keys() & moved.keys():
        ours, theirs = moved[path], edits[path]
        if (ours.new_mode, ours.new) == (theirs.new_mode, theirs.new):
            continue
        stubs = _only_stubs(project, laid.start, current, path)
        content = project.workspace.merge_path(laid.start, current, laid.edited, path, yielding=stubs)
        mode = theirs.new_mode if theirs.new_mode != theirs.old_mode else ours.new_mode
        if content is None or mode is None or LINK in {ours.new_mode, theirs.new_mode}:
            return _conflict(laid, path)
        merged[path] = (mode, content)
    target = project.workspace.compose(target, merged)
    if frozen and (oracle := difference(project, current, target).oracle):
        return _deny_frozen(laid, oracle[0])
    intent = Restoring(aside=laid.id, paths=laid.paths, before=current, after=target)
    project.record(intent, sync=True)
    carry_out_restore(project, intent)
    return laid.paths


def _only_stubs(project: Project, start: str, current: str, path: str) -> bool:
    """Whether the file gained only stubs since, which the edits that come back may replace."""
    before, after = (project.workspace.read(tree, path) for tree in (start, current))
    if after is None or project.classify(path) is not PathClass.SOURCE:
        return False
    return beyond_stubs(path, before, after) is None


def _conflict(laid: LaidAside, path: str) -> Deny:
    return Deny(
        "restore-conflict",
        f"{path} changed since {laid.id} was set aside, in the same lines; nothing was changed.",
        f"see it with `tdd restore {laid.id} --show` and merge by hand",
    )


def _deny_frozen(laid: LaidAside, path: str) -> Deny:
    return Deny(
        "frozen-oracle",
        f"{laid.id} holds {path}, which is frozen from claim to verdict; nothing was changed.",
        f"settle, then `tdd refactor begin` and `tdd restore {laid.id}`",
    )


def show(project: Project, aside: str) -> str:
    """The edits that were set aside, as a diff."""
    laid = _find_aside(project.state(), aside)
    return project.workspace.diff(laid.start, laid.edited, laid.paths)


def _find_aside(state: WorktreeState, aside: str) -> LaidAside:
    laid = state.aside.get(aside)
    if laid is None:
        known = ", ".join(state.aside)
        hint = f"known: {known}" if known else "`tdd status` lists what is set aside"
        raise UserError(f"nothing is set aside as {aside!r}.", hint=hint)
    return laid


def lay_back(
    project: Project, tree: str, why: str, *, only: Callable[[str], bool] | None = None
) -> tuple[str, ...]:
    """Sets changes aside without a verdict, and so without a strike; returns the paths (`only`: these)."""
    with operation(project) as state:
        now = project.workspace.snapshot()
        changed = (change.path for change in project.workspace.changes(tree, now)) if tree != now else ()
        paths = tuple(path for path in changed if only is None or only(path))
        if not paths and state.turn is None and state.refactor is None:
            return ()
        intent = LayingAside(
            aside=next_aside(state),
            paths=paths,
            edited=now,
            start=tree,
            why=why,
            test_ids=tuple(state.claims),
        )
        aborted: list[Event] = []
        if state.phase is Phase.REFACTOR and state.refactor is not None:
            aborted = [RefactorEnded(verdict="aborted", tree=state.refactor.tree)]
        set_aside(project, intent, *aborted)
        return paths


@value
class Kept:
    path: str
    blob: str
    seq: int
    """The event that records it."""
    ts: int


def list_displaced_files(project: Project, path: str | None = None) -> Iterator[Kept]:
    """Lists the displaced files of this worktree; all, or those of one path."""
    for record in project.log.records(reverse=True):
        told = record.data.get("displaced")
        if record.worktree != project.repo.worktree or not isinstance(told, list | tuple):
            continue
        for each in told:
            name, _, blob = each.rpartition(" ")
            if path in {None, name}:
                yield Kept(name, blob, record.seq, record.ts)
