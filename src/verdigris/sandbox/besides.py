"""What a run finds besides the worktree: folders in other places than their own, or that keep nothing."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH103, PTH112, PTH114

from __future__ import annotations

import os

from verdigris.sandbox.confinement import inside
from verdigris.sandbox.overlay import bind, mount_overlay, opened, remove

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from verdigris.sandbox.confinement import Confinement


class Besides:
    """Opened before anything is mounted, and mounted when all else is."""

    def __init__(self, confinement: Confinement) -> None:
        self.root = confinement.root
        self.placed = [(path, opened(folder)) for folder, path in confinement.placed]
        self.shadows = [
            (path, path == folder, opened(folder), opened(upper), opened(work))
            for folder, path, upper, work in confinement.shadows
        ]

    def mount(self, *, user_namespace: bool) -> list[str]:
        """The mount points, which stay writable."""
        points = []
        for path, folder in self.placed:
            self._make(path)
            bind(folder, path)
            points.append(path)
        for path, in_place, folder, upper, work in self.shadows:
            self._make(path)
            try:
                mount_overlay(path, [folder], upper, work, user_namespace=user_namespace)
            except OSError:
                if in_place:
                    continue  # it can be read, and tools that must write there say so
                raise
            points.append(path)
        return points

    def _make(self, path: str) -> None:
        """What lies there in the worktree, such as a link that leads elsewhere, gives way."""
        if inside(path, self.root) and not (os.path.isdir(path) and not os.path.islink(path)):
            remove(path)
        os.makedirs(path, exist_ok=True)
