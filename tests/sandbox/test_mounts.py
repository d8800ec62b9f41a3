from __future__ import annotations

from verdigris.sandbox.mounts import list_mounts, parse_mount, points_below
from verdigris.sandbox.syscalls import MS_NODEV, MS_RDONLY, MS_RELATIME


def test_a_line_of_the_kernels_list() -> None:
    line = b"36 35 98:0 / /mnt/a\\040b\\012\\134c ro,nodev,relatime shared:1 - ext4 /dev/x rw\n"
    found = parse_mount(line)
    assert (found.point, found.flags) == ("/mnt/a b\n\\c", MS_RDONLY | MS_NODEV | MS_RELATIME)


def test_this_systems_own() -> None:
    points = [found.point for found in list_mounts()]
    assert "/" in points
    assert set(points_below("/")) == set(points) - {"/"}
    assert points_below("/pro") == ()
