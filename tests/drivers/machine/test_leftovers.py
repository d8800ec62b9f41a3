"""`tdd uninit` takes away what the machine left, and nothing that is nowhere else."""

from __future__ import annotations

from pathlib import Path

from support.machines import make_kata
from verdigris.drivers.machine.open_machine import leftovers
from verdigris.drivers.private_worktree import remove


def test_worktree_branch_and_folder_go_where_the_users_branch_has_the_commits(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    kata.run(1)
    found = leftovers(kata.root)
    assert [one.kept for one in found] == ["", ""]
    place = Path(found[0].worktree)
    assert place.is_dir()
    remove(kata.root, found)
    assert leftovers(kata.root) == ()
    assert not place.exists()
    assert not (kata.root / ".tdd").exists()
    assert kata.repo.git("branch", "--list", "tdd-machine/*") == ""
    assert kata.subjects() == ["test: an empty string is zero"]


def test_commits_and_files_that_are_nowhere_else_stay(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    kata.repo.write("mine.txt", "not committed\n")
    kata.repo.git("add", "mine.txt")
    kata.run(1)
    (kata.root / ".tdd/spec.md").write_text("a person's\n")
    found = leftovers(kata.root)
    assert "main does not have its commits" in found[0].kept
    assert found[1].kept == "it holds spec.md, which is not the machine's"
    remove(kata.root, found)
    assert leftovers(kata.root) == found
    assert kata.repo.git("log", "-1", "--format=%s", "tdd-machine/main") == "test: an empty string is zero"
