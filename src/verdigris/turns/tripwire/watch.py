"""Remembers how the tree and git looked at the last call."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping  # noqa: TC003 - the codec reads annotations when it runs
from typing import TYPE_CHECKING

from verdigris.core.cycle import authored_classes
from verdigris.core.paths import CACHES
from verdigris.core.protection import protected_classes
from verdigris.core.records import from_json, to_json
from verdigris.core.state import Phase  # noqa: TC001 - the codec reads annotations when it runs
from verdigris.core.value import field, replace, value
from verdigris.languages.registry import is_mixed
from verdigris.storage import stat_cache
from verdigris.storage.log import light
from verdigris.turns.rollback import GitPosition, place, watched_files
from verdigris.turns.tripwire.messages import KEYS_PROTECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from verdigris.core.paths import PathClass
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


@value
class TripwireMemory:
    tree: str
    """The worktree, with whatever a person did in it."""
    base: str | None
    """The tree that the phase went by."""
    phase: Phase
    place: GitPosition
    alive: bool = False
    """A process of the agent's call was still running when the call had ended."""
    moved: tuple[str, ...] = ()
    """For which protected paths git was moved back since, by a verb within the call: to be told after it."""
    undone: tuple[str, ...] = ()
    """What a commit held behind the tree's back that was undone since: to be told likewise."""
    texts: tuple[str, ...] = ()
    """What was said of other things that were put back by then: to be told likewise."""
    unproven: Mapping[str, str] = field(default_factory=dict)
    """Path → blob in HEAD that no tree had."""
    proven: str | None = None
    """Where HEAD was before it held them."""
    told: tuple[str, ...] = ()
    """Those of them that are recorded and told."""


def recall(project: Project) -> TripwireMemory | None:
    """None where nothing is remembered, or nothing that can be understood: then the log's trees decide."""
    try:
        return from_json(TripwireMemory, json.loads(_file(project).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remember(project: Project, memory: TripwireMemory) -> None:
    file = _file(project)
    draft = file.with_name(f"{file.name}.new")
    # `alive` also where it is false: the gate's quick entry looks for the word.
    draft.write_text(json.dumps({**to_json(memory), "alive": memory.alive}))
    draft.replace(file)


def is_git_moved(project: Project) -> bool:
    """Whether HEAD, the index or a stash is another than at the last look."""
    memory = recall(project)
    return memory is not None and not place(project, memory.place).same(memory.place)


def moved_rightly(project: Project, before: str) -> None:
    """What git brought since `before` came by `tdd sync`, and is nobody's stray edit."""
    memory = recall(project)
    if memory is None:
        return
    now = project.workspace.snapshot()
    brought = [change.path for change in project.workspace.changes(before, now)]
    tree = project.workspace.graft(memory.tree, now, brought)
    remember(project, replace(memory, tree=tree, place=place(project, memory.place)))


def _file(project: Project) -> Path:
    return project.repo.private / "call.json"


@value
class TreeLook:
    """A look at the tree: the snapshot is younger than the stamps, and no later write hides in their tick."""

    tree: str
    rows: list[stat_cache.Row]
    state_seq: int | None


def see(project: Project, state: WorktreeState) -> TreeLook:
    from verdigris.storage.snapshots.index import let_the_clock_tick

    at = light.head(os.fspath(project.repo.control))
    rows = list(_rows(project, state))
    let_the_clock_tick(max((ctime for _, ctime, *_ in rows), default=0))
    return TreeLook(project.workspace.snapshot(), rows, None if at is None else light.changed_at(at))


def watch(project: Project, seen: TreeLook) -> None:
    """From now on the stamps speak for the tree."""
    if seen.state_seq is None:
        stat_cache.forget(project.repo.private)
    else:
        stat_cache.write(project.repo.private, seen.state_seq, os.fsencode(project.root), seen.rows)


def has_changed(project: Project) -> bool:
    """Whether something looks otherwise than when it was known to be right, or the state changed since."""
    known = stat_cache.read(project.repo.private)
    at = light.head(os.fspath(project.repo.control))
    if known is None or at is None:
        return True
    state_seq, root, rows = known
    return state_seq != light.changed_at(at) or _looks_otherwise(project, root, rows)


def is_touched(project: Project) -> bool:
    """Whether something looks otherwise than when it was known to be right, whatever the state was then."""
    known = stat_cache.read(project.repo.private)
    return known is None or _looks_otherwise(project, *known[1:])


def _looks_otherwise(project: Project, root: bytes, rows: list[stat_cache.Row]) -> bool:
    if stat_cache.differs(root, rows):
        return True
    from verdigris.storage.snapshots.mapped import shared_inodes

    # Stamps say nothing of what a process left over has mapped.
    hidden = shared_inodes(project.repo.private)
    return any(inode in hidden for _, _, inode, *_ in rows)


def _rows(project: Project, state: WorktreeState) -> Iterator[stat_cache.Row]:
    classes = protected_classes(state.phase) | authored_classes(state.open_cycle)
    keys, spec = state.phase in KEYS_PROTECTED, state.open_cycle and state.open_cycle.spec_path

    def wanted(path: str) -> bool:
        cls = project.classify(path)
        return (keys and is_mixed(path, cls)) or cls in classes or path == spec

    top = os.fspath(project.root)
    yield stat_cache.stamp(os.fsencode(top), b"")
    yield from _below(top, project.classify, wanted)
    for path in watched_files(project.repo):
        yield stat_cache.stamp(os.fsencode(top), path)


def _below(
    top: str, keep: Callable[[str], PathClass], wanted: Callable[[str], bool]
) -> Iterator[stat_cache.Row]:
    from verdigris.storage.snapshots.scan import Installed

    installed = Installed(top, keep)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(f"{top}/{folder}"):
            path = f"{folder}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                if wanted(path):
                    yield _row(path, entry)
            elif not installed.leaves_out(path):
                waiting.append(f"{path}/")
                if entry.name not in CACHES:
                    # A cache changes with every run; what has a class in it has a row of its own.
                    yield _row(path, entry)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if entry.name != ".git"]
    except OSError:
        return []


def _row(path: str, entry: os.DirEntry[str]) -> stat_cache.Row:
    try:
        return stat_cache.row(os.fsencode(path), entry.stat(follow_symlinks=False))
    except OSError:
        return (os.fsencode(path), *stat_cache.ABSENT)
