"""`tdd uninit` takes away what the machine left, and nothing that is nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from support.machines import HONEST, KATA, TALK, Kata, make_kata, recording
from support.turns import QUICK
from support.watchers import ignore_event
from verdigris.core.errors import UserError
from verdigris.core.records import Actor
from verdigris.drivers.happenings import Noted
from verdigris.drivers.machine.open_machine import leftovers, open_machine, place
from verdigris.drivers.private_worktree import remove_leftovers
from verdigris.setup.initialisation import initialise
from verdigris.storage.repository import find_repository
from verdigris.turns.person import hold_out

OURS = "tdd-machine/main"


def with_environment(repo: GitRepo) -> None:
    """A project below `src/`, installed as editable into an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(repo.root / ".venv")], check=True)
    packages = next((repo.root / ".venv/lib").glob("python*")) / "site-packages"
    ours = Path(pytest.__file__).parent.parent
    (packages / "project.pth").write_text(f"{repo.root / 'src'}\n{ours}\n")


def test_an_editable_install_of_the_users_checkout_does_not_answer_for_the_private_one(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "project")
    with_environment(repo)
    roles = "".join(
        f"  {role}: {{model: 'replay:{TALK}'}}\n" for role in ("tester", "implementor", "refactorer")
    )
    repo.write("tdd.yaml", f"{QUICK}roles:\n{roles}")
    repo.write("kata.md", KATA)
    repo.write(".gitignore", f"__pycache__/\n.venv/\n{TALK}\n")
    repo.write("src/calculator.py", "")
    repo.commit("chore: the kata")
    initialise(repo.root, Actor())
    moved = {
        p: [a.replace('"calculator.py"', '"src/calculator.py"') for a in said] for p, said in HONEST.items()
    }
    repo.write(TALK, recording(moved))
    repo.write("src/calculator.py", "# the user is at work here, so nothing is forwarded\n")
    kata = Kata(repo)
    assert kata.run(2).outcome == "steps-made"
    assert kata.subjects(OURS) == ["test: an empty string is zero", "feat: the empty string"]
    assert ["will not follow" in kata.of(Noted)[1].text, "stays where it is" in kata.of(Noted)[2].text] == [
        True
    ] * 2


def test_branches_that_went_different_ways_are_a_persons_to_bring_together(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    with open_machine(kata.root, ignore_event):
        pass
    ours = place(find_repository(kata.root), "main")
    kata.repo.git("-C", str(ours), "commit", "--quiet", "--allow-empty", "--message", "theirs")
    kata.repo.git("commit", "--quiet", "--allow-empty", "--message", "mine")
    with pytest.raises(UserError, match="have diverged"):
        kata.run(1)


def test_a_worktree_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project", "machine: {share: [local.cfg]}\n")
    kata.repo.write("local.cfg", "shared\n")
    kata.repo.write(".git/info/exclude", "local.cfg\n")
    with open_machine(kata.root, ignore_event) as machine:
        assert (machine.project.root / "local.cfg").read_text() == "shared\n"
        subprocess.run(["rm", "-r", str(machine.project.root)], check=True)
    with open_machine(kata.root, ignore_event) as machine:
        assert (machine.project.root / "kata.md").read_text() == KATA


@pytest.mark.parametrize("folder", [".husky/_", ".git/hooks"])
def test_hooks_are_run_wherever_they_are(tmp_path: Path, folder: str) -> None:
    kata = make_kata(tmp_path / "project")
    kata.repo.write(".git/info/exclude", ".husky/\n")
    kata.repo.write(f"{folder}/pre-commit", f"#!/bin/sh\npwd > {tmp_path}/seen\n", executable=True)
    kata.repo.git("config", "core.hooksPath", folder)
    assert kata.run(1).outcome == "steps-made"
    assert (tmp_path / "seen").read_text().strip() == str(place(find_repository(kata.root), "main"))


def test_names_of_branches_do_not_meet(tmp_path: Path) -> None:
    repo = find_repository(make_repo(tmp_path / "my project").root)
    names = {place(repo, branch).name for branch in ("a/b", "a-b", "ä", "main")}
    assert len(names) == 4
    assert all(name.isascii() and "/" not in name for name in names)


def test_held_out_tests_go_with_the_machine(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    kata.repo.write("tests/test_held.py", "def test_secret_case():\n    assert True\n")
    hold_out(kata.project, ["tests/test_held.py"], cwd=kata.root)
    with open_machine(kata.root, ignore_event) as machine:
        assert list(machine.project.state().held_out) == ["tests/test_held.py"]
        assert not (machine.project.root / "tests/test_held.py").exists()


@pytest.mark.parametrize(
    ("git", "told"),
    [
        (("checkout", "--quiet", "--detach"), "detached"),
        (("checkout", "--quiet", "--orphan", "new"), "no commit"),
    ],
)
def test_the_machine_needs_a_branch_with_a_commit(tmp_path: Path, git: tuple[str, ...], told: str) -> None:
    kata = make_kata(tmp_path / "project")
    kata.repo.git(*git)
    with pytest.raises(UserError, match=told):
        kata.run(1)


def test_a_role_without_a_player_and_a_missing_kata_are_told(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project", roles="  tester: {model: human}\n")
    with pytest.raises(UserError, match="nobody plays the implementor"):
        kata.run(1)
    kata = make_kata(tmp_path / "other", "machine: {kata_description: none.md, sandbox: false}\n")
    with pytest.raises(UserError, match=r"none\.md"):
        kata.run(1)


def test_worktree_branch_and_folder_go_where_the_users_branch_has_the_commits(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    kata.run(1)
    found = leftovers(kata.root)
    assert [one.kept for one in found] == ["", ""]
    place = Path(found[0].worktree)
    assert place.is_dir()
    remove_leftovers(kata.root, found)
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
    remove_leftovers(kata.root, found)
    assert leftovers(kata.root) == found
    assert kata.repo.git("log", "-1", "--format=%s", "tdd-machine/main") == "test: an empty string is zero"
