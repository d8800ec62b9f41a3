"""Takes the stamps of what the phase protects: of each file, of folders where one could appear, of git."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.protection import protected_classes
from verdigris.core.toolfolders import CACHES
from verdigris.core.value import value
from verdigris.languages.oraclepart import is_mixed
from verdigris.storage import stat_cache
from verdigris.storage.log import light
from verdigris.storage.snapshots.index import let_the_clock_tick
from verdigris.storage.snapshots.installed import Installed
from verdigris.storage.snapshots.mapped import shared
from verdigris.turns.gitwhole import watched
from verdigris.turns.tripwire.messages import KEYS_PROTECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.core.pathclass import PathClass
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


@value
class Seen:
    """A look at the tree: the snapshot is younger than the stamps, and no later write hides in their tick."""

    tree: str
    rows: list[stat_cache.Row]
    state_seq: int | None


def see(project: Project, state: WorktreeState) -> Seen:
    at = light.head(os.fspath(project.repo.control))
    rows = list(_rows(project, state))
    let_the_clock_tick(max((ctime for _, ctime, *_ in rows), default=0))
    return Seen(project.workspace.snapshot(), rows, None if at is None else light.changed_at(at))


def watch(project: Project, seen: Seen) -> None:
    """From now on the stamps speak for the tree."""
    if seen.state_seq is None:
        stat_cache.forget(project.repo.private)
    else:
        stat_cache.write(project.repo.private, seen.state_seq, os.fsencode(project.root), seen.rows)


def unwatched(project: Project) -> bool:
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
    # Stamps say nothing of what a process left over has mapped.
    hidden = shared(project.repo.private)
    return any(inode in hidden for _, _, inode, *_ in rows)


def _rows(project: Project, state: WorktreeState) -> Iterator[stat_cache.Row]:
    classes, keys = protected_classes(state.phase), state.phase in KEYS_PROTECTED

    def wanted(path: str) -> bool:
        cls = project.classify(path)
        return (keys and is_mixed(path, cls)) or cls in classes

    top = os.fspath(project.root)
    yield stat_cache.stamp(os.fsencode(top), b"")
    yield from _below(top, project.classify, wanted)
    for path in watched(project.repo):
        yield stat_cache.stamp(os.fsencode(top), path)


def _below(
    top: str, keep: Callable[[str], PathClass], wanted: Callable[[str], bool]
) -> Iterator[stat_cache.Row]:
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
