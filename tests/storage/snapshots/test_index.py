from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import StorageError
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots import index

if TYPE_CHECKING:
    from pathlib import Path

    from support.gitrepo import GitRepo
    from verdigris.storage.git import Git
    from verdigris.storage.snapshots.workspace import Workspace

WRITE_TREE = index._write_tree


def test_a_write_of_the_same_size_is_seen_though_the_mtime_is_put_back(
    repo: GitRepo, workspace: Workspace
) -> None:
    path = repo.write("src/a.py", "0")
    for number in range(20):
        digit = str(number % 10)
        before = path.stat()
        path.write_text(digit)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert workspace.read(workspace.snapshot(), "src/a.py") == digit.encode()


def test_a_tick_is_waited_for() -> None:
    for _ in range(5):
        newest = time.clock_gettime_ns(index.COARSE)
        index.let_the_clock_tick(newest)
        assert time.clock_gettime_ns(index.COARSE) > newest


def test_hashing_begins_in_a_later_tick_than_the_newest_change(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    real, seen = index.let_the_clock_tick, []

    def watched(newest: int) -> None:
        real(newest)
        later = repo.root / "later"
        later.touch()
        seen.append(later.stat().st_ctime_ns > newest == path.stat().st_ctime_ns)
        later.unlink()

    monkeypatch.setattr(index, "let_the_clock_tick", watched)
    for data in "abcdefgh":
        path.write_text(data)
        workspace.snapshot()
    assert seen == [True] * 8


def test_a_file_from_the_future_does_not_hold_a_snapshot_up(repo: GitRepo, workspace: Workspace) -> None:
    path = repo.write("src/a.py", "a")
    for data in ("b", "c"):
        path.write_text(data)
        os.utime(path, (4e9, 4e9))
        assert workspace.read(workspace.snapshot(), "src/a.py") == data.encode()


def test_a_file_that_changes_while_it_is_hashed_is_hashed_again(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    edits = iter(["before the first hashing", "before the second"])

    def edit(_: int) -> None:
        if data := next(edits, None):
            path.write_text(data)

    monkeypatch.setattr(index, "let_the_clock_tick", edit)
    hashed: list[bytes] = []

    def watched(git: Git, private: Path) -> str | None:
        hashed.append(path.read_bytes())
        return WRITE_TREE(git, private)

    monkeypatch.setattr(index, "_write_tree", watched)
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"before the second"
    assert hashed == [b"before the second"]


def test_a_file_that_vanishes_while_it_is_hashed_is_not_recorded(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    monkeypatch.setattr(index, "let_the_clock_tick", lambda _: path.unlink(missing_ok=True))
    assert workspace.files(workspace.snapshot()) == ()


def test_a_file_that_never_rests_is_said(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    monkeypatch.setattr(index, "let_the_clock_tick", lambda _: path.write_text(path.read_text() + "a"))
    with pytest.raises(StorageError, match="faster"):
        workspace.snapshot()


def test_an_unchanged_tree_is_known_without_being_written(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    stamp = (find_repository(repo.root).private / "index").stat().st_mtime_ns
    assert workspace.snapshot() == tree
    assert (find_repository(repo.root).private / "index").stat().st_mtime_ns == stamp


def test_the_lock_of_a_killed_git_does_not_stay_in_the_way(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    private = find_repository(repo.root).private
    private.mkdir(parents=True)
    (private / "index.lock").write_text("left behind")
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"a"


def test_killed_between_index_and_tree_the_next_snapshot_is_right(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("src/a.py", "a")
    workspace.snapshot()
    repo.write("src/a.py", "b")

    def killed(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(index, "_write_tree", killed)
        with pytest.raises(KeyboardInterrupt):
            workspace.snapshot()
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"b"


def test_objects_that_the_store_has_lost_are_written_again(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    workspace.snapshot()
    objects = find_repository(repo.root).control / "store" / "objects"
    shutil.rmtree(objects)
    objects.mkdir()
    repo.write("src/b.py", "b")
    tree = workspace.snapshot()
    assert workspace.read_many(tree, ["src/a.py", "src/b.py"]) == {"src/a.py": b"a", "src/b.py": b"b"}


def test_many_files_at_once_go_into_one_pack(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BULK", 3)
    for number in range(3):
        repo.write(f"src/{number}.py", f"number {number}\r\n")
    tree = workspace.snapshot()
    assert workspace.read(tree, "src/2.py") == b"number 2\r\n"
    packs = list((find_repository(repo.root).control / "store/objects/pack").glob("*.pack"))
    assert len(packs) == 1


def test_an_old_git_is_not_asked_for_packs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    git = workspace._store()
    assert index._in_bulk(git, index.BULK) != ()
    monkeypatch.setattr(index, "PACKS_IN_BULK", (99, 0))
    assert index._in_bulk(git, index.BULK) == ()
