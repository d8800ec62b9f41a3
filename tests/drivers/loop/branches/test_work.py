"""The branch of a program, while people push to it, rebase it, merge it, delete it, or the remote is gone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from support.turns import CALC, make_world
from verdigris.core.errors import UserError
from verdigris.core.records import Actor
from verdigris.drivers.loop.branches.remote import GitRemote, Pushed, RemoteMoved, Unreachable
from verdigris.drivers.loop.branches.work import (
    BranchStuck,
    WorkBranch,
    leftovers,
    prepare_branch,
    push_branch,
)
from verdigris.drivers.private_worktree import remove_leftovers
from verdigris.storage.project import Project, open_project

pytestmark = pytest.mark.usefixtures("apart")
WORK = "autoloop/port"


@dataclass(frozen=True)
class Loop:
    repo: GitRepo
    folder: Path
    remote: GitRemote | None = None

    @property
    def home(self) -> Project:
        return open_project(self.repo.root, Actor())

    def prepare(self) -> WorkBranch:
        return prepare_branch(self.home, "port", "main", self.remote)

    def iterate(self, path: str, text: str) -> str:
        """What an iteration does to the branch."""
        work = GitRepo(self.prepare().root, self.repo.home)
        work.write(path, text)
        return work.commit(f"[Autoloop: port] {path}")

    def push(self) -> object:
        assert self.remote is not None
        return push_branch(self.home, "port", self.remote)

    def on_main(self, path: str, text: str) -> str:
        self.repo.write(path, text)
        made = self.repo.commit(f"main: {path}")
        if self.remote:
            self.repo.git("push", "--quiet", "origin", "main")
        return made

    def clone(self) -> GitRepo:
        """A person's, on the program's branch."""
        other = GitRepo(self.folder / "person", self.repo.home)
        self.repo.git("clone", "--quiet", "--branch", WORK, str(self.folder / "origin.git"), str(other.root))
        return other

    def person_pushes(self) -> str:
        """A person's commit on the remote."""
        person = self.clone()
        theirs = person_commits(person)
        person.git("push", "--quiet")
        return theirs

    def squash(self) -> None:
        """As a person does it who merges the branch."""
        self.repo.git("merge", "--quiet", "--squash", WORK)
        self.repo.commit("squashed")

    def commit(self, name: str = WORK) -> str:
        return self.repo.git("rev-parse", name)

    def bare(self) -> GitRepo:
        return GitRepo(self.folder / "origin.git", self.repo.home)


def person_commits(person: GitRepo) -> str:
    person.write("mine.txt", "mine\n")
    return person.commit("mine")


@pytest.fixture
def alone(tmp_path: Path) -> Loop:
    """Without a remote."""
    world = make_world(tmp_path / "repo", **{"calc.py": CALC})
    if world.repo.git("status", "--porcelain"):
        world.repo.commit("all of it")
    return Loop(world.repo, tmp_path)


@pytest.fixture
def shared(alone: Loop) -> Loop:
    repo = alone.repo
    repo.git("init", "--quiet", "--bare", "--initial-branch=main", str(alone.folder / "origin.git"))
    repo.git("remote", "add", "origin", str(alone.folder / "origin.git"))
    repo.git("push", "--quiet", "origin", "main")
    return Loop(repo, alone.folder, GitRemote("origin", back_off=(), wait=lambda _: None))


# -- ahead and behind -------------------------------------------------------------------------


def test_a_branch_begins_at_its_base_in_a_worktree_of_its_own(alone: Loop) -> None:
    found = alone.prepare()
    assert (found.branch, found.commit, found.notes) == (WORK, alone.commit("main"), ())
    assert (found.root / "calc.py").read_text() == CALC
    assert alone.repo.git("branch", "--show-current") == "main"
    assert alone.prepare() == found


def test_a_branch_that_is_only_ahead_stays_as_it_is(alone: Loop) -> None:
    made = alone.iterate("a.txt", "a\n")
    assert alone.prepare().commit == made


def test_a_branch_that_is_only_behind_moves_forward(alone: Loop) -> None:
    alone.prepare()
    new = alone.on_main("b.txt", "b\n")
    found = alone.prepare()
    assert (found.commit, (found.root / "b.txt").read_text()) == (new, "b\n")


def test_where_both_went_on_the_base_is_merged_by_the_kernel_even_where_git_knows_nobody(alone: Loop) -> None:
    made = alone.iterate("a.txt", "a\n")
    new = alone.on_main("b.txt", "b\n")
    found = alone.prepare()
    assert found.notes == (f"main is merged into {WORK}",)
    assert alone.repo.git("log", "-1", "--format=%P", WORK).split() == [made, new]
    assert alone.repo.git("log", "-1", "--format=%an", WORK) == "TDD Loop"
    assert (found.root / "b.txt").exists()
    assert alone.prepare() == WorkBranch(found.root, WORK, found.commit, new)


def test_a_conflict_is_said_and_nothing_is_half_done(alone: Loop) -> None:
    made = alone.iterate("calc.py", CALC.replace("a + b", "b + a"))
    alone.on_main("calc.py", CALC.replace("a + b", "sum((a, b))"))
    with pytest.raises(BranchStuck, match=r"^merge conflict in calc\.py$"):
        alone.prepare()
    assert alone.commit() == made
    root = next((alone.folder / "cache").rglob("calc.py")).parent
    work = GitRepo(root, alone.repo.home)
    assert work.git("status", "--porcelain") == ""
    with pytest.raises(BranchStuck, match=r"^merge conflict in calc\.py$"):
        alone.prepare()


def test_a_merge_that_a_kill_left_open_is_ended_first(alone: Loop) -> None:
    alone.iterate("calc.py", CALC.replace("a + b", "b + a"))
    work = GitRepo(alone.prepare().root, alone.repo.home)
    alone.on_main("calc.py", CALC.replace("a + b", "sum((a, b))"))
    with pytest.raises(AssertionError):
        work.git("merge", "main")
    with pytest.raises(BranchStuck, match=r"^merge conflict in calc\.py$"):
        alone.prepare()
    assert work.git("status", "--porcelain") == ""


# -- merged -----------------------------------------------------------------------------------


def test_a_branch_that_was_merged_moves_forward(alone: Loop) -> None:
    alone.iterate("a.txt", "a\n")
    alone.repo.git("merge", "--quiet", "--no-ff", "-m", "merge", WORK)
    assert alone.prepare().commit == alone.commit("main")


@pytest.mark.parametrize("later", ["", "b\n"])
def test_a_branch_that_was_squashed_into_its_base_begins_anew(alone: Loop, later: str) -> None:
    alone.iterate("a.txt", "a\n")
    old = alone.iterate("b.txt", "one\n")
    alone.squash()
    if later:
        alone.on_main("b.txt", later)
    found = alone.prepare()
    assert found.commit == alone.commit("main")
    assert found.notes[0] == f"{WORK} was merged into main: it begins anew from there"
    assert alone.commit(f"refs/tdd/loop/port/left/{old[:12]}") == old


def test_after_a_squash_the_remote_gives_up_exactly_the_head_that_was_merged(shared: Loop) -> None:
    shared.iterate("a.txt", "a\n")
    assert isinstance(shared.push(), Pushed)
    shared.squash()
    shared.repo.git("push", "--quiet", "origin", "main")
    shared.prepare()
    made = shared.iterate("b.txt", "b\n")
    assert shared.push() == Pushed(made)
    assert shared.bare().git("rev-parse", WORK) == made


def test_a_commit_that_a_person_pushed_after_the_merge_is_never_pushed_away(shared: Loop) -> None:
    shared.iterate("a.txt", "a\n")
    shared.push()
    shared.squash()
    shared.prepare()
    theirs = shared.person_pushes()
    shared.iterate("b.txt", "b\n")
    shared.repo.git("merge-base", "--is-ancestor", theirs, WORK)
    assert isinstance(shared.push(), Pushed)
    shared.bare().git("merge-base", "--is-ancestor", theirs, WORK)


def test_a_commit_that_the_loop_pushed_and_took_back_is_given_up_on_the_remote_too(shared: Loop) -> None:
    kept = shared.iterate("a.txt", "a\n")
    shared.push()
    shared.iterate("b.txt", "rejected\n")
    shared.push()
    work = GitRepo(shared.prepare().root, shared.repo.home)
    work.git("reset", "--quiet", "--hard", kept)
    found = shared.prepare()
    assert (found.commit, found.notes) == (
        kept,
        (f"what was taken back on {WORK} is given up on the remote too",),
    )
    made = shared.iterate("c.txt", "c\n")
    assert shared.push() == Pushed(made)


def test_what_was_taken_back_stays_on_the_remote_where_a_person_built_on_it(shared: Loop) -> None:
    kept = shared.iterate("a.txt", "a\n")
    shared.push()
    shared.iterate("b.txt", "rejected\n")
    shared.push()
    theirs = shared.person_pushes()
    GitRepo(next((shared.folder / "cache").rglob("a.txt")).parent, shared.repo.home).git(
        "reset", "--quiet", "--hard", kept
    )
    assert shared.prepare().commit == theirs


# -- people at the branch ---------------------------------------------------------------------


def test_commits_that_a_person_pushed_are_taken_in(shared: Loop) -> None:
    shared.iterate("a.txt", "a\n")
    shared.push()
    theirs = shared.person_pushes()
    assert shared.prepare().commit == theirs


def test_commits_of_both_are_merged_and_pushed_plainly(shared: Loop) -> None:
    shared.iterate("a.txt", "a\n")
    shared.push()
    person = shared.clone()
    theirs = person_commits(person)
    work = GitRepo(shared.prepare().root, shared.repo.home)
    work.write("b.txt", "b\n")
    work.commit("ours")
    person.git("push", "--quiet")
    assert shared.push() == RemoteMoved()
    assert shared.prepare().notes == (f"{WORK} of the remote is merged into {WORK}",)
    assert isinstance(shared.push(), Pushed)
    shared.bare().git("merge-base", "--is-ancestor", theirs, WORK)


def test_a_history_that_a_person_rewrote_on_the_remote_wins_and_ours_is_kept(shared: Loop) -> None:
    shared.iterate("a.txt", "a\n")
    shared.push()
    person = shared.clone()
    person.git("commit", "--quiet", "--amend", "-m", "in better words")
    person.git("push", "--quiet", "--force")
    old = shared.commit()
    found = shared.prepare()
    assert found.commit == person.head()
    assert found.notes[0] == f"{WORK} was rewritten on the remote: that history is taken"
    assert shared.commit(f"refs/tdd/loop/port/left/{old[:12]}") == old


def test_a_branch_that_a_person_rebased_here_is_left_to_them_to_push(shared: Loop) -> None:
    shared.iterate("a.txt", "a\n")
    shared.push()
    pushed = shared.commit()
    work = GitRepo(shared.prepare().root, shared.repo.home)
    work.git("commit", "--quiet", "--amend", "-m", "in better words")
    found = shared.prepare()
    assert found.commit == work.head()
    assert "only a person puts that on the remote" in found.notes[0]
    assert shared.push() == RemoteMoved()
    assert shared.prepare().commit == work.head()
    assert shared.bare().git("rev-parse", WORK) == pushed
    work.git("push", "--quiet", "--force-with-lease", "origin", WORK)
    made = shared.iterate("b.txt", "b\n")
    assert shared.push() == Pushed(made)


def test_a_branch_that_was_deleted_on_the_remote_begins_anew_and_that_is_said(shared: Loop) -> None:
    old = shared.iterate("a.txt", "a\n")
    shared.push()
    shared.bare().git("branch", "-D", WORK)
    found = shared.prepare()
    assert found.commit == shared.commit("main")
    assert found.notes[0] == f"{WORK} was deleted on the remote: it begins anew from main"
    assert shared.commit(f"refs/tdd/loop/port/left/{old[:12]}") == old
    assert isinstance(shared.push(), Pushed)


@pytest.mark.parametrize("with_worktree", [True, False])
def test_a_branch_that_was_deleted_here_begins_anew_and_that_is_said(
    alone: Loop, *, with_worktree: bool
) -> None:
    old = alone.iterate("a.txt", "a\n")
    root = alone.prepare().root
    if with_worktree:
        alone.repo.git("worktree", "remove", "--force", str(root))
    alone.repo.git("update-ref", "-d", f"refs/heads/{WORK}")
    found = alone.prepare()
    assert found.commit == alone.commit("main")
    assert not (root / "a.txt").exists()
    assert any("was deleted here: it begins anew from main" in note for note in found.notes)
    assert alone.commit(f"refs/tdd/loop/port/left/{old[:12]}") == old


def test_a_branch_that_is_checked_out_elsewhere_is_left_there(alone: Loop) -> None:
    alone.repo.git("branch", WORK)
    alone.repo.git("worktree", "add", "--quiet", str(alone.folder / "hand"), WORK)
    with pytest.raises(BranchStuck, match=str(alone.folder / "hand")):
        alone.prepare()


# -- remotes ----------------------------------------------------------------------------------


def test_a_remote_that_is_gone_stops_nothing(shared: Loop) -> None:
    shared.iterate("a.txt", "a\n")
    shared.push()
    (shared.folder / "origin.git").rename(shared.folder / "away.git")
    made = shared.iterate("b.txt", "b\n")
    assert isinstance(shared.push(), Unreachable)
    found = shared.prepare()
    assert found.commit == made
    assert len(found.notes) == 2
    (shared.folder / "away.git").rename(shared.folder / "origin.git")
    assert shared.push() == Pushed(made)


def test_the_base_is_where_it_stands_farthest(shared: Loop) -> None:
    new = shared.on_main("b.txt", "b\n")
    shared.repo.git("reset", "--quiet", "--hard", "HEAD~1")
    assert prepare_branch(shared.home, "port", "", shared.remote).base == new
    with pytest.raises(BranchStuck, match="there is no branch trunk"):
        prepare_branch(shared.home, "port", "trunk", shared.remote)
    shared.repo.git("switch", "--quiet", "--create", "autoloop/mine")
    with pytest.raises(UserError, match="which branch"):
        prepare_branch(shared.home, "port", "", None)


# -- what is left -----------------------------------------------------------------------------


def test_a_private_worktree_goes_where_nothing_is_open_in_it_and_the_branch_stays(alone: Loop) -> None:
    made = alone.iterate("a.txt", "a\n")
    root = alone.prepare().root
    (root / "open.txt").write_text("not committed\n")
    (found,) = leftovers(alone.repo.root)
    assert "open.txt" in found.kept
    remove_leftovers(alone.repo.root, (found,))
    assert root.is_dir()
    (root / "open.txt").unlink()
    remove_leftovers(alone.repo.root, leftovers(alone.repo.root))
    assert not root.exists()
    assert (leftovers(alone.repo.root), alone.commit()) == ((), made)
