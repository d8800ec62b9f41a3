from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.gitrepo import make_repo
from verdigris.core.errors import ToolMissing, UserError
from verdigris.core.value import replace
from verdigris.storage.git import Git, store_git
from verdigris.storage.repository import find_repository

MUCH = b"a line\n" * 200_000


@pytest.fixture
def git(tmp_path: Path) -> Git:
    repo = find_repository(make_repo(tmp_path / "repo").root)
    return store_git(repo, repo.git_dir)


def test_much_input_and_much_output_pass_each_other(git: Git) -> None:
    assert git.run("stripspace", stdin=MUCH) == MUCH


def test_what_git_does_not_read_is_no_error(git: Git) -> None:
    assert git.run("version", stdin=MUCH).startswith(b"git version")


def test_what_it_says_and_how_it_ends_are_told(git: Git) -> None:
    output = git.call("cat-file", "-t", "nothing")
    assert (output.code, output.stdout) == (128, b"")
    assert output.stderr.startswith("fatal: ")


def test_it_starts_in_the_worktree_and_several_run_at_once(git: Git) -> None:
    calls = [git.start("rev-parse", "--show-toplevel") for _ in range(3)]
    assert {call(b"").stdout.decode().strip() for call in calls} == {os.fspath(git.root)}


def test_a_worktree_that_is_gone_and_a_git_that_is_missing(git: Git, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is gone"):
        replace(git, root=tmp_path / "gone").call("version")
    with pytest.raises(ToolMissing, match="git cannot be found"):
        replace(git, environment={"PATH": str(tmp_path)}).call("version")


def test_it_holds_the_lock_and_no_other_descriptor(git: Git) -> None:
    held, other = os.pipe()
    alias = f"alias.fds=!{sys.executable} -c 'import os; print(os.listdir(\"/proc/self/fd\"))'"
    if not os.path.isdir("/proc/self/fd"):  # noqa: PTH112
        pytest.skip("no /proc")
    said = replace(git, held=held).run("-c", alias, "fds").decode()
    os.close(other)
    os.close(held)
    assert f"'{held}'" in said
    assert f"'{other}'" not in said
    assert not os.path.exists(f"/proc/self/fd/{held}")  # noqa: PTH110
