from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from verdigris.core.paths import EXECUTABLE, FILE, LINK
from verdigris.storage.snapshots import disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


@pytest.fixture
def top(root: Path) -> Iterator[int]:
    descriptor = os.open(root, disk.FOLDER)
    yield descriptor
    os.close(descriptor)


def test_what_is_written_is_found(root: Path, top: int) -> None:
    for mode, data in ((FILE, b"text"), (EXECUTABLE, b""), (LINK, b"no\xffwhere")):
        disk.write(top, "a/b/c", mode, data)
        assert disk.look(top, "a/b/c") == disk.FileOnDisk(mode, data)


def test_nothing_folders_and_pipes_are_not_found(root: Path, top: int) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    assert [disk.look(top, path) for path in ("none", "pipe", "folder", "none/x", "pipe/x")] == [None] * 5


def test_a_file_keeps_its_inode_its_hard_links_and_its_other_permissions(root: Path, top: int) -> None:
    (root / "a").write_text("a longer text")
    (root / "a").chmod(0o640)
    os.link(root / "a", root / "b")
    disk.write(top, "a", EXECUTABLE, b"new")
    assert (root / "b").read_bytes() == b"new"
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o750
    disk.set_executable(top, "a", mode=FILE)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


def test_no_link_is_followed_out_of_the_root(root: Path, top: int, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("theirs")
    (root / "link").symlink_to(outside)
    (root / "direct").symlink_to(outside / "a")
    assert disk.look(top, "link/a") is None
    assert disk.find_blocker(top, "link/a") == "link"
    disk.delete(top, "link/a")
    disk.prune(top, "link/a")
    with pytest.raises(disk.Blocked):
        disk.write(top, "link/a", FILE, b"mine")
    disk.write(top, "direct", FILE, b"mine")
    assert (outside / "a").read_text() == "theirs"
    assert not (root / "direct").is_symlink()


def test_below_lists_what_a_folder_holds(root: Path, top: int) -> None:
    (root / "x/y/empty").mkdir(parents=True)
    (root / "x/a").touch()
    (root / "x/y/b").symlink_to("..")
    (root / "file").touch()
    assert sorted(disk.below(top, "x")) == ["x/a", "x/y/b"]
    assert disk.below(top, "file") == disk.below(top, "none") == disk.below(top, "file/x") == []


def test_empty_folders_can_be_deleted_whole_and_others_not(root: Path, top: int) -> None:
    (root / "x/y/z").mkdir(parents=True)
    disk.delete_folders(top, "x")
    assert not (root / "x").exists()
    (root / "x/y").mkdir(parents=True)
    (root / "x/a").touch()
    with pytest.raises(OSError, match="not empty"):
        disk.delete_folders(top, "x")
    assert (root / "x/a").exists()


def test_pruning_goes_up_to_the_first_folder_that_holds_something(root: Path, top: int) -> None:
    (root / "a/b/c").mkdir(parents=True)
    (root / "a/keep").touch()
    disk.prune(top, "a/b/c/gone/file")
    assert sorted(path.name for path in (root / "a").iterdir()) == ["keep"]


@pytest.mark.usefixtures("unprivileged")
def test_a_read_only_file_is_written_and_stays_read_only(root: Path, top: int) -> None:
    (root / "a").write_text("old")
    (root / "a").chmod(0o444)
    disk.write(top, "a", FILE, b"new")
    assert (root / "a").read_bytes() == b"new"
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o444
