"""A disk that is full in the middle of a run, and has room again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.machines import make_kata
from support.small_disk import fill_disk, small_disk
from verdigris.core.errors import StorageError


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk / "cache"))
        yield disk


def test_a_full_disk_ends_the_run_and_with_room_it_goes_on(disk: Path) -> None:
    kata = make_kata(disk / "project")
    filler = fill_disk(disk, left=100_000)
    with pytest.raises(StorageError, match=r"No space left|Out of diskspace"):  # the second is git's
        kata.run(2)
    assert kata.subjects() == []
    filler.unlink()
    assert kata.project.log.verify().whole
    assert kata.run(2).outcome == "steps-made"
    assert kata.subjects() == ["test: an empty string is zero", "feat: the empty string"]
    assert kata.repo.git("status", "--porcelain") == ""
