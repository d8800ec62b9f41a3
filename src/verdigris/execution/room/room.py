"""One room: what a run in it is given, how it is confined, and what it tried to change."""

from __future__ import annotations

import os

from verdigris.sandbox.foldersx import Folders
from verdigris.sandbox.opens import LOST, Opens

TYPE_CHECKING = False  # see sandbox/confinement.py
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from verdigris.core.pathclass import PathClass
    from verdigris.execution.room.terms import Terms
    from verdigris.sandbox import Confinement


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
        self.opens: Opens | None = None
        self.folders = Folders(terms.place)
        try:
            removed = furnish(self.folders) if furnish else ()
            made = terms.confinement(self.folders, argv, removed)
            if terms.way is not None:
                self.opens = _listening()
                made = made.but(opens=self.opens)
            self.confinement = equip(made, self.folders) if equip else made
            self.confine = terms.confining(self.confinement)
        except BaseException:
            self.close()
            raise
        self.env = terms.env(self.folders, os.environ)

    @property
    def sandbox(self) -> Literal["overlay", "none"]:
        return "none" if self.confine is None else "overlay"

    def wrote(self, classify: Callable[[str], PathClass]) -> tuple[str, ...]:
        """Protected paths that the run wrote or deleted, without effect."""
        from verdigris.sandbox import report

        return () if self.confine is None else report(self.confinement, classify)

    def opened(self) -> tuple[str, ...]:
        """The files of the worktree that the run opened, by path."""
        return () if self.opens is None else self.opens.heard()

    def notes(self) -> tuple[str, ...]:
        """What it could not do, once `opened` was asked."""
        missed = self.confine is not None and (self.opens is None or self.opens.lost)
        return (LOST,) if missed else ()

    def close(self) -> None:
        if self.opens is not None:
            self.opens.close()
            self.opens = None
        self.folders.discard()


def _listening() -> Opens | None:
    """None where the system has no more of them, or none at all."""
    try:
        return Opens()
    except (OSError, AttributeError):
        return None
