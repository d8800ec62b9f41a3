from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import StorageError, ToolMissing
from verdigris.kernel.repository import find_repository
from verdigris.kernel.workspace.git import null_ended, null_split, store_git, users_git

if TYPE_CHECKING:
    from pathlib import Path

    from support.gitrepo import GitRepo


def test_the_environment_has_no_say(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "input")
    git = users_git(find_repository(repo.root))
    assert git.run("rev-parse", "--absolute-git-dir").decode().strip() == str(repo.root / ".git")
    assert git.call("config", "core.autocrlf").code == 1


def test_the_users_configuration_reaches_only_the_users_git(repo: GitRepo) -> None:
    (repo.home / ".gitconfig").write_text("[core]\n\tautocrlf = input\n")
    found = find_repository(repo.root)
    assert users_git(found).run("config", "core.autocrlf") == b"input\n"
    assert store_git(found, repo.root / ".git").call("config", "core.autocrlf").code == 1


def test_a_failure_says_what_git_said(repo: GitRepo) -> None:
    with pytest.raises(StorageError, match="not-a-command") as caught:
        users_git(find_repository(repo.root)).run("not-a-command")
    assert caught.value.hint


def test_a_missing_git_is_said(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="git"):
        users_git(find_repository(repo.root)).run("version")


def test_paths_survive_the_pipe() -> None:
    paths = ["a b", "new\nline", "odd\udcff", 'quote"']
    assert null_split(null_ended(paths)) == paths
