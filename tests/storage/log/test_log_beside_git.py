"""The log stands in the common git directory: nothing that git does to the tree reaches it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.log.tally import draft, filled, numbers


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=trunk")
    (repo / "kept.txt").write_text("kept\n")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "first")
    git(repo, "branch", "other")
    return repo


def git(repo: Path, *args: str) -> None:
    identity = {
        f"GIT_{who}_{what}": "t@example.invalid"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env = {
        **clean,
        **identity,
        "HOME": str(repo.parent / "home"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "XDG_CONFIG_HOME": "",
    }
    subprocess.run(["git", *args], cwd=repo, env=env, check=True, capture_output=True)


def clean(repo: Path) -> None:
    (repo / "untracked").mkdir()
    (repo / "untracked" / "file").write_text("")
    git(repo, "clean", "-ffdx")


def collect_garbage(repo: Path) -> None:
    git(repo, "gc", "--quiet", "--aggressive", "--prune=now")


def switch(repo: Path) -> None:
    git(repo, "switch", "--quiet", "other")


def add_worktree(repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "../second", "other")
    git(repo, "worktree", "remove", "../second")


def delete_the_readable_part(repo: Path) -> None:
    (repo / ".tdd").mkdir()
    shutil.rmtree(repo / ".tdd")


def reset(repo: Path) -> None:
    git(repo, "reset", "--quiet", "--hard")
    git(repo, "stash", "--include-untracked")


@pytest.mark.parametrize(
    "action", [clean, collect_garbage, switch, add_worktree, delete_the_readable_part, reset]
)
def test_the_log_survives(repo: Path, action: Callable[[Path], None]) -> None:
    log = filled(repo / ".git" / "tdd", 5, every=2)
    before = {path.name: path.read_bytes() for path in (repo / ".git" / "tdd").iterdir()}

    action(repo)

    assert {path.name: path.read_bytes() for path in (repo / ".git" / "tdd").iterdir()} == before
    log.append([draft(6)])
    assert numbers(log) == [1, 2, 3, 4, 5, 6]
    assert log.verify().findings == ()
