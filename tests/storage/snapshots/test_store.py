from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from support.gitrepo import make_repo
from verdigris.core.errors import StorageError
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.workspace import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from support.gitrepo import GitRepo


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_the_store_has_the_repositorys_object_format(tmp_path: Path, object_format: str) -> None:
    found = find_repository(make_repo(tmp_path / "repo", object_format=object_format).root)
    git = open_store(found)
    assert git.git_dir == found.control / "store"
    assert git.run("rev-parse", "--show-object-format").decode().strip() == object_format


def test_a_store_is_made_once_and_whole(repo: GitRepo) -> None:
    found = find_repository(repo.root)
    blob = open_store(found).run("hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    assert open_store(found).run("cat-file", "blob", blob) == b"x"
    assert [path.name for path in found.control.iterdir()] == ["store"]


def test_whoever_loses_the_race_uses_the_winners_store(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_repository(repo.root)
    open_store(found)
    shutil.copytree(found.control / "store", found.control / "winner")
    shutil.rmtree(found.control / "store")
    real_mkdtemp = "tempfile.mkdtemp"

    def overtaken(prefix: str, dir: Path) -> str:  # noqa: A002 - the name is tempfile's
        (found.control / "winner").rename(found.control / "store")
        draft = dir / f"{prefix}draft"
        draft.mkdir()
        return os.fspath(draft)

    monkeypatch.setattr(real_mkdtemp, overtaken)
    (found.control / "winner" / "mark").touch()
    open_store(found)
    assert (found.control / "store" / "mark").exists()
    assert [path.name for path in found.control.iterdir()] == ["store"]


def test_a_place_that_cannot_be_written_is_a_storage_error(repo: GitRepo) -> None:
    found = find_repository(repo.root)
    found.control.write_text("in the way")
    with pytest.raises(StorageError, match="store"):
        open_store(found)
