"""Makes every mount read-only and without devices, but for those named."""

from __future__ import annotations

import errno

from verdigris.sandbox.mounts import listed
from verdigris.sandbox.syscalls import (
    ATTR_NODEV,
    ATTR_RDONLY,
    MS_BIND,
    MS_NODEV,
    MS_RDONLY,
    MS_REMOUNT,
    mount,
    set_mount_attributes,
)

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Collection


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
    flags = {found.point: found.flags for found in listed()}
    for point, had in flags.items():
        wanted = had | (0 if point in writable else MS_RDONLY) | (0 if point in devices else MS_NODEV)
        mount(None, point, None, MS_REMOUNT | MS_BIND | wanted)
