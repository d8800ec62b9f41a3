"""A snapshot misses no write, whatever the stamps say, and outlives kills and damage."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from support.damage import empty, flip, make_folder, remove, truncate
from support.workspaces import classify, workspace_of
from verdigris.core.errors import StorageError
from verdigris.core.paths import PathClass
from verdigris.storage.git import Git
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots import listing
from verdigris.storage.snapshots.trees import BlobWriter, Trees
from verdigris.storage.snapshots.workspace import Workspace, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.gitrepo import GitRepo


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
        newest = time.clock_gettime_ns(listing.COARSE)
        listing.let_the_clock_tick(newest)
        assert time.clock_gettime_ns(listing.COARSE) > newest


def test_hashing_begins_in_a_later_tick_than_the_newest_change(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    real, seen = listing.let_the_clock_tick, []

    def watched(newest: int) -> None:
        real(newest)
        later = repo.root / "later"
        later.touch()
        seen.append(later.stat().st_ctime_ns > newest == path.stat().st_ctime_ns)
        later.unlink()

    monkeypatch.setattr(listing, "let_the_clock_tick", watched)
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

    monkeypatch.setattr(listing, "let_the_clock_tick", edit)
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"before the second"
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"before the second"


def test_a_file_that_vanishes_while_it_is_hashed_is_not_recorded(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    monkeypatch.setattr(listing, "let_the_clock_tick", lambda _: path.unlink(missing_ok=True))
    assert workspace.files(workspace.snapshot()) == ()


def test_a_file_that_never_rests_is_said(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    monkeypatch.setattr(listing, "let_the_clock_tick", lambda _: path.write_text(path.read_text() + "a"))
    with pytest.raises(StorageError, match="faster"):
        workspace.snapshot()


def test_an_unchanged_tree_is_known_without_being_written(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    stamp = (find_repository(repo.root).private / "listing.json").stat().st_mtime_ns
    assert workspace_of(repo).snapshot() == tree
    assert (find_repository(repo.root).private / "listing.json").stat().st_mtime_ns == stamp


def test_the_lock_of_a_killed_git_does_not_stay_in_the_way(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a", "a")
    workspace.snapshot()
    (find_repository(repo.root).private / "graft-index.lock").write_text("left behind")
    (repo.root / "src/a").unlink()
    repo.write("src/a/b", "b")  # a folder in a file's place: git edits the tree
    assert workspace.read(workspace.snapshot(), "src/a/b") == b"b"


def test_killed_between_tree_and_listing_the_next_snapshot_is_right(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("src/a.py", "a")
    workspace.snapshot()
    repo.write("src/a.py", "b")

    def killed(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(listing, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            workspace.snapshot()
    assert workspace_of(repo).read(workspace_of(repo).snapshot(), "src/a.py") == b"b"


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
    monkeypatch.setattr(listing, "BULK", 3)
    for number in range(3):
        repo.write(f"src/{number}.py", f"number {number}\r\n")
    tree = workspace.snapshot()
    assert workspace.read(tree, "src/2.py") == b"number 2\r\n"
    packs = list((find_repository(repo.root).control / "store/objects/pack").glob("*.pack"))
    assert len(packs) == 1


class Asked:
    """How often git is started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        start = Git.start

        def counted(git: Git, *arguments: str) -> object:
            self.times += 1
            return start(git, *arguments)

        monkeypatch.setattr(Git, "start", counted)

    def during(self, workspace: Workspace) -> int:
        before = self.times
        workspace.snapshot()
        return self.times - before


@pytest.fixture
def asked(repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Asked:
    repo.write("src/a.py", "a")
    workspace.snapshot()
    return Asked(monkeypatch)


def test_a_tree_that_nobody_changed_is_known_without_git(workspace: Workspace, asked: Asked) -> None:
    assert asked.during(workspace) == 0


def test_each_kind_of_change_is_seen(repo: GitRepo, workspace: Workspace) -> None:
    path = repo.write("src/a.py", "a")
    trees = [workspace.snapshot()]

    def changed() -> bool:
        trees.append(workspace.snapshot())
        return trees[-1] not in trees[:-1]

    path.write_text("b")
    assert changed(), "a write of the same size"
    path.chmod(0o755)
    assert changed(), "a mode"
    repo.write("src/new.py")
    assert changed(), "a new file"
    (repo.root / "src/new.py").rename(repo.root / "src/other.py")
    assert changed(), "another name"
    path.unlink()
    path.symlink_to("other.py")
    assert changed(), "a link in a file's place"
    path.unlink()
    assert changed(), "a file that is gone"


def test_what_git_ignores_is_taken_as_soon_as_it_has_a_class(repo: GitRepo) -> None:
    repo.write(".gitignore", "data.txt\n")
    repo.write("data.txt", "1")
    frozen: set[str] = set()
    workspace = Workspace(
        find_repository(repo.root), lambda path: PathClass.TEST if path in frozen else classify(path)
    )
    assert workspace.read(workspace.snapshot(), "data.txt") is None
    frozen.add("data.txt")
    assert workspace.read(workspace.snapshot(), "data.txt") == b"1"


def test_a_change_while_the_snapshot_is_made_is_seen_by_the_next(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    real = Trees.edit

    def changed_after(store: Trees, base: str, edits: Mapping[str, tuple[str, str] | None]) -> str:
        tree = real(store, base, edits)
        path.write_text("c")
        return tree

    with monkeypatch.context() as patched:
        patched.setattr(Trees, "edit", changed_after)
        assert workspace.read(workspace.snapshot(), "src/a.py") == b"a"
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"c"


def test_a_file_that_the_next_write_may_leave_with_its_stamp_is_read_again(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that stamps by the second; an old stamp cannot come again."""
    monkeypatch.setattr(listing, "COARSE_STAMP", 1)
    path = repo.write("src/a.py", "a")
    workspace.snapshot()
    stored: list[bytes | Path] = []
    add = BlobWriter.add

    def noted(blobs: BlobWriter, data: bytes | Path) -> str:
        stored.append(data)
        return add(blobs, data)

    monkeypatch.setattr(BlobWriter, "add", noted)
    workspace.snapshot()
    assert stored == [b"a"]
    young = path.stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: young + 3 * listing.SECOND)
    workspace.snapshot()
    workspace.snapshot()
    assert stored == [b"a", b"a"]


def test_what_packages_fill_is_not_looked_at(repo: GitRepo) -> None:
    repo.write("package.json", "{}")
    repo.write("node_modules/left/listing.js", "1")
    listed = listing.list_worktree(open_store(find_repository(repo.root)), classify, {})
    assert sorted(listed) == ["package.json"]


def test_what_the_store_has_lost_is_made_again(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    for lost in (tree, os.fsdecode(workspace.git.run("rev-parse", f"{tree}:src")).strip()):
        (find_repository(repo.root).control / "store/objects" / lost[:2] / lost[2:]).unlink()
        repo.write("src/b.py", lost)
        assert workspace.read(workspace.snapshot(), "src/a.py") == b"a"


@pytest.mark.parametrize("how", [truncate, flip, empty, remove, make_folder])
def test_a_damaged_listing_is_made_again(
    repo: GitRepo, workspace: Workspace, how: Callable[[Path], None]
) -> None:
    repo.write("src/a.py", "1")
    before = workspace.snapshot()
    how(find_repository(repo.root).private / "listing.json")
    workspace = workspace_of(repo)
    assert workspace.snapshot() == before
    repo.write("src/a.py", "2")
    assert workspace.snapshot() != before
    repo.write("src/a.py", "1")
    assert workspace.snapshot() == before
