from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.errors import NotARepository, StorageError
from verdigris.storage.repository import Head, find_repository, head, in_progress, linked_worktrees


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return make_repo(tmp_path / "repo")


def test_the_main_worktree_is_found_from_any_folder_in_it(repo: GitRepo) -> None:
    deep = repo.root / "a b" / "c"
    deep.mkdir(parents=True)
    found = find_repository(deep)
    assert (found.root, found.worktree) == (repo.root.resolve(), "main")
    assert found.git_dir == found.common_dir == repo.root / ".git"
    assert found.control == repo.root / ".git" / "tdd"
    assert found.private == repo.root / ".git" / "tdd" / "worktrees" / "main"


def test_a_linked_worktree_shares_the_common_folder(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit()
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side tree"))
    found = find_repository(tmp_path / "side tree")
    assert found.root == tmp_path / "side tree"
    assert found.common_dir == repo.root / ".git"
    assert found.worktree == found.git_dir.name != "main"
    assert head(found) == Head("side", repo.head())


def test_a_linked_worktree_named_main_is_not_the_main_worktree(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit()
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "main"))
    assert find_repository(tmp_path / "main").private != find_repository(repo.root).private


def test_linked_worktrees_are_listed_though_one_is_gone(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit()
    assert linked_worktrees(find_repository(repo.root)) == ()
    for name in ("a", "b"):
        repo.git("worktree", "add", "-q", "--detach", str(tmp_path / name))
    note = repo.root / ".git/worktrees/b/gitdir"
    note.write_text(os.path.relpath(tmp_path / "b/.git", note.parent))
    shutil.rmtree(tmp_path / "a")
    known = linked_worktrees(find_repository(tmp_path / "b"))
    assert known == (tmp_path / "a", tmp_path / "b")


def test_a_submodule_is_a_repository_of_its_own(repo: GitRepo, tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner")
    inner.commit(a="1")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    found = find_repository(repo.root / "sub")
    assert found.root == repo.root / "sub"
    assert found.common_dir == repo.root / ".git" / "modules" / "sub"
    assert found.worktree == "main"
    assert head(found).commit == inner.head()


def test_a_relative_gitdir_file_is_followed(repo: GitRepo, tmp_path: Path) -> None:
    (repo.root / ".git").rename(tmp_path / "elsewhere")
    (repo.root / ".git").write_text("gitdir: ../elsewhere\n")
    assert find_repository(repo.root).git_dir == tmp_path / "elsewhere"


def test_no_repository_is_said_with_the_next_move(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match="no git repository") as caught:
        find_repository(tmp_path)
    assert "git init" in str(caught.value.hint)


@pytest.mark.parametrize("inside", ["", "objects", "refs/heads"])
def test_a_bare_repository_has_no_worktree(repo: GitRepo, tmp_path: Path, inside: str) -> None:
    repo.git("init", "--quiet", "--bare", str(tmp_path / "bare"))
    with pytest.raises(NotARepository, match="no worktree"):
        find_repository(tmp_path / "bare" / inside)


@pytest.mark.parametrize("inside", [".git", ".git/refs"])
def test_the_git_folder_is_not_a_worktree(repo: GitRepo, inside: str) -> None:
    with pytest.raises(NotARepository, match="no worktree"):
        find_repository(repo.root / inside)


@pytest.mark.parametrize("content", ["gitdir: nowhere\n", "garbage"])
def test_a_broken_gitdir_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    with pytest.raises(NotARepository, match=r"\.git"):
        find_repository(tmp_path)


def test_the_environment_cannot_point_elsewhere(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repo(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    assert find_repository(repo.root).root == repo.root


def test_an_unborn_head_has_a_branch_and_no_commit(repo: GitRepo) -> None:
    assert head(find_repository(repo.root)) == Head("main", None)


def test_head_is_read_from_loose_and_from_packed_refs(repo: GitRepo) -> None:
    commit = repo.commit()
    found = find_repository(repo.root)
    assert head(found) == Head("main", commit)
    repo.git("pack-refs", "--all")
    assert not (repo.root / ".git/refs/heads/main").exists()
    assert head(found) == Head("main", commit)


def test_a_branch_name_may_hold_slashes_and_odd_bytes(repo: GitRepo) -> None:
    branch = os.fsdecode("feature/ü".encode("latin-1"))
    commit = repo.commit()
    repo.git("switch", "--quiet", "--create", branch)
    assert head(find_repository(repo.root)) == Head(branch, commit)


def test_a_detached_head_has_no_branch(repo: GitRepo) -> None:
    commit = repo.commit()
    repo.git("switch", "--quiet", "--detach")
    assert head(find_repository(repo.root)) == Head(None, commit)


def test_a_reftable_is_refused_with_the_way_out(repo: GitRepo) -> None:
    (repo.root / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    with pytest.raises(NotARepository, match="reftable") as caught:
        head(find_repository(repo.root))
    assert "git refs migrate" in str(caught.value.hint)


@pytest.mark.parametrize("pick", ["merge", "cherry-pick", "rebase", "revert"])
def test_an_unfinished_git_command_is_seen(repo: GitRepo, pick: str) -> None:
    repo.commit(a="1")
    repo.git("switch", "--quiet", "--create", "side")
    repo.commit(a="2")
    repo.git("switch", "--quiet", "main")
    repo.commit(a="3")
    found = find_repository(repo.root)
    assert in_progress(found) is None
    with pytest.raises(AssertionError):
        repo.git(pick, "side")
    assert in_progress(found) == pick
    repo.git(pick, "--abort")
    assert in_progress(found) is None


def test_a_bisection_is_seen(repo: GitRepo) -> None:
    repo.commit()
    repo.git("bisect", "start")
    assert in_progress(find_repository(repo.root)) == "bisect"


def test_a_file_that_waits_for_a_writer_holds_nobody_up(repo: GitRepo) -> None:
    found = find_repository(repo.root)
    (repo.root / ".git/HEAD").unlink()
    os.mkfifo(repo.root / ".git/HEAD")
    with pytest.raises(StorageError, match="no plain file"):
        head(found)
