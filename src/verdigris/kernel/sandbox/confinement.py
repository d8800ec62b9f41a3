"""What a confined run may see and write: a value that the parent makes, and what must hold of it."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH112

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError
from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.kernel.sandbox.network import Network


@value
class Confinement:
    root: str
    """The worktree: an overlay stands in its place, so that what is written there has no effect outside."""
    upper: str
    work: str
    """Empty private folders on one file system: what was written goes to `upper`, and is thrown away."""
    laid: tuple[str, ...] = ()
    """Folders whose files win over the worktree's, the first over the next; they are only read."""
    removed: tuple[str, ...] = ()
    """Paths relative to the root that the run does not find there."""
    masked: tuple[str, ...] = ()
    """Absolute paths whose content nobody inside can read."""
    writable: tuple[str, ...] = ()
    """Absolute folders outside the root that are written for real: a fresh HOME and TMPDIR."""
    needed: tuple[str, ...] = ()
    """Absolute paths that the run reads, such as its interpreter: a temporary folder with one is shown."""
    network: Network = "loopback"


def inside(path: str, folder: str) -> bool:
    """Both canonical; a folder is inside itself."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def checked(confinement: Confinement) -> Confinement:
    """The same with every path canonical; mistakes of ours are found here, before there is a child."""
    made = replace(
        confinement,
        root=os.path.realpath(confinement.root),
        upper=os.path.realpath(confinement.upper),
        work=os.path.realpath(confinement.work),
        laid=_canonical(confinement.laid),
        masked=_canonical(confinement.masked),
        writable=_canonical(confinement.writable),
        needed=_canonical(confinement.needed),
    )
    for folder in (made.root, made.upper, made.work, *made.laid, *made.writable):
        if not os.path.isdir(folder):
            raise HarnessError(f"the sandbox needs the folder {folder!r}")
    for layer in (made.upper, made.work, *made.laid):
        for other in (made.root, *made.writable):
            if inside(layer, other) or inside(other, layer):
                raise HarnessError(f"the sandbox's folder {layer!r} and {other!r} must not hold one another")
    for folder in made.writable:
        if inside(folder, made.root) or inside(made.root, folder):
            raise HarnessError(f"{folder!r} cannot be writable: it holds the worktree, or is in it")
    for path in made.removed:
        if path.startswith("/") or {"", ".", ".."} & set(path.split("/")):
            raise HarnessError(f"{path!r} is no path below the worktree's root")
    return made


def _canonical(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.realpath(path) for path in paths)
