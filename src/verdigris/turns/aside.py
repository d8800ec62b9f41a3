"""Sets edits aside, restores them or gives them up; lists overwritten files.

What HEAD has stays where it is, unless an agent committed it and no verdict accepted it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.checks.source_edits import home_of
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import Dropped, Event, LayingAside, RefactorEnded, Restored, Restoring, Reverted
from verdigris.core.paths import LINK, PathClass
from verdigris.core.policy.next_move import covers, without_tests
from verdigris.core.records import AGENT
from verdigris.core.state import LaidAside, Phase, WorktreeState
from verdigris.core.turn_events import next_aside
from verdigris.core.value import replace, value
from verdigris.languages.registry import beyond_stubs
from verdigris.storage.intents import carries_out
from verdigris.storage.repository import head
from verdigris.storage.snapshots.restoration import list_displaced
from verdigris.turns.operation import operation, refusal
from verdigris.turns.rollback import put_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from verdigris.storage.project import Project


ALL = "."
"""The target of a claim that names no source."""


def set_aside(project: Project, intent: LayingAside, *first: Event) -> LayingAside:
    """Takes the edits out of the tree, except what a person has committed; returns what was taken out.

    `first` is recorded before. The caller holds the operation.
    """
    intent = _spare_commits(project, intent)
    project.record(*first, intent, sync=True)
    carry_out(project, intent)
    return intent


def _spare_commits(project: Project, intent: LayingAside) -> LayingAside:
    """Paths that a person committed since the turn or refactor began go back to that commit at most."""
    state = project.state()
    begun = state.turn or state.refactor
    if begun is None:
        return intent
    from verdigris.checks.ground import held_by_git

    held = held_by_git(project, state, begun.commit, intent.edited, intent.paths)
    start = project.workspace.compose(intent.start, held)
    differing = {change.path for change in project.workspace.changes(start, intent.edited)}
    paths = tuple(path for path in intent.paths if path in differing)
    return replace(intent, start=start, paths=paths)


@carries_out(LayingAside, "finished setting {intent.aside} aside")
def carry_out(project: Project, intent: LayingAside) -> None:
    """The effect of an intent that is in the log, and its outcome. Safe to repeat."""
    displaced = project.workspace.lay(intent.start, intent.paths, expect=intent.edited)
    project.record(Reverted(aside=intent.aside, displaced=list_displaced(displaced)), sync=True)


@carries_out(Restoring, "finished restoring {intent.aside}")
def carry_out_restore(project: Project, intent: Restoring) -> None:
    displaced = project.workspace.lay(intent.after, intent.paths, expect=intent.before)
    kept = (*list_displaced(displaced), *intent.yielded)
    project.record(Restored(aside=intent.aside, displaced=kept, tree=intent.after), sync=True)


def lay_unclaimed_aside(project: Project) -> LaidAside | Deny | None:
    """`tdd aside`: source edits made before any red are set aside; a claim of theirs brings them back."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("aside")):
            return denial
        tree = project.workspace.snapshot()
        ground = state.ground or tree
        edits = without_tests(find_unclaimed(project, ground, tree), state)
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
        set_aside(project, intent)
        return project.state().aside[intent.aside]


def drop(project: Project, aside: str) -> tuple[str, ...]:
    """`tdd aside drop ID`: gives the edits up; their files are kept as displaced ones are."""
    with operation(project) as state:
        laid = _find_aside(state, aside)
        edited = project.workspace.entries(laid.edited, laid.paths)
        kept = tuple(f"{path} {entry.blob}" for path, entry in edited.items())
        project.record(Dropped(aside=aside, displaced=kept), sync=True)
        return laid.paths


def belongs(project: Project, laid: LaidAside, tests: Mapping[str, str], targets: Sequence[str]) -> bool:
    """Whether edits were set aside for a claim: for its tests, or for the source that it names.

    `tests`: ids with the paths of their files. Where a claim names no source, its tests' imports tell.
    """
    if not laid.back_at_claim:
        return False
    if not tests.keys().isdisjoint(laid.test_ids):
        return True
    if tuple(targets) != (ALL,):
        return any(covers(target, path) for target in targets for path in laid.paths)
    from verdigris.checks.source_edits import imported_source

    tree = project.workspace.snapshot()
    known = imported_source(project, tree, dict.fromkeys(tests.values()))
    return any(not files or not files.isdisjoint(laid.paths) for files in known)


def restore(project: Project, aside: str) -> tuple[str, ...] | Deny:
    """`tdd restore ID`: the paths that were brought back. In red only a person may do it."""
    with operation(project) as state:
        laid = _find_aside(state, aside)
        denial = refusal(project, state, Do("restore", aside, free=_is_free(project, laid)))
        return denial or lay_on(project, laid, frozen=state.phase is Phase.GREEN)


def _is_free(project: Project, laid: LaidAside) -> bool:
    """Whether the edits may come back in red: they are a person's to decide about, or are no source."""
    classes = {project.classify(path) for path in laid.paths}
    return project.actor.role != AGENT or PathClass.SOURCE not in classes


def is_path(project: Project, name: str) -> bool:
    """Whether `tdd restore` means a file: else a name is that of edits that were set aside."""
    return name not in project.state().aside and ("/" in name or "." in name)


def restore_frozen(project: Project, paths: Sequence[str]) -> tuple[str, ...] | Deny:
    """`tdd restore PATH…`: puts files back that changed since the open turn froze them; which they were."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("restore", paths[0])):
            return denial
        tree = project.workspace.snapshot()
        drift = difference(project, state.turn.tree, tree).oracle if state.turn is not None else ()
        named = tuple(path for path in drift if any(covers(name, path) for name in paths))
        if not named:
            known = f"changed: {', '.join(drift)}" if drift else "`tdd status` lists what is set aside"
            raise UserError(f"{paths[0]} is as the open turn froze it, or not frozen.", hint=known)
        put_frozen_back(project, state, tree, named, "put back as the turn froze it")
        return named


def put_frozen_back(
    project: Project, state: WorktreeState, tree: str, paths: tuple[str, ...], why: str
) -> None:
    """Lays the frozen bytes over them; what had to make way is kept (`tdd displaced`)."""
    if state.turn is not None:
        put_back(project, home_of(project, state.turn.tree, tree, paths), paths, why=why)


def lay_on(project: Project, laid: LaidAside, *, frozen: bool = True) -> tuple[str, ...] | Deny:
    """Applies the edits, by a three-way merge if the tree moved on; a conflict changes nothing.

    `frozen`: edits of the oracle are refused.
    """
    current = project.workspace.snapshot()
    moved = {c.path: c for c in project.workspace.changes(laid.start, current)}
    edits = {c.path: c for c in project.workspace.changes(laid.start, laid.edited) if c.path in laid.paths}
    target = project.workspace.graft(current, laid.edited, [p for p in edits if p not in moved])
    merged: dict[str, tuple[str, bytes] | None] = {}
    yielded: list[str] = []
    for path in edits.keys() & moved.keys():
        ours, theirs = moved[path], edits[path]
        if (ours.new_mode, ours.new) == (theirs.new_mode, theirs.new):
            continue
        content = project.workspace.merge_path(laid.start, current, laid.edited, path)
        if content is None and _only_stubs(project, laid.start, current, path):
            content = project.workspace.merge_path(laid.start, current, laid.edited, path, yielding=True)
            yielded.append(f"{path} {ours.new}")
        mode = theirs.new_mode if theirs.new_mode != theirs.old_mode else ours.new_mode
        if content is None or mode is None or LINK in {ours.new_mode, theirs.new_mode}:
            return _conflict(laid, path)
        merged[path] = (mode, content)
    target = project.workspace.compose(target, merged)
    if frozen and (oracle := difference(project, current, target).oracle):
        return _deny_frozen(laid, oracle[0])
    intent = Restoring(aside=laid.id, paths=laid.paths, before=current, after=target, yielded=tuple(yielded))
    project.record(intent, sync=True)
    carry_out_restore(project, intent)
    return laid.paths


def _only_stubs(project: Project, start: str, current: str, path: str) -> bool:
    """Whether the file gained only stubs since, which the edits that come back may replace.

    A committed line that was reworded meanwhile, be it only a comment, stays.
    """
    before, after = (project.workspace.read(tree, path) for tree in (start, current))
    if after is None or project.classify(path) is not PathClass.SOURCE:
        return False
    reworded = Counter((before or b"").splitlines()) - Counter(after.splitlines())
    if reworded and _is_committed(project, current, path):
        return False
    return beyond_stubs(path, before, after) is None


def _is_committed(project: Project, tree: str, path: str) -> bool:
    from verdigris.storage.snapshots import head_moves

    held = head_moves.entries_at(project.repo, head(project.repo).commit, {path}).get(path)
    lying = project.workspace.entries(tree, {path}).get(path)
    return held is not None and lying is not None and held.blob == lying.blob


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
        return set_aside(project, intent, *aborted).paths


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
