"""Shows a run another tree than the worktree's: only what differs is written, and beside the worktree."""

# Names stay `str`, and may be any bytes:
# ruff: noqa: PTH103, PTH120, PTH208, PTH211

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.change import EXECUTABLE, LINK
from verdigris.core.errors import StorageError
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.kernel.project import Project
    from verdigris.kernel.room.folders import Folders


@value
class Layer:
    wanted: str
    """The tree that the run sees."""
    worktree: str
    """The tree that the worktree has."""


def furnish(project: Project, layer: Layer, folders: Folders) -> tuple[str, ...]:
    """The paths that must not be found; what else differs is written into the layer's folder."""
    changes = (
        project.workspace.changes(layer.worktree, layer.wanted) if layer.wanted != layer.worktree else ()
    )
    written = [change.path for change in changes if not change.deleted]
    contents = project.workspace.read_many(layer.wanted, written)
    for change in changes:
        if not change.deleted:
            data = contents[change.path]
            if data is None:
                raise StorageError(f"the store has lost {change.path!r}", hint="run `tdd doctor`")
            _write(f"{folders.layer}/{change.path}", change.new_mode or "", data)
    gone = [change.path for change in changes if change.deleted]
    return _with_emptied(str(project.root), folders.layer, gone)


def _write(path: str, mode: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if mode == LINK:
        os.symlink(data, os.fsencode(path))
        return
    permissions = 0o755 if mode == EXECUTABLE else 0o644
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions)
    with os.fdopen(file, "wb") as stream:
        stream.write(data)


def _with_emptied(root: str, layer: str, gone: Sequence[str]) -> tuple[str, ...]:
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
