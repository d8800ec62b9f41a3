"""State files live on a branch of their own, which nobody checks out, and which people edit and push."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.drivers.loop.branches.memory import (
    BRANCH,
    MemoryPlace,
    StateDeferred,
    StateWritten,
    read_state,
    see_state,
    write_state,
)
from verdigris.drivers.loop.branches.remote import GitRemote, Pushed, Unreachable

FILE = """\
## ⚙️ Machine State

| Field | Value |
|-------|-------|
| Iteration Count | 1 |
| Best Metric | 3 |
| Paused | false |
"""
NEXT = FILE.replace("Count | 1", "Count | 2").replace("Metric | 3", "Metric | 4")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = make_repo(tmp_path / "repo")
    made.write("a.py", "x = 1\n")
    made.commit()
    return made


@pytest.fixture
def shared(repo: GitRepo, tmp_path: Path) -> MemoryPlace:
    repo.git("init", "--quiet", "--bare", str(tmp_path / "origin.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    return MemoryPlace(remote=GitRemote("origin", back_off=(0,), wait=lambda _: None))


def written(repo: GitRepo, text: str, place: MemoryPlace | None = None) -> StateWritten:
    found = write_state(repo.root, "port", text, "port: an iteration", place)
    assert isinstance(found, StateWritten), found
    return found


def edit(repo: GitRepo, where: Path, old: str, new: str, *, amend: bool = False) -> None:
    """As a person does it: check the branch out, change the file, commit."""
    repo.git("worktree", "add", "--quiet", str(where), BRANCH)
    person = GitRepo(where, repo.home)
    person.write("port.md", person.read("port.md").decode().replace(old, new))
    person.git("commit", "--quiet", "--all", *(("--amend", "--no-edit") if amend else ("-m", "by hand")))
    repo.git("worktree", "remove", str(where))


def test_a_file_is_written_beside_others_and_the_worktree_stays_as_it_is(repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    assert read_state(repo.root, "port") == ""
    write_state(repo.root, "port", "# port\n", "port: iteration 1")
    write_state(repo.root, "sort", "# sort ✅\n", "sort: iteration 1")
    write_state(repo.root, "port", "# port, again\n", "port: iteration 2")
    assert read_state(repo.root, "port") == "# port, again\n"
    assert read_state(repo.root, "sort") == "# sort ✅\n"
    assert repo.git("log", "--format=%s", BRANCH).splitlines() == [
        "port: iteration 2",
        "sort: iteration 1",
        "port: iteration 1",
    ]
    assert (repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain")) == (head, "")


@pytest.mark.parametrize("amend", [False, True])
def test_an_edit_of_a_person_is_seen_against_what_the_loop_wrote_and_stays(
    repo: GitRepo, tmp_path: Path, *, amend: bool
) -> None:
    written(repo, FILE)
    edit(repo, tmp_path / "hand", "Paused | false", "Paused | true", amend=amend)
    seen = see_state(repo.root, "port")
    assert seen.base == FILE
    assert seen.text == FILE.replace("Paused | false", "Paused | true")
    assert written(repo, NEXT).text == NEXT.replace("Paused | false", "Paused | true")


def test_what_was_taken_in_once_is_the_loops_to_change_again(repo: GitRepo, tmp_path: Path) -> None:
    written(repo, FILE)
    edit(repo, tmp_path / "hand", "Paused | false", "Paused | true")
    paused = FILE.replace("Paused | false", "Paused | true")
    assert written(repo, paused).text == paused
    assert see_state(repo.root, "port").base == paused
    assert written(repo, NEXT).text == NEXT


def test_a_file_that_the_loop_never_wrote_is_its_own_base(repo: GitRepo, tmp_path: Path) -> None:
    written(repo, FILE)
    repo.git("update-ref", "-d", "refs/tdd/memory/port")
    tree = repo.git("rev-parse", f"{BRANCH}^{{tree}}")
    repo.git("update-ref", f"refs/heads/{BRANCH}", repo.git("commit-tree", tree, "-m", "found in the wild"))
    assert see_state(repo.root, "port").base == FILE
    assert written(repo, NEXT).text == NEXT


def test_the_same_text_again_makes_no_commit(repo: GitRepo) -> None:
    written(repo, FILE)
    before = repo.git("rev-parse", BRANCH)
    assert written(repo, FILE).text == FILE
    assert repo.git("rev-parse", BRANCH) == before


def test_a_branch_that_a_person_deleted_is_made_again_and_that_is_said(repo: GitRepo) -> None:
    written(repo, FILE)
    repo.git("branch", "-D", BRANCH)
    found = written(repo, NEXT)
    assert found.text == NEXT
    assert found.notes == (f"port.md was gone from {BRANCH} and is written anew",)


def test_many_writers_at_once_lose_nothing(repo: GitRepo) -> None:
    names = [f"program{number}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: write_state(repo.root, name, FILE, name), names))
    assert [read_state(repo.root, name) for name in names] == [FILE] * 6


def test_a_checkout_with_open_changes_is_left_alone_and_nothing_is_lost(
    repo: GitRepo, tmp_path: Path
) -> None:
    written(repo, FILE)
    repo.git("worktree", "add", "--quiet", str(tmp_path / "hand"), BRANCH)
    (tmp_path / "hand/port.md").write_text("in the middle of it\n")
    found = write_state(repo.root, "port", NEXT, "x")
    assert isinstance(found, StateDeferred)
    assert str(tmp_path / "hand") in found.why
    assert (tmp_path / "hand/port.md").read_text() == "in the middle of it\n"
    GitRepo(tmp_path / "hand", repo.home).git("checkout", "--quiet", "port.md")
    assert written(repo, NEXT).text == NEXT
    assert (tmp_path / "hand/port.md").read_text() == NEXT


# -- with a remote ----------------------------------------------------------------------------


def test_edits_that_people_pushed_come_back_and_win(
    repo: GitRepo, shared: MemoryPlace, tmp_path: Path
) -> None:
    assert isinstance(written(repo, FILE, shared).push, Pushed)
    other = repo.clone(tmp_path / "clone")
    other.git("remote", "set-url", "origin", str(tmp_path / "origin.git"))
    other.git("fetch", "--quiet")
    other.git("switch", "--quiet", BRANCH)
    other.write(
        "port.md", FILE.replace("Paused | false", "Paused | true").replace("Metric | 3", "Metric | 9")
    )
    other.git("commit", "--quiet", "--all", "-m", "by hand")
    other.git("push", "--quiet")
    assert see_state(repo.root, "port", shared).base == FILE
    assert "Paused | true" in see_state(repo.root, "port", shared).text
    found = written(repo, NEXT, shared)
    assert found.text == NEXT.replace("Paused | false", "Paused | true").replace("Metric | 4", "Metric | 9")
    assert len(found.notes) == 1
    other.git("pull", "--quiet")
    assert other.read("port.md").decode() == found.text


def test_commits_on_both_sides_are_merged_and_none_is_lost(
    repo: GitRepo, shared: MemoryPlace, tmp_path: Path
) -> None:
    written(repo, FILE, shared)
    other = repo.clone(tmp_path / "clone")
    other.git("remote", "set-url", "origin", str(tmp_path / "origin.git"))
    other.git("fetch", "--quiet")
    other.git("switch", "--quiet", BRANCH)
    other.write("port.md", FILE.replace("Paused | false", "Paused | true"))
    other.write("notes/mine.txt", "keep\n")
    theirs = other.commit("by hand")
    (tmp_path / "origin.git").rename(tmp_path / "away.git")
    found = written(repo, NEXT, shared)
    assert isinstance(found.push, Unreachable)
    (tmp_path / "away.git").rename(tmp_path / "origin.git")
    other.git("push", "--quiet")
    merged = see_state(repo.root, "port", shared)
    assert merged.base == NEXT
    assert merged.text == NEXT.replace("Paused | false", "Paused | true")
    assert repo.git("show", f"{BRANCH}:notes/mine.txt") == "keep"
    repo.git("merge-base", "--is-ancestor", theirs, BRANCH)


def test_a_remote_that_is_gone_is_a_value_and_the_next_time_pushes_all(
    repo: GitRepo, shared: MemoryPlace, tmp_path: Path
) -> None:
    written(repo, FILE, shared)
    shutil.move(tmp_path / "origin.git", tmp_path / "away.git")
    found = written(repo, NEXT, shared)
    assert isinstance(found.push, Unreachable)
    assert read_state(repo.root, "port") == NEXT
    shutil.move(tmp_path / "away.git", tmp_path / "origin.git")
    assert isinstance(written(repo, NEXT, shared).push, Pushed)
    bare = GitRepo(tmp_path / "origin.git", repo.home)
    assert bare.git("show", f"{BRANCH}:port.md") == NEXT.strip()


def test_a_branch_that_was_deleted_on_the_remote_is_pushed_again(
    repo: GitRepo, shared: MemoryPlace, tmp_path: Path
) -> None:
    written(repo, FILE, shared)
    GitRepo(tmp_path / "origin.git", repo.home).git("branch", "-D", BRANCH)
    assert isinstance(written(repo, NEXT, shared).push, Pushed)


def test_a_fresh_clone_knows_what_the_loop_wrote(repo: GitRepo, shared: MemoryPlace, tmp_path: Path) -> None:
    written(repo, FILE, shared)
    edit(repo, tmp_path / "hand", "Paused | false", "Paused | true")
    repo.git("push", "--quiet", "origin", BRANCH)
    fresh = repo.clone(tmp_path / "fresh")
    fresh.git("remote", "set-url", "origin", str(tmp_path / "origin.git"))
    seen = see_state(fresh.root, "port", shared)
    assert (seen.base, "Paused | true" in seen.text) == (FILE, True)
