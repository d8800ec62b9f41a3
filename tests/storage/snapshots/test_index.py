from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from support.damage import empty, flip, make_folder, remove, truncate
from support.workspaces import classify
from verdigris.core.errors import StorageError
from verdigris.core.paths import PathClass
from verdigris.storage.git import Git
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots import index, listing
from verdigris.storage.snapshots.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from support.gitrepo import GitRepo


WRITE_TREE = index._write_tree


@pytest.fixture
def by_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a worktree that is too large to be listed."""
    monkeypatch.setattr(listing, "LIMIT", 0)


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


@pytest.mark.usefixtures("by_git")
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


@pytest.mark.usefixtures("by_git")
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

    def watched(git: Git) -> str:
        hashed.append(path.read_bytes())
        return WRITE_TREE(git)

    monkeypatch.setattr(index, "_write_tree", watched)
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"before the second"
    assert hashed == [b"before the second"]


@pytest.mark.usefixtures("by_git")
def test_a_file_that_vanishes_while_it_is_hashed_is_not_recorded(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    monkeypatch.setattr(index, "let_the_clock_tick", lambda _: path.unlink(missing_ok=True))
    assert workspace.files(workspace.snapshot()) == ()


@pytest.mark.usefixtures("by_git")
def test_a_file_that_never_rests_is_said(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo.write("src/a.py", "a")
    monkeypatch.setattr(index, "let_the_clock_tick", lambda _: path.write_text(path.read_text() + "a"))
    with pytest.raises(StorageError, match="faster"):
        workspace.snapshot()


@pytest.mark.usefixtures("by_git")
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


@pytest.mark.usefixtures("by_git")
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


@pytest.mark.usefixtures("by_git")
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
    git = workspace.git
    assert index._in_bulk(git, index.BULK) != ()
    monkeypatch.setattr(index, "PACKS_IN_BULK", (99, 0))
    assert index._in_bulk(git, index.BULK) == ()


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
    path.with_name("link").symlink_to("a.py")  # so that git makes the first tree
    real = index.snapshot

    def changed_before_and_after(
        git: Git, own: Path, keep: Callable[[str], PathClass], seen: Collection[str]
    ) -> str:
        path.write_text("b")
        tree = real(git, own, keep, seen)
        path.write_text("c")
        return tree

    with monkeypatch.context() as patched:
        patched.setattr(index, "snapshot", changed_before_and_after)
        assert workspace.read(workspace.snapshot(), "src/a.py") == b"b"
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"c"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("vendor/.git/HEAD", id="a nested repository"),
        pytest.param("src/venv", id="a file with the name of an environment"),
    ],
)
def test_git_is_asked_where_a_look_is_not_enough(
    path: str, repo: GitRepo, workspace: Workspace, asked: Asked
) -> None:
    repo.write(path, "x")
    workspace.snapshot()
    assert asked.during(workspace) > 0


def test_git_is_asked_in_a_large_worktree(
    workspace: Workspace, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "LIMIT", 1)
    workspace.snapshot()
    assert asked.during(workspace) > 0


def test_git_is_asked_while_the_next_write_may_get_the_same_stamp(repo: GitRepo) -> None:
    """As on a disk that stamps by the second; an old stamp cannot come again."""
    repo.write("src/a.py", "a")
    now = time.time_ns()
    second = now // index.SECOND
    assert listing._may_share_stamp(second * index.SECOND, second)
    assert not listing._may_share_stamp(second * index.SECOND, second + 1)
    assert not listing._may_share_stamp(second * index.SECOND + 1, second)
    assert listing.list_worktree(str(repo.root), classify, now) is not None


def test_what_packages_fill_is_one_entry(repo: GitRepo) -> None:
    repo.write("package.json", "{}")
    repo.write("node_modules/left/index.js", "1")
    found = listing.list_worktree(str(repo.root), classify, time.time_ns())
    assert found is not None
    assert sorted(found) == ["node_modules", "package.json"]


def test_what_the_store_has_lost_is_made_again(repo: GitRepo, workspace: Workspace, asked: Asked) -> None:
    tree = workspace.snapshot()
    (find_repository(repo.root).control / "store/objects" / tree[:2] / tree[2:]).unlink()
    assert asked.during(workspace) > 0


def test_a_look_tells_a_rewritten_file_apart(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("a")
    before = index.look(tmp_path, "a")
    assert index.look(tmp_path, "a") == before
    path.with_name("b").write_text("b")
    path.with_name("b").replace(path)
    os.utime(path, ns=(path.stat().st_atime_ns, before[1] if before else 0))
    assert index.look(tmp_path, "a") != before
    assert index.look(tmp_path, "none") is None


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    looks = {"odd \udcff\n": (1, 2, 3, 4, 5), "": ()}
    index.save(tmp_path / "fresh", looks)
    assert index.load(tmp_path / "fresh") == looks
    assert index.load(tmp_path / "none") == {}


@pytest.mark.parametrize("damaged", ["{", "[]", "3", '{"a": 1}'])
def test_a_damaged_record_is_as_good_as_none(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "fresh").write_text(damaged)
    assert index.load(tmp_path / "fresh") == {}


def test_a_look_grows_old_with_its_second() -> None:
    looks: dict[str, index.Look] = {
        "old": (index.SECOND - 1,),
        "young": (index.SECOND,),
        "future": (index.SECOND * 9,),
    }
    assert index.young_entries(looks, index.SECOND + 5).keys() == {"young", "future"}


@pytest.mark.usefixtures("by_git")
@pytest.mark.parametrize("how", [truncate, flip, empty, remove, make_folder])
@pytest.mark.parametrize("name", ["index", "tree", "fresh.json"])
def test_a_damaged_index_is_made_again(
    repo: GitRepo, workspace: Workspace, name: str, how: Callable[[Path], None]
) -> None:
    repo.write("src/a.py", "1")
    before = workspace.snapshot()
    how(find_repository(repo.root).private / name)
    assert workspace.snapshot() == before
    repo.write("src/a.py", "2")
    assert workspace.snapshot() != before
    repo.write("src/a.py", "1")
    assert workspace.snapshot() == before
