from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from verdigris.core.records import Actor
from verdigris.setup import scaffold_files
from verdigris.setup.scaffold import plan_scaffold
from verdigris.setup.scaffold_files import ScaffoldResult, make, undo
from verdigris.storage.durable_files import write_whole
from verdigris.storage.project import open_project

pytestmark = pytest.mark.quick

PERSON = Actor()


def made(folder: Path, lang: str | None = "rust", kata: Path | None = None) -> ScaffoldResult:
    found = plan_scaffold(folder, lang, None if kata is None else str(kata))
    assert found is not None
    return make(found, PERSON)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def test_an_empty_folder_becomes_a_committed_project(folder: Path, kata: Path) -> None:
    done = made(folder, kata=kata)
    assert git(folder, "rev-parse", "HEAD") == done.commit
    assert git(folder, "log", "--format=%an <%ae>, %cn: %s") == (
        "TDD Machine <tdd-machine@localhost>, Ada: chore: scaffold the kata"
    )
    assert git(folder, "status", "--porcelain") == ""
    assert (folder / "kata.md").read_text() == kata.read_text()
    assert git(folder, "config", "--local", "--name-only", "--list").count("user.") == 0
    project = open_project(folder, PERSON)
    assert project.state().phase == "red"
    assert [record.type for record in project.log.records()][:3] == ["scaffolded", "configured", "ground"]
    assert project.log.verify().whole


def test_the_branch_is_the_one_that_the_users_git_begins_with(folder: Path, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[init]\n\tdefaultBranch = trunk\n")
    before = (tmp_path / ".gitconfig").read_bytes()
    made(folder)
    assert git(folder, "symbolic-ref", "--short", "HEAD") == "trunk"
    assert (tmp_path / ".gitconfig").read_bytes() == before


def test_a_git_that_knows_nobody_still_commits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.useConfigOnly")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    assert made(folder).commit


def test_a_hook_that_refuses_leaves_the_files_and_says_so(folder: Path) -> None:
    git(folder, "init", "--quiet")
    hook = folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no such commits here; exit 1\n")
    hook.chmod(0o755)
    done = made(folder)
    assert (done.commit, done.refused) == ("", "no such commits here")
    assert "Cargo.toml" in done.uncommitted
    assert git(folder, "diff", "--cached", "--name-only") == ""
    assert open_project(folder, PERSON).state().phase == "red"


def test_what_somebody_else_wrote_is_theirs_to_commit(folder: Path, kata: Path) -> None:
    (folder / "README.md").write_text("mine\n")
    done = made(folder, kata=kata)
    assert done.commit == ""
    assert "README.md" not in done.uncommitted
    assert git(folder, "status", "--porcelain", "--", "README.md") == "?? README.md"


def test_a_repository_that_has_commits_gets_none(folder: Path, kata: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "mine")
    done = made(folder, kata=kata)
    assert (done.commit, min(done.uncommitted)) == ("", ".gitignore")
    assert git(folder, "log", "--format=%s") == "mine"


def test_repeated_it_changes_nothing(folder: Path, kata: Path) -> None:
    made(folder, kata=kata)
    before = git(folder, "rev-parse", "HEAD"), (folder / ".git/tdd/events.jsonl").read_bytes()
    again = plan_scaffold(folder, "rust", str(kata))
    assert again is not None
    assert (again.files, again.makes_repository) == ({}, False)
    assert make(again, PERSON).done.already
    assert (git(folder, "rev-parse", "HEAD"), (folder / ".git/tdd/events.jsonl").read_bytes()) == before


class Killed(BaseException):
    pass


@pytest.mark.parametrize("where", ["first file", "fourth file", "configuration", "commit"])
def test_interrupted_anywhere_it_is_finished_by_the_next(
    folder: Path, kata: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    left = {"first file": 0, "fourth file": 3}.get(where, 99)

    def put(path: Path, data: bytes) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        real(path, data)

    def killed(*_: object) -> None:
        raise Killed

    real = write_whole
    with monkeypatch.context() as patched:
        patched.setattr(scaffold_files, "write_whole", put)
        if where in {"configuration", "commit"}:
            patched.setattr(
                scaffold_files, {"configuration": "carry_out", "commit": "_commit_first"}[where], killed
            )
        with pytest.raises(Killed):
            made(folder, kata=kata)
    assert made(folder, kata=kata).commit
    assert len(git(folder, "ls-files").splitlines()) == 8
    assert git(folder, "status", "--porcelain") == ""
    assert undo(folder).scaffold == "removed"
    assert sorted(path.name for path in folder.iterdir()) == [".git", "tdd.yaml"]


def test_a_folder_in_the_way_is_a_clear_error(folder: Path) -> None:
    found = plan_scaffold(folder, "rust", None)
    assert found is not None
    (folder / "src").write_text("a file\n")
    with pytest.raises(Exception, match=r"src/lib\.rs cannot be written"):
        make(found, PERSON)
    (folder / "src").unlink()
    assert made(folder).commit


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_a_clear_error(folder: Path) -> None:
    folder.chmod(0o500)
    with pytest.raises(Exception, match="git init"):
        made(folder)
