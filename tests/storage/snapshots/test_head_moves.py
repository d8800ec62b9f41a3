from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.paths import FILE, Entry
from verdigris.storage.repository import Head, find_repository, head
from verdigris.storage.snapshots.head_moves import HeadMove, before_own_commits, find_unmoved, move_since

if TYPE_CHECKING:
    from pathlib import Path


def save(repo: GitRepo, path: str, data: str | bytes, message: str = "work") -> str:
    repo.write(path, data)
    return repo.commit(message)


def here(repo: GitRepo) -> Head:
    return head(find_repository(repo.root))


def since(repo: GitRepo, old: Head) -> HeadMove:
    """The answer, which must leave the user's git folder as it was."""
    users = repo.fingerprint()
    move = move_since(find_repository(repo.root), old)
    assert repo.fingerprint() == users
    return move


def moved(*paths: str) -> HeadMove:
    return HeadMove("moved", frozenset(paths))


@pytest.fixture
def forked(repo: GitRepo) -> GitRepo:
    """`main` with base.py and ours.py, `side` with theirs.py and an edited base.py; HEAD at `main`."""
    save(repo, "base.py", "base\n")
    repo.git("switch", "--quiet", "--create", "side")
    repo.write("base.py", "base of side\n")
    save(repo, "theirs.py", "theirs\n")
    repo.git("switch", "--quiet", "main")
    save(repo, "ours.py", "ours\n")
    return repo


def test_nothing_happened(forked: GitRepo) -> None:
    assert since(forked, here(forked)) == HeadMove("none")


def test_a_new_branch_at_the_same_commit_is_nothing(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("switch", "--quiet", "--create", "another")
    assert since(forked, old) == HeadMove("none")


def test_commits_and_amendments_made_here_are_plain(forked: GitRepo) -> None:
    old = here(forked)
    save(forked, "new.py", "new")
    save(forked, "newer.py", "newer", message="subject: with a colon")
    forked.write("newer.py", "amended")
    forked.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    assert since(forked, old) == HeadMove("commit")


def test_the_first_commit_is_plain(repo: GitRepo) -> None:
    old = here(repo)
    save(repo, "a.py", "a")
    assert since(repo, old) == HeadMove("commit")


def test_a_switch_brings_what_differs(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("switch", "--quiet", "side")
    assert since(forked, old) == moved("base.py", "theirs.py", "ours.py")


def test_switching_there_and_back_is_nothing(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("switch", "--quiet", "side")
    forked.git("switch", "--quiet", "main")
    assert since(forked, old) == HeadMove("none")
    save(forked, "a.py", "a")
    assert since(forked, old) == HeadMove("commit")


def test_a_merge_brings_the_other_side_only(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("merge", "--quiet", "--no-edit", "side")
    assert since(forked, old) == moved("base.py", "theirs.py")


def test_a_merge_concluded_by_a_commit_is_a_move(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("merge", "--quiet", "--no-commit", "side")
    forked.git("commit", "--quiet", "--no-edit")
    assert since(forked, old) == moved("base.py", "theirs.py")


def test_what_was_edited_or_deleted_after_the_move_did_not_come_with_it(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("switch", "--quiet", "side")
    forked.write("base.py", "edited since\n")
    (forked.root / "theirs.py").unlink()
    forked.write("ours.py", "back again\n")
    assert since(forked, old) == moved()


def test_what_was_committed_here_in_the_same_stretch_is_left_out(forked: GitRepo) -> None:
    old = here(forked)
    save(forked, "mine.py", "mine")
    forked.git("switch", "--quiet", "side")
    save(forked, "theirs.py", "mine now")
    forked.git("switch", "--quiet", "main")
    forked.git("merge", "--quiet", "--no-edit", "side")
    move = since(forked, old)
    assert (move.kind, sorted(move.paths)) == ("moved", ["base.py"])
    blobs = {path: forked.git("rev-parse", f"HEAD:{path}") for path in ("mine.py", "theirs.py")}
    assert {path: entry and entry.blob for path, entry in move.mixed.items()} == blobs


def test_of_what_was_committed_here_in_the_same_stretch_the_last_is_told(forked: GitRepo) -> None:
    old = here(forked)
    save(forked, "base.py", "first\n")
    save(forked, "base.py", "second\n")
    (forked.root / "ours.py").unlink()
    forked.commit("deleted")
    mine = forked.git("rev-parse", "HEAD:base.py")
    forked.git("merge", "--quiet", "--no-edit", "--strategy-option", "theirs", "side")
    move = since(forked, old)
    assert (sorted(move.paths), move.mixed["ours.py"]) == (["theirs.py"], None)
    assert move.mixed["base.py"] == Entry("base.py", FILE, mine)


def test_a_fast_forward_pull_from_another_clone(forked: GitRepo, tmp_path: Path) -> None:
    clone = forked.clone(tmp_path / "clone")
    old = here(clone)
    save(forked, "pulled.py", "pulled")
    clone.git("pull", "--quiet", "--ff-only")
    assert since(clone, old) == moved("pulled.py")


def test_a_rebase_brings_what_it_was_rebased_onto(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("rebase", "--quiet", "side")
    assert since(forked, old) == moved("base.py", "theirs.py")


def test_a_hard_reset_takes_files_away_and_a_soft_one_does_not(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("reset", "--quiet", "--soft", "HEAD~1")
    assert since(forked, old) == moved()
    forked.git("reset", "--quiet", "--hard", "HEAD")
    assert since(forked, old) == moved("ours.py")


def test_a_stash_does_not_move_head(forked: GitRepo) -> None:
    old = here(forked)
    forked.write("base.py", "stashed")
    forked.git("stash", "push", "--quiet")
    assert since(forked, old) == HeadMove("none")
    forked.git("stash", "pop", "--quiet")
    assert since(forked, old) == HeadMove("none")


def test_a_detached_head_moves_like_any_other(forked: GitRepo) -> None:
    forked.git("switch", "--quiet", "--detach", "side")
    old = here(forked)
    save(forked, "loose.py", "loose")
    assert since(forked, old) == HeadMove("commit")
    forked.git("checkout", "--quiet", "HEAD~1")
    assert since(forked, old) == HeadMove("none")
    forked.git("checkout", "--quiet", "HEAD~1")
    assert since(forked, old) == moved("base.py", "theirs.py")


def test_an_orphan_branch_takes_everything_away(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("switch", "--quiet", "--orphan", "empty")
    assert since(forked, old) == moved("base.py", "ours.py")
    unborn = here(forked)
    forked.git("switch", "--quiet", "side")
    assert since(forked, unborn) == moved("base.py", "theirs.py")


@pytest.mark.parametrize("lost", ["commit", "reflog"])
def test_where_history_is_lost_all_that_is_clean_may_have_come(forked: GitRepo, lost: str) -> None:
    old = Head("main", "1" * 40) if lost == "commit" else Head("main", forked.git("rev-parse", "main~1"))
    if lost == "reflog":
        (forked.root / ".git/logs/HEAD").unlink()
    forked.write("base.py", "edited")
    assert since(forked, old) == moved("ours.py")


def test_a_reflog_with_a_gap_proves_nothing(forked: GitRepo) -> None:
    old = here(forked)
    save(forked, "undone.py", "undone")
    forked.git("reset", "--quiet", "--hard", "HEAD~1")
    forked.git("reset", "--quiet", "--hard", "side")
    save(forked, "mine.py", "mine")
    log = forked.root / ".git/logs/HEAD"
    log.write_text(
        "".join(line for line in log.read_text().splitlines(keepends=True) if "\treset:" not in line)
    )
    assert since(forked, old).kind == "moved"


def test_a_damaged_reflog_proves_nothing(forked: GitRepo) -> None:
    old = here(forked)
    save(forked, "mine.py", "mine")
    log = forked.root / ".git/logs/HEAD"
    log.write_bytes(log.read_bytes() + b"\xff\n")
    assert since(forked, old) == moved("mine.py")


def test_the_users_conversions_decide_what_is_clean(forked: GitRepo) -> None:
    (forked.home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n")
    old = here(forked)
    forked.git("switch", "--quiet", "side")
    assert forked.read("theirs.py") == b"theirs\r\n"
    assert since(forked, old) == moved("base.py", "theirs.py", "ours.py")


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_flag_in_the_users_index_hides_no_change(forked: GitRepo, flag: str) -> None:
    old = here(forked)
    forked.git("switch", "--quiet", "side")
    forked.git("update-index", flag, "theirs.py")
    forked.write("theirs.py", "edite!\n")
    assert since(forked, old) == moved("base.py", "ours.py")


def test_neither_hook_nor_monitor_is_run(forked: GitRepo) -> None:
    hook = forked.write("hooks/post-index-change", "#!/bin/sh\ntouch called\n", executable=True)
    forked.git("config", "core.hooksPath", str(hook.parent))
    old = here(forked)
    forked.git("switch", "--quiet", "side")
    (forked.root / "called").unlink()
    forked.git("config", "core.fsmonitor", str(hook))
    since(forked, old)
    assert not (forked.root / "called").exists()


def test_a_file_behind_a_link_is_not_clean(forked: GitRepo) -> None:
    old = here(forked)
    forked.git("switch", "--quiet", "side")
    save(forked, "folder/a.py", "a")
    forked.git("switch", "--quiet", "main")
    forked.git("switch", "--quiet", "side")
    (forked.root / ".git/logs/HEAD").unlink()
    (forked.root / "folder").rename(forked.root / "real")
    (forked.root / "folder").symlink_to("real")
    assert since(forked, old) == moved("base.py", "theirs.py", "ours.py")


def test_odd_names_modes_and_links_come_along(repo: GitRepo) -> None:
    odd = os.fsdecode(b'odd \xff\n".py')
    save(repo, "a.py", "a")
    repo.git("switch", "--quiet", "--create", "side")
    repo.write("run", "x", executable=True)
    (repo.root / "link").symlink_to("a.py")
    save(repo, odd, "odd")
    repo.git("switch", "--quiet", "main")
    old = here(repo)
    repo.git("switch", "--quiet", "side")
    assert since(repo, old) == moved("run", "link", odd)
    (repo.root / "run").chmod(0o644)
    assert since(repo, old) == moved("link", odd)


def test_a_linked_worktree_has_a_head_of_its_own(forked: GitRepo, tmp_path: Path) -> None:
    forked.git("worktree", "add", "--quiet", "-b", "third", str(tmp_path / "linked"), "main")
    linked = GitRepo(tmp_path / "linked", forked.home)
    old = here(linked)
    save(forked, "a.py", "a")
    assert since(linked, old) == HeadMove("none")
    linked.git("merge", "--quiet", "--no-edit", "side")
    assert since(linked, old) == moved("base.py", "theirs.py")


def test_a_sha256_repository_moves_the_same(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", object_format="sha256")
    save(repo, "a.py", "a")
    assert since(repo, Head("main", "1" * 64)) == moved("a.py")


def test_a_submodule_is_no_path_that_came(repo: GitRepo, tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner")
    save(inner, "a.py", "a")
    save(repo, "a.py", "a")
    old = here(repo)
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    repo.commit()
    (repo.root / ".git/logs/HEAD").unlink()
    assert since(repo, old) == moved(".gitmodules")


def test_where_head_was_before_the_last_commits_made_here(forked: GitRepo) -> None:
    found, start = find_repository(forked.root), forked.head()
    forked.git("reset", "--quiet", "--hard", "side")
    base = forked.head()
    save(forked, "a.py", "a")
    save(forked, "b.py", "b")
    assert before_own_commits(found, 0) == base != start
    assert before_own_commits(found, 2**40) == forked.head()


def test_before_the_first_commit_head_was_nowhere(repo: GitRepo) -> None:
    save(repo, "a.py", "a")
    assert before_own_commits(find_repository(repo.root), 0) is None


def test_what_another_commit_holds_alike(forked: GitRepo) -> None:
    found = find_repository(forked.root)
    asked = frozenset({"base.py", "ours.py", "nowhere.py"})
    assert find_unmoved(found, forked.git("rev-parse", "side"), asked) == {"nowhere.py"}
    assert find_unmoved(found, forked.git("rev-parse", "main~1"), asked) == {"base.py", "nowhere.py"}
    assert find_unmoved(found, "1" * 40, asked) == frozenset()
