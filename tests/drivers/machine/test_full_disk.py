"""A disk that is full in the middle of a run, and has room again."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.machines import make_kata
from verdigris.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", os.fspath(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk / "cache"))
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_ends_the_run_and_with_room_it_goes_on(disk: Path) -> None:
    kata = make_kata(disk / "project")
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(free.f_bavail * free.f_frsize - 100_000))
    with pytest.raises(StorageError, match="No space left"):
        kata.run(2)
    assert kata.subjects() == []
    (disk / "filler").unlink()
    assert kata.project.log.verify().whole
    assert kata.run(2).outcome == "steps-made"
    assert kata.subjects() == ["test: an empty string is zero", "feat: the empty string"]
    assert kata.repo.git("status", "--porcelain") == ""
