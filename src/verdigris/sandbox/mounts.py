"""Lists mounts, mounts overlays, and makes mounts read-only."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH106, PTH108, PTH112, PTH114, PTH123, PTH208

from __future__ import annotations

import errno
import os

from verdigris.sandbox import syscalls
from verdigris.sandbox.syscalls import (
    ATTR_NODEV,
    ATTR_RDONLY,
    MS_BIND,
    MS_NODEV,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    mount,
    set_mount_attributes,
)

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


_FLAGS = {
    "ro": syscalls.MS_RDONLY,
    "nosuid": syscalls.MS_NOSUID,
    "nodev": syscalls.MS_NODEV,
    "noexec": syscalls.MS_NOEXEC,
    "noatime": syscalls.MS_NOATIME,
    "nodiratime": syscalls.MS_NODIRATIME,
    "relatime": syscalls.MS_RELATIME,
}


class Mount:
    __slots__ = ("flags", "point")

    def __init__(self, point: str, flags: int) -> None:
        self.point = point
        self.flags = flags


def list_mounts() -> tuple[Mount, ...]:
    """In the order they were made: of two with one point, the later hides the earlier."""
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
    """Blanks, line ends and backslashes stand as three octal digits after a backslash."""
    first, *rest = name.split(b"\\")
    return first + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)


def open_path(path: str) -> int:
    """A hold on what is at a path now, whatever is mounted over it later; gone at the exec."""
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def path_of_descriptor(fd: int) -> str:
    """A path by descriptor: no bytes of a name need escaping, and no later mount comes between."""
    return f"/proc/self/fd/{fd}"


def mount_overlay(target: str, lower: Sequence[int], upper: int, work: int, *, user_namespace: bool) -> None:
    """Nobody needs what is written there after the last process in it. Hence `volatile`: else the system
    writes out the whole disk that `upper` is on, when the overlay goes and at each `fsync` in it.
    """
    layers = ":".join(map(path_of_descriptor, lower))
    options = f"lowerdir={layers},upperdir={path_of_descriptor(upper)},workdir={path_of_descriptor(work)}"
    if user_namespace:
        options += ",userxattr"
    try:
        mount("overlay", target, "overlay", 0, f"{options},volatile")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # Linux before 5.10 has it not, and a folder that was in use so is refused as long as it is marked.
        remove(f"{path_of_descriptor(work)}/work/incompat")
        mount("overlay", target, "overlay", 0, options)


def bind(source: int, target: str) -> None:
    mount(path_of_descriptor(source), target, None, MS_BIND | MS_REC)


def mount_tmpfs(target: str, mode: int) -> None:
    mount("tmpfs", target, "tmpfs", 0, f"mode={mode:o}")


def remove(path: str) -> None:
    """Removes whatever is there, without following a link; a missing path is no error."""
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
    """Before Linux 5.12. Only the last mount on a point can be reached, by us as by who is confined."""
    flags = {found.point: found.flags for found in list_mounts()}
    for point, had in flags.items():
        wanted = had | (0 if point in writable else MS_RDONLY) | (0 if point in devices else MS_NODEV)
        mount(None, point, None, MS_REMOUNT | MS_BIND | wanted)
