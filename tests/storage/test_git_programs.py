from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from verdigris.core.errors import StorageError, ToolMissing
from verdigris.sandbox.child import available
from verdigris.storage.git import null_ended, null_split, program, store_git, users_git, with_conversion
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.head_moves import changes_between, clean, list_commit, read_as_checked_out


def test_the_environment_has_no_say(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "input")
    git = users_git(find_repository(repo.root))
    assert git.run("rev-parse", "--absolute-git-dir").decode().strip() == str(repo.root / ".git")
    assert git.call("config", "core.autocrlf").code == 1


def test_the_users_configuration_is_heard_only_where_files_are_converted(repo: GitRepo) -> None:
    (repo.home / ".gitconfig").write_text("[core]\n\tautocrlf = input\n")
    found = find_repository(repo.root)
    found.private.mkdir(parents=True)
    with with_conversion(users_git(found), found) as git:
        assert git.run("config", "core.autocrlf") == b"input\n"
    assert users_git(found).call("config", "core.autocrlf").code == 1
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


def planted(repo: GitRepo) -> Path:
    """Every key that names a program names one that leaves a trace, in each file that git reads."""
    trace = repo.root.parent / "trace"
    evil = repo.root.parent / "evil"
    evil.write_text(f"#!/bin/sh\necho ran >> '{trace}'\ncat\n")
    evil.chmod(0o755)
    hooks = repo.root.parent / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        (hooks / name).symlink_to(evil)
    text = f"""
[core]
\tfsmonitor = {evil}
\thooksPath = {hooks}
\tpager = {evil}
\tsshCommand = {evil}
\taskPass = {evil}
[filter "x"]
\tclean = {evil}
\tsmudge = {evil}
[diff]
\texternal = {evil}
[diff "x"]
\ttextconv = {evil}
\tcommand = {evil}
[gpg]
\tprogram = {evil}
[log]
\tshowSignature = true
[alias]
\tdiff-tree = !{evil}
[remote "o"]
\turl = ext::{evil}
\tpromisor = true
[protocol]
\tallow = always
[trace2]
\tnormalTarget = {trace}
\teventTarget = {trace}
"""
    (repo.home / ".gitconfig").write_text(text)
    with (repo.root / ".git/config").open("a") as config:
        config.write(text)
        config.write("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = o\n")
    (repo.root / ".gitattributes").write_text("* filter=x diff=x\n")
    return trace


def test_nothing_that_the_configuration_names_is_run_outside(repo: GitRepo) -> None:
    repo.write("a.py", "x = 1\n")
    first = repo.commit("first")
    repo.write("a.py", "x = 2\n")
    second = repo.commit("second")
    trace = planted(repo)
    found = find_repository(repo.root)
    found.private.mkdir(parents=True)
    git = users_git(found)
    assert changes_between(git, first, second)
    assert list_commit(found, second).files
    assert clean(found, git, changes_between(git, first, second)) == {"a.py"}
    assert read_as_checked_out(found, list_commit(found, second).files[0]) == b"x = 2\n"
    git.run("update-ref", "refs/stash", second, "--create-reflog")
    git.run("rev-list", "--walk-reflogs", "refs/stash", "--")
    git.run("rev-list", "--all", "--reflog")
    git.call("cat-file", "-e", "1" * 40)
    if available().ok:
        assert not trace.exists()
    else:
        assert trace.read_text().count("ran") <= 2  # the filters, where nobody is confined


def test_the_git_of_the_system_comes_before_one_in_a_home(tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    assert program({"PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin"}) != str(tmp_path / "git")
    assert program({"PATH": str(tmp_path)}) == str(tmp_path / "git")
