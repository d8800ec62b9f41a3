"""The mounts that this process sees, as the kernel lists them."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH123

from __future__ import annotations

import os

from verdigris.sandbox import syscalls

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


def listed() -> tuple[Mount, ...]:
    """In the order they were made: of two with one point, the later hides the earlier."""
    with open("/proc/self/mountinfo", "rb") as lines:
        return tuple(parsed(line) for line in lines)


def points_below(folder: str) -> tuple[str, ...]:
    prefix = folder.rstrip("/") + "/"
    points = (found.point for found in listed())
    return tuple(point for point in points if point.startswith(prefix) and point != folder)


def parsed(line: bytes) -> Mount:
    fields = line.split(b" ")
    flags = 0
    for option in fields[5].decode().split(","):
        flags |= _FLAGS.get(option, 0)
    return Mount(os.fsdecode(_unescaped(fields[4])), flags)


def _unescaped(name: bytes) -> bytes:
    """Blanks, line ends and backslashes stand as three octal digits after a backslash."""
    first, *rest = name.split(b"\\")
    return first + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)
