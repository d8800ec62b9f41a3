"""Shows a run another tree than the worktree's, by writing only what differs."""

# Names stay `str`, and may be any bytes:
# ruff: noqa: PTH120, PTH208, PTH211

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.core.paths import EXECUTABLE, LINK
from verdigris.core.value import value
from verdigris.languages.folders import make_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.paths import Entry
    from verdigris.sandbox.folders import Folders
    from verdigris.storage.project import Project


LONG_AGO = 1_000_000_000 * 10**9
"""In nanoseconds: older than whatever a tool built."""


@value
class Layer:
    wanted: str
    """The tree that the run sees."""
    worktree: str
    """The tree that the worktree has."""
    firm: tuple[Entry, ...] = ()
    """Laid although the worktree has the same: who changes them while the run goes on reaches nothing."""
    cacheless: tuple[str, ...] = ()
    """Folders of which the run finds no bytecode, since anybody may have put it there."""
    hidden: tuple[str, ...] = ()
    """Paths at which it finds nothing, for the same reason: what tools keep between runs."""
    dates: Mapping[str, int] | None = None
    """When laid files seem to be written, in nanoseconds, LONG_AGO where it is not said; None: as it is."""

    @property
    def only_holds(self) -> bool:
        """It shows the tree as it stands, with files of it from the store."""
        return self.wanted == self.worktree


def furnish(project: Project, layer: Layer, folders: Folders) -> tuple[str, ...]:
    """The paths that must not be found; what else differs is written into the layer's folder."""
    changes = (
        project.workspace.changes(layer.worktree, layer.wanted) if layer.wanted != layer.worktree else ()
    )
    gone = {change.path for change in changes if change.deleted}
    modes = {entry.path: entry.mode for entry in layer.firm if entry.path not in gone}
    modes |= {change.path: change.new_mode or "" for change in changes if not change.deleted}
    for path, data in project.workspace.read_many(layer.wanted, modes).items():
        if data is None:
            raise StorageError(f"the store has lost {path!r}", hint="run `tdd doctor`")
        _write(f"{folders.layer}/{path}", modes[path], data)
        if layer.dates is not None:
            time = layer.dates.get(path, LONG_AGO)
            os.utime(f"{folders.layer}/{path}", ns=(time, time), follow_symlinks=False)
    removed = _with_emptied(str(project.root), folders.layer, gone)
    for folder in layer.cacheless:
        if folder not in removed:
            _hide_bytecode(str(project.root), folders.layer, folder)
    return (*removed, *(path for path in layer.hidden if _can_hide(str(project.root), folders.layer, path)))


def _write(path: str, mode: str, data: bytes) -> None:
    make_folders(os.path.dirname(path))
    if mode == LINK:
        os.symlink(data, os.fsencode(path))
        return
    permissions = 0o755 if mode == EXECUTABLE else 0o644
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions)
    with os.fdopen(file, "wb") as stream:
        stream.write(data)


def _can_hide(root: str, layer: str, path: str) -> bool:
    """What is reached by a link lies elsewhere, where nothing may be removed."""
    folder = os.path.dirname(f"{root}/{path}")
    there = os.path.lexists(f"{root}/{path}") or os.path.lexists(f"{layer}/{path}")
    return there and os.path.realpath(folder) == folder


def _hide_bytecode(root: str, layer: str, folder: str) -> None:
    try:
        names = os.listdir(f"{root}/{folder}")
    except OSError:
        return
    hidden = [name for name in names if name == "__pycache__" or name.endswith(".pyc")]
    if hidden:
        make_folders(f"{layer}/{folder}")
    for name in hidden:
        _white_out(f"{layer}/{folder}/{name}")


def _white_out(path: str) -> None:
    """As an overlay writes down that a name is gone; where that may not be made, an empty file will do."""
    try:
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
    except FileExistsError:
        return
    except OSError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444))


def _with_emptied(root: str, layer: str, gone: Iterable[str]) -> tuple[str, ...]:
    """Folders left empty go too; where something is laid, that has taken the place already."""
    removed = {path for path in gone if not os.path.lexists(f"{layer}/{path}")}
    for path in sorted(removed, reverse=True):
        folder = os.path.dirname(path)
        while folder and folder not in removed and _is_emptied(root, layer, folder, removed):
            removed.add(folder)
            folder = os.path.dirname(folder)
    return tuple(sorted(removed))


def _is_emptied(root: str, layer: str, folder: str, removed: set[str]) -> bool:
    if os.path.lexists(f"{layer}/{folder}"):
        return False
    try:
        names = os.listdir(f"{root}/{folder}")
    except OSError:
        return False
    return all(f"{folder}/{name}" in removed or name == "__pycache__" for name in names)
