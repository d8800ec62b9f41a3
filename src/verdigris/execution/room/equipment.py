"""What a room of a test tool has besides the worktree: caches, a folder for reports, and their variables."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.sandbox import Confinement
    from verdigris.sandbox.foldersx import Folders


@value
class Equipment:
    env: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    """Folders that are read, though they may lie in a temporary one."""
    writable: tuple[str, ...] = ()
    placed: tuple[tuple[str, str], ...] = ()
    """Pairs (folder, path): found at the path, and written for real."""
    shadowed: tuple[tuple[str, str], ...] = ()
    """The same, and nothing of what is written stays."""

    def of(self, confinement: Confinement, folders: Folders) -> Confinement:
        return confinement.but(
            needed=(*confinement.needed, *self.needed),
            writable=(*confinement.writable, *self.writable),
            placed=self.placed,
            shadows=tuple((folder, path, *folders.shadow()) for folder, path in self.shadowed),
        )
