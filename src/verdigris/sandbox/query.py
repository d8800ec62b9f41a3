"""Asks a program that an agent could have replaced, without letting it write anything."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris import sandbox
from verdigris.sandbox.folders import Folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NOTE = "sandbox"
"""In a worktree's private folder: how processes are confined here."""


@contextmanager
def apart(
    root: Path, note: Path | None = None, *, reads: Sequence[Path] = (), hides: Sequence[Path] = ()
) -> Iterator[Callable[[], None] | None]:
    """For `Popen(preexec_fn=…)`; None where the system allows no sandbox: then no agent is confined, either.

    `reads` is found though it lies in a temporary folder, `hides` is not.
    """
    found = sandbox.available() if note is None else sandbox.remembered(str(note))
    if found.way is None:
        yield None
        return
    folders = Folders(found.place)
    try:
        confinement = sandbox.Confinement(
            str(root),
            folders.upper,
            folders.work,
            masked=tuple(map(str, hides)),
            needed=tuple(str(path) for path in reads if path.exists()),
            network="none" if found.network else "host",
        )
        yield sandbox.preexec(confinement, found.way)
    finally:
        folders.discard()


def environment_of(python: Path) -> tuple[Path, ...]:
    """The folders that an interpreter needs to start: its environment, and the one behind the link."""
    return tuple(dict.fromkeys((python.parent.parent, Path(python.resolve()).parent.parent)))
