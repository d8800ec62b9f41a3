from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import HarnessError
from verdigris.sandbox.confinement import (
    Confinement,
    check_confinement,
    is_inside,
    list_mounts,
    parse_mount,
    points_below,
)
from verdigris.sandbox.syscalls import MS_NODEV, MS_RDONLY, MS_RELATIME

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def good(tmp_path: Path) -> Confinement:
    for name in ("root/src", "upper/x", "work", "laid", "home"):
        (tmp_path / name).mkdir(parents=True)
    root, upper, work = (str(tmp_path / name) for name in ("root", "upper", "work"))
    return Confinement(root, upper, work)


def test_paths_become_canonical(good: Confinement, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("root")
    root = str(tmp_path.resolve() / "root")
    held = f"{tmp_path}/link/held"
    made = check_confinement(
        Confinement(f"{tmp_path}/link", good.upper, good.work, masked=(held,), needed=(held,))
    )
    assert (made.root, made.masked, made.needed) == (root, (f"{root}/held",), (f"{root}/held",))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("root", "gone"),
        ("upper", "root/src"),
        ("work", "root"),
        ("upper", "."),
        ("laid", ("root/src",)),
        ("laid", ("gone",)),
        ("writable", ("root/src",)),
        ("writable", (".",)),
        ("writable", ("upper/x",)),
        ("removed", ("/etc/passwd",)),
        ("removed", ("a/../../b",)),
        ("removed", ("",)),
    ],
)
def test_our_own_mistakes(
    good: Confinement, tmp_path: Path, field: str, value: str | tuple[str, ...]
) -> None:
    fields = {name: getattr(good, name) for name in ("root", "upper", "work")}
    if field == "removed":
        fields[field] = value
    elif isinstance(value, str):
        fields[field] = os.path.normpath(tmp_path / value)
    else:
        fields[field] = tuple(os.path.normpath(tmp_path / one) for one in value)
    with pytest.raises(HarnessError):
        check_confinement(Confinement(**fields))


def test_inside() -> None:
    assert is_inside("/a/b", "/a")
    assert is_inside("/a", "/a")
    assert is_inside("/a", "/")
    assert not is_inside("/ab", "/a")


def test_a_line_of_the_kernels_list() -> None:
    line = b"36 35 98:0 / /mnt/a\\040b\\012\\134c ro,nodev,relatime shared:1 - ext4 /dev/x rw\n"
    found = parse_mount(line)
    assert (found.point, found.flags) == ("/mnt/a b\n\\c", MS_RDONLY | MS_NODEV | MS_RELATIME)


def test_this_systems_own() -> None:
    points = [found.point for found in list_mounts()]
    assert "/" in points
    assert set(points_below("/")) == set(points) - {"/"}
    assert points_below("/pro") == ()
