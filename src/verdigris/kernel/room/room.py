"""One room: what a run in it is given, how it is confined, and what it tried to change."""

from __future__ import annotations

import os

from verdigris.kernel.room.folders import Folders

TYPE_CHECKING = False  # see sandbox/confinement.py
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from verdigris.core.pathclass import PathClass
    from verdigris.kernel.room.terms import Terms
    from verdigris.kernel.sandbox import Confinement


class Room:
    """For one run of `argv`: an overlay that has been written to is not used again."""

    def __init__(
        self,
        terms: Terms,
        argv: Sequence[str],
        furnish: Callable[[Folders], tuple[str, ...]] | None = None,
        equip: Callable[[Confinement, Folders], Confinement] | None = None,
    ) -> None:
        """`furnish` lays files over the worktree's, and says which of those are not to be found.

        `equip` gives a tool what it has besides the worktree.
        """
        self.terms = terms
        self.folders = Folders(terms.place)
        try:
            removed = furnish(self.folders) if furnish else ()
            made = terms.confinement(self.folders, argv, removed)
            self.confinement = equip(made, self.folders) if equip else made
            self.confine = terms.confining(self.confinement)
        except BaseException:
            self.folders.discard()
            raise
        self.env = terms.env(self.folders, os.environ)

    @property
    def sandbox(self) -> Literal["overlay", "none"]:
        return "none" if self.confine is None else "overlay"

    def wrote(self, classify: Callable[[str], PathClass]) -> tuple[str, ...]:
        """Protected paths that the run wrote or deleted, without effect."""
        from verdigris.kernel.sandbox import report

        return () if self.confine is None else report(self.confinement, classify)

    def close(self) -> None:
        self.folders.discard()
