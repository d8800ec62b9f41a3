"""What a confined process may see and write, as a value."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH103, PTH112, PTH114

from __future__ import annotations

import _socket  # a head start is confined before `socket` is loaded
import fcntl
import os
import sys

from verdigris.core.errors import HarnessError
from verdigris.sandbox.mounts import bind, mount_overlay, open_path, remove
from verdigris.sandbox.syscalls import CLONE_NEWNET, unshare

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict, Unpack

    from verdigris.sandbox.opens import Opens

    Network = Literal["none", "loopback", "host"]

    class _More(TypedDict, total=False):
        """See `Confinement`; a dataclass would take long to load."""

        laid: tuple[str, ...]
        removed: tuple[str, ...]
        fixed: tuple[str, ...]
        masked: tuple[str, ...]
        decoys: tuple[tuple[str, str], ...]
        writable: tuple[str, ...]
        needed: tuple[str, ...]
        placed: tuple[tuple[str, str], ...]
        shadows: tuple[tuple[str, str, str, str], ...]
        network: Network
        live: bool
        opens: Opens | None

else:
    Network = str

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_NAME, _REQUEST = 16, 40
"""Bytes of an interface's name, and of a request about it."""


def enter_network(network: Network) -> None:
    if network == "host":
        return
    unshare(CLONE_NEWNET)
    if network == "loopback":
        control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
        request = b"lo".ljust(_NAME, b"\0") + _IFF_UP.to_bytes(2, sys.byteorder)
        fcntl.ioctl(control, _SIOCSIFFLAGS, request.ljust(_REQUEST, b"\0"))
        control.close()


class Besides:
    """Opened before anything is mounted, and mounted when all else is."""

    def __init__(self, confinement: Confinement) -> None:
        self.root = confinement.root
        self.placed = [(path, open_path(folder)) for folder, path in confinement.placed]
        self.shadows = [
            (path, path == folder, open_path(folder), open_path(upper), open_path(work))
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


class Confinement:
    """Paths are absolute where nothing else is said; made once, and changed by nobody.

    root        The worktree: an overlay stands in its place, so that what is written has no effect outside.
    upper, work Empty private folders on one file system: what was written goes to `upper`, to be thrown away.
    laid        Folders whose files win over the worktree's, the first over the next; they are only read.
    removed     Paths relative to the root that the run does not find there.
    fixed       Files relative to the root that it finds there and cannot write.
    masked      Paths whose content nobody inside can read.
    decoys      Pairs (folder, path): the folder is found, and written, in the place of what is at the path.
    writable    Folders outside the root that are written for real: a fresh HOME and TMPDIR.
    needed      What the run reads, such as its interpreter: a temporary folder with one in it is shown.
    placed      Pairs (folder, path): the folder is found, and written for real, at the path.
    shadows     (folder, path, upper, work): at the path the folder is found, and writing leaves it as it is.
                Such a path is below the root, in a writable folder, or there already; a folder in its own
                place stays read-only where no overlay of it can be had.
    live        No overlay: the worktree itself, read-only, as it is at every moment; an overlay does not show
                what is changed below it later. For a process that outlives a run, and runs none itself.
    opens       Who hears of the files that are opened in it, where somebody wants to know.
    """

    __slots__ = (
        "decoys",
        "fixed",
        "laid",
        "live",
        "masked",
        "needed",
        "network",
        "opens",
        "placed",
        "removed",
        "root",
        "shadows",
        "upper",
        "work",
        "writable",
    )

    def __init__(self, root: str, upper: str, work: str, **more: Unpack[_More]) -> None:
        self.root = root
        self.upper = upper
        self.work = work
        self.laid = more.pop("laid", ())
        self.removed = more.pop("removed", ())
        self.fixed = more.pop("fixed", ())
        self.masked = more.pop("masked", ())
        self.decoys = more.pop("decoys", ())
        self.writable = more.pop("writable", ())
        self.needed = more.pop("needed", ())
        self.placed = more.pop("placed", ())
        self.shadows = more.pop("shadows", ())
        self.network = more.pop("network", "loopback")
        self.live = more.pop("live", False)
        self.opens = more.pop("opens", None)
        if more:
            raise HarnessError(f"a sandbox has no {', '.join(more)}")

    def but(self, **changed: Any) -> Confinement:
        return Confinement(**({name: getattr(self, name) for name in self.__slots__} | changed))


def inside(path: str, folder: str) -> bool:
    """Both canonical; a folder is inside itself."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def check_confinement(confinement: Confinement) -> Confinement:
    """The same with every path canonical; mistakes of ours are found here, before there is a child."""
    made = confinement.but(
        root=os.path.realpath(confinement.root),
        upper=os.path.realpath(confinement.upper),
        work=os.path.realpath(confinement.work),
        laid=_canonical(confinement.laid),
        masked=_canonical(confinement.masked),
        decoys=tuple((os.path.realpath(decoy), os.path.realpath(path)) for decoy, path in confinement.decoys),
        writable=_canonical(confinement.writable),
        needed=_canonical(confinement.needed),
    )
    decoys = [decoy for decoy, _ in made.decoys]
    besides = [folder for folder, _ in made.placed]
    besides += [folder for below, _, upper, work in made.shadows for folder in (below, upper, work)]
    for folder in (made.root, made.upper, made.work, *made.laid, *made.writable, *decoys, *besides):
        if not os.path.isdir(folder):
            raise HarnessError(f"the sandbox needs the folder {folder!r}")
    for layer in (made.upper, made.work, *made.laid, *decoys):
        for other in (made.root, *made.writable):
            if inside(layer, other) or inside(other, layer):
                raise HarnessError(f"the sandbox's folder {layer!r} and {other!r} must not hold one another")
    for folder in made.writable:
        if inside(folder, made.root) or inside(made.root, folder):
            raise HarnessError(f"{folder!r} cannot be writable: it holds the worktree, or is in it")
    for path in (*made.removed, *made.fixed):
        if path.startswith("/") or {"", ".", ".."} & set(path.split("/")):
            raise HarnessError(f"{path!r} is no path below the worktree's root")
    return made


def _canonical(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.realpath(path) for path in paths)
