"""Remotes: a bare repository, one that is gone, one that refuses, one that moved meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.drivers.loop.branches.remote import (
    GitRemote,
    NoBranch,
    Pushed,
    PushRefused,
    RemoteMoved,
    Tip,
    Unreachable,
    fetch_tip,
    push_commit,
)


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """With a remote `origin` that has its first commit."""
    made = make_repo(tmp_path / "repo")
    made.write("a.py", "x = 1\n")
    made.commit()
    made.git("init", "--quiet", "--bare", str(tmp_path / "origin.git"))
    made.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    return made


def test_a_branch_is_pushed_and_found_again(repo: GitRepo) -> None:
    remote = GitRemote("origin")
    assert fetch_tip(repo.root, remote, "autoloop/port") == NoBranch()
    assert push_commit(repo.root, remote, repo.head(), "autoloop/port") == Pushed(repo.head())
    assert fetch_tip(repo.root, remote, "autoloop/port") == Tip(repo.head())


def test_commits_of_somebody_else_are_never_pushed_away(repo: GitRepo, tmp_path: Path) -> None:
    remote = GitRemote("origin")
    first = repo.head()
    push_commit(repo.root, remote, first, "work")
    repo.write("a.py", "x = 2\n")
    push_commit(repo.root, remote, repo.commit("a person's"), "work")
    repo.git("reset", "--quiet", "--hard", first)
    repo.write("a.py", "x = 3\n")
    assert push_commit(repo.root, remote, repo.commit("ours"), "work") == RemoteMoved()


def test_a_remote_that_is_gone_is_tried_again_and_then_a_value(repo: GitRepo, tmp_path: Path) -> None:
    waited: list[float] = []
    shutil.rmtree(tmp_path / "origin.git")
    remote = GitRemote("origin", back_off=(1, 5), wait=waited.append)
    found = push_commit(repo.root, remote, repo.head(), "work")
    assert isinstance(found, Unreachable)
    assert "does not appear to be a git repository" in found.why
    assert waited == [1, 5]
    assert isinstance(fetch_tip(repo.root, remote, "work"), Unreachable)


def test_a_remote_that_comes_back_meanwhile_is_pushed_to(repo: GitRepo, tmp_path: Path) -> None:
    home, away = tmp_path / "origin.git", tmp_path / "away.git"
    home.rename(away)

    def wait(_: float) -> None:
        if away.exists():
            away.rename(home)

    remote = GitRemote("origin", back_off=(1, 5), wait=wait)
    assert push_commit(repo.root, remote, repo.head(), "work") == Pushed(repo.head())


def test_a_remote_that_refuses_says_why_and_is_not_asked_again(repo: GitRepo, tmp_path: Path) -> None:
    hook = tmp_path / "origin.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho this branch is protected >&2\nexit 1\n")
    hook.chmod(0o755)
    waited: list[float] = []
    found = push_commit(repo.root, GitRemote("origin", wait=waited.append), repo.head(), "work")
    assert found == PushRefused("origin refused work: pre-receive hook declined")
    assert waited == []


def test_a_remote_that_never_answers_is_left(repo: GitRepo) -> None:
    repo.git("config", "remote.origin.uploadpack", "sleep 60; git-upload-pack")
    found = fetch_tip(repo.root, GitRemote("origin", back_off=(), timeout=0.5), "work")
    assert found == Unreachable("origin: it did not answer within 0.5 s")
