"""A confinement as a value: what a process may see and write; and the mounts that enforce it."""

from __future__ import annotations

import _socket  # a head start is confined before `socket` is loaded
import errno
import fcntl
import os
import sys

from verdigris.core.errors import HarnessError
from verdigris.core.value import replace, value
from verdigris.sandbox import syscalls
from verdigris.sandbox.syscalls import (
    ATTR_NODEV,
    ATTR_RDONLY,
    CLONE_NEWNET,
    CLONE_NEWUTS,
    MS_BIND,
    MS_NODEV,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    mount,
    set_host_name,
    set_mount_attributes,
    unshare,
)

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Literal

    from verdigris.sandbox.memory import Memory
    from verdigris.sandbox.opens import Opens

    Network = Literal["none", "loopback", "host"]

_FLAGS = {
    "ro": syscalls.MS_RDONLY,
    "nosuid": syscalls.MS_NOSUID,
    "nodev": syscalls.MS_NODEV,
    "noexec": syscalls.MS_NOEXEC,
    "noatime": syscalls.MS_NOATIME,
    "nodiratime": syscalls.MS_NODIRATIME,
    "relatime": syscalls.MS_RELATIME,
}


@value
class Mount:
    point: str
    flags: int


def list_mounts() -> tuple[Mount, ...]:
    """Lists mounts from the oldest: a later one hides an earlier one at the same point."""
    with open("/proc/self/mountinfo", "rb") as lines:
        return tuple(parse_mount(line) for line in lines)


def points_below(folder: str) -> tuple[str, ...]:
    prefix = folder.rstrip("/") + "/"
    points = (found.point for found in list_mounts())
    return tuple(point for point in points if point.startswith(prefix) and point != folder)


def parse_mount(line: bytes) -> Mount:
    fields = line.split(b" ")
    flags = 0
    for option in fields[5].decode().split(","):
        flags |= _FLAGS.get(option, 0)
    return Mount(os.fsdecode(_unescape(fields[4])), flags)


def _unescape(name: bytes) -> bytes:
    """Decodes a name in `mountinfo`, where a backslash and three octal digits stand for some characters."""
    first, *rest = name.split(b"\\")
    return first + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)


def open_path(path: str) -> int:
    """A descriptor of what is at a path now.

    Later mounts over the path do not change it; `exec` closes it.
    """
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def path_of_descriptor(fd: int) -> str:
    """A path that leads to a descriptor. It needs no escaping, and no later mount hides it."""
    return f"/proc/self/fd/{fd}"


def mount_overlay(target: str, lower: Sequence[int], upper: int, work: int, *, user_namespace: bool) -> None:
    """Mounts an overlay that nobody needs after its last process ends.

    So it is `volatile`: otherwise the kernel writes the whole disk of `upper` out when the overlay is
    removed, and at each `fsync` in it.
    """
    layers = ":".join(map(path_of_descriptor, lower))
    options = f"lowerdir={layers},upperdir={path_of_descriptor(upper)},workdir={path_of_descriptor(work)}"
    if user_namespace:
        options += ",userxattr"  # `trusted.*` attributes cannot be set in a user namespace
    try:
        mount("overlay", target, "overlay", 0, f"{options},volatile")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # Linux before 5.10 does not know `volatile`; later ones refuse a folder that an earlier volatile
        # overlay has marked.
        remove(f"{path_of_descriptor(work)}/work/incompat")
        mount("overlay", target, "overlay", 0, options)
    _open_to_owner(path_of_descriptor(work))


def _open_to_owner(work: str) -> None:
    """The kernel makes its folders without any permission: nobody but root could copy the repository."""
    for name in ("work", "work/incompat", "work/incompat/volatile"):
        try:
            os.chmod(f"{work}/{name}", 0o700)
        except FileNotFoundError:
            return  # of an overlay that is not volatile


def bind(source: int, target: str) -> None:
    """Mounts what a descriptor leads to at the target, with the mounts below it."""
    mount(path_of_descriptor(source), target, None, MS_BIND | MS_REC)


def mount_tmpfs(target: str, mode: int) -> None:
    mount("tmpfs", target, "tmpfs", 0, f"mode={mode:o}")


def remove(path: str) -> None:
    """Removes a file or a folder with its contents; follows no link, and a missing path is no error."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            for name in os.listdir(path):
                remove(f"{path}/{name}")
            os.rmdir(path)
        else:
            os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return


def seal(writable: Collection[str], devices: Collection[str]) -> None:
    """Makes all mounts read-only, and devices in them unusable, except at the given mount points."""
    try:
        set_mount_attributes("/", put=ATTR_RDONLY | ATTR_NODEV, recursive=True)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        seal_one_by_one(writable, devices)
        return
    for point in writable:
        set_mount_attributes(point, take=ATTR_RDONLY)
    for point in devices:
        set_mount_attributes(point, take=ATTR_NODEV)


def seal_one_by_one(writable: Collection[str], devices: Collection[str]) -> None:
    """Does the same before Linux 5.12. Of several mounts at one point only the last can be reached at all."""
    flags = {found.point: found.flags for found in list_mounts()}
    for point, had in flags.items():
        # The flags it had stay: in a user namespace the kernel refuses to clear them.
        wanted = had | (0 if point in writable else MS_RDONLY) | (0 if point in devices else MS_NODEV)
        mount(None, point, None, MS_REMOUNT | MS_BIND | wanted)


_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_NAME, _REQUEST = 16, 40
"""The bytes of an interface's name, and of a request about it (`struct ifreq`)."""


def enter_network(network: Network) -> None:
    """Enters a new network with a loopback interface or with none; `host` keeps the machine's network."""
    if network == "host":
        return
    unshare(CLONE_NEWNET)
    if network == "loopback":
        control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
        request = b"lo".ljust(_NAME, b"\0") + _IFF_UP.to_bytes(2, sys.byteorder)
        fcntl.ioctl(control, _SIOCSIFFLAGS, request.ljust(_REQUEST, b"\0"))
        control.close()


def enter_host(name: str) -> None:
    """Gives the machine another name for this process, if the system can."""
    try:
        unshare(CLONE_NEWUTS)
        set_host_name(name)
    except OSError:
        return


class ExtraMounts:
    """The mounts beside the worktree.

    Their folders are opened before anything is mounted, and mounted last.
    """

    def __init__(self, confinement: Confinement) -> None:
        self.root = confinement.root
        self.placed = [(path, open_path(folder)) for folder, path in confinement.placed]
        self.shadows = [
            (path, path == folder, open_path(folder), open_path(upper), open_path(work))
            for folder, path, upper, work in confinement.shadows
        ]

    def mount(self, *, user_namespace: bool) -> list[str]:
        """Mounts them, and returns the mount points, which stay writable."""
        points = []
        for path, folder in self.placed:
            self._make_point(path)
            bind(folder, path)
            points.append(path)
        for path, in_place, folder, upper, work in self.shadows:
            self._make_point(path)
            try:
                mount_overlay(path, [folder], upper, work, user_namespace=user_namespace)
            except OSError:
                if in_place:
                    continue  # it stays read-only; a tool that has to write there will report it
                raise
            points.append(path)
        return points

    def _make_point(self, path: str) -> None:
        """Makes the mount point. In the worktree it replaces anything else at the path, such as a link."""
        if is_inside(path, self.root) and not (os.path.isdir(path) and not os.path.islink(path)):
            remove(path)
        os.makedirs(path, exist_ok=True)


@value
class Confinement:
    """What a process may see and write. Paths are absolute unless a field says otherwise."""

    root: str
    """The worktree: an overlay replaces it, so that writes have no effect outside."""
    upper: str
    work: str
    """`upper` and `work` are empty private folders on one file system.

    Writes go to `upper`, which is thrown away.
    """
    memory: Memory | None = None
    """Memory of the run's own, with those of the folders whose paths lead there."""
    laid: tuple[str, ...] = ()
    """Folders whose files replace the worktree's; the first folder wins. They are only read."""
    removed: tuple[str, ...] = ()
    """Paths relative to the root that the run does not find there."""
    fixed: tuple[str, ...] = ()
    """Files relative to the root that the run can read but not write."""
    masked: tuple[str, ...] = ()
    """Paths whose content nobody inside can read."""
    decoys: tuple[tuple[str, str], ...] = ()
    """Pairs (folder, path): the folder is shown at the path, and what is written there goes into it."""
    writable: tuple[tuple[str, str], ...] = ()
    """Pairs (folder, path) outside the root: the folder is mounted at the path, and writes take effect: a
    fresh HOME and TMPDIR.
    """
    needed: tuple[str, ...] = ()
    """Paths that the run reads, such as its interpreter; a temporary folder with such a path
    stays visible.
    """
    hidden: tuple[str, ...] = ()
    """Folders in which the run finds nothing but what it needs; then this holds for temporary ones, too."""
    placed: tuple[tuple[str, str], ...] = ()
    """Pairs (folder, path): the folder is mounted at the path, and writes take effect in it."""
    shadows: tuple[tuple[str, str, str, str], ...] = ()
    """(folder, path, upper, work): the folder is mounted at the path as an overlay, so that writes do not
    change it.

    The path must be below the root, in a writable folder, or exist already. A folder that is mounted at its
    own path stays read-only if it cannot be an overlay.
    """
    network: Network = "loopback"
    host: str = ""
    """The name that the machine has for the run, where it can have another one."""
    processes: bool = False
    """Whether it gets a process table of its own. Only for a child of `spawn`: the table's first process
    has to start the program.
    """
    live: bool = False
    """Shows the worktree itself, read-only, and no overlay, because an overlay does not show later changes
    below it. For a process that lives longer than a run, and makes no run itself.
    """
    opens: Opens | None = None
    """Records the files that are opened in the worktree."""


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is in a folder, or is that folder. Both must be canonical."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def check_confinement(confinement: Confinement) -> Confinement:
    """Returns the confinement with canonical paths. Finds our own mistakes here, before there is a child."""
    made = replace(
        confinement,
        root=os.path.realpath(confinement.root),
        upper=os.path.realpath(confinement.upper),
        work=os.path.realpath(confinement.work),
        laid=_canonical(confinement.laid),
        masked=_canonical(confinement.masked),
        decoys=tuple((os.path.realpath(decoy), os.path.realpath(path)) for decoy, path in confinement.decoys),
        writable=tuple((os.path.realpath(folder), path) for folder, path in confinement.writable),
        needed=_canonical(confinement.needed),
    )
    decoys, writable = ([folder for folder, _ in pairs] for pairs in (made.decoys, made.writable))
    layers = [made.upper, made.work, *made.laid, *decoys]
    besides = [folder for folder, _ in made.placed]
    besides += [folder for below, _, upper, work in made.shadows for folder in (below, upper, work)]
    for folder in (made.root, *layers, *writable, *besides):
        in_memory = made.memory is not None and made.memory.holds(folder)
        if not in_memory and not os.path.isdir(folder):
            raise HarnessError(f"the sandbox needs the folder {folder!r}")
        if folder in made.laid and not in_memory and is_inside(folder, made.root):
            raise HarnessError(f"{folder!r} cannot be laid over the worktree: it is in it")
    for layer in layers:
        for other in (made.root, *writable):
            if is_inside(other, layer) or (other != made.root and is_inside(layer, other)):
                raise HarnessError(f"the sandbox's folder {layer!r} and {other!r} must not hold one another")
    for folder in {path for _, path in made.writable}:
        if is_inside(folder, made.root) or is_inside(made.root, folder):
            raise HarnessError(f"{folder!r} cannot be writable: it holds the worktree, or is in it")
    for path in (*made.removed, *made.fixed):
        if path.startswith("/") or {"", ".", ".."} & set(path.split("/")):
            raise HarnessError(f"{path!r} is no path below the worktree's root")
    return made


def _canonical(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.realpath(path) for path in paths)
