from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.errors import UserError
from verdigris.setup.initialisation import EARLIER, plan_hook, remove_hook, write_hook


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = make_repo(tmp_path / "repo")
    made.commit("first", a="1")
    made.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    made.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return made


@pytest.fixture
def auditor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands where the interpreter would: writes down how it was called; gives the exit code in `code`."""
    program = tmp_path / "a python"
    (tmp_path / "code").write_text("0")
    program.write_text(
        f"#!/bin/sh\n{{ echo \"$@\"; cat; }} > '{tmp_path}/called'\nexit $(cat '{tmp_path}/code')\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return tmp_path


def _push(repo: GitRepo, *words: str) -> tuple[int, str]:
    import subprocess

    done = subprocess.run(
        ["git", "push", "origin", *words],
        cwd=repo.root,
        env=repo.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_the_hook_hands_on_what_git_tells_it(repo: GitRepo, auditor: Path) -> None:
    write_hook(plan_hook(repo.root))
    code, _ = _push(repo, "HEAD:refs/heads/one", "HEAD:refs/heads/two")
    called = (auditor / "called").read_text().splitlines()
    assert code == 0
    assert called[0] == f"-m verdigris audit pre-push origin {auditor}/remote.git"
    assert [line.split()[2:] for line in called[1:]] == [
        ["refs/heads/one", "0" * 40],
        ["refs/heads/two", "0" * 40],
    ]


def test_an_audit_that_fails_stops_the_push(repo: GitRepo, auditor: Path) -> None:
    write_hook(plan_hook(repo.root))
    (auditor / "code").write_text("1")
    assert _push(repo, "HEAD:refs/heads/one")[0] == 1
    assert _push(repo, "--no-verify", "HEAD:refs/heads/one")[0] == 0


def test_an_earlier_hook_is_asked_first_and_both_get_all_lines(repo: GitRepo, auditor: Path) -> None:
    earlier = repo.root / ".git/hooks/pre-push"
    earlier.parent.mkdir(exist_ok=True)
    earlier.write_text(f"#!/bin/sh\n{{ echo \"$1\"; cat; }} > '{auditor}/earlier'\n")
    earlier.chmod(0o755)
    write_hook(plan_hook(repo.root))
    assert _push(repo, "HEAD:refs/heads/one")[0] == 0
    first, line = (auditor / "earlier").read_text().splitlines()
    assert first == "origin"
    assert line in (auditor / "called").read_text()


def test_an_earlier_hook_that_refuses_is_the_last_word(repo: GitRepo, auditor: Path) -> None:
    earlier = repo.root / ".git/hooks/pre-push"
    earlier.parent.mkdir(exist_ok=True)
    earlier.write_text("#!/bin/sh\nexit 3\n")
    earlier.chmod(0o755)
    write_hook(plan_hook(repo.root))
    assert _push(repo, "HEAD:refs/heads/one")[0] != 0
    assert not (auditor / "called").exists()


def test_an_interpreter_that_is_gone_does_not_lock_a_person_out(repo: GitRepo, auditor: Path) -> None:
    write_hook(plan_hook(repo.root))
    (auditor / "a python").unlink()
    code, said = _push(repo, "HEAD:refs/heads/one")
    assert code == 0
    assert "is gone, so this push is not audited" in said


def test_writing_it_twice_changes_nothing_and_taking_it_away_brings_the_earlier_back(repo: GitRepo) -> None:
    earlier = repo.root / ".git/hooks/pre-push"
    earlier.parent.mkdir(exist_ok=True)
    earlier.write_text("#!/bin/sh\n# mine\n")
    write_hook(plan_hook(repo.root))
    again = plan_hook(repo.root)
    assert not again.earlier
    write_hook(again)
    assert remove_hook(repo.root) == earlier
    assert earlier.read_text() == "#!/bin/sh\n# mine\n"
    assert not earlier.with_name(EARLIER).exists()
    assert remove_hook(repo.root) is None


def test_without_an_earlier_hook_nothing_is_left(repo: GitRepo) -> None:
    write_hook(plan_hook(repo.root))
    removed = remove_hook(repo.root)
    assert removed is not None
    assert not removed.exists()


def test_a_folder_of_hooks_that_git_is_told_of_is_used(repo: GitRepo) -> None:
    repo.git("config", "core.hooksPath", "tools/hooks")
    write_hook(plan_hook(repo.root))
    assert (repo.root / "tools/hooks/pre-push").exists()


def test_a_hook_of_a_stranger_is_never_lost(repo: GitRepo) -> None:
    hooks = repo.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-push").write_text("new")
    (hooks / EARLIER).write_text("old")
    with pytest.raises(UserError, match="are both there"):
        write_hook(plan_hook(repo.root))
    assert (hooks / "pre-push").read_text() == "new"
    assert (hooks / EARLIER).read_text() == "old"
