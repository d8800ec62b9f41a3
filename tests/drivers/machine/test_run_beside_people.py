"""The user goes on working while the machine does: commits, goes back, takes its worktree away."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.machines import Kata, make_kata, nobody
from verdigris.core.errors import UserError
from verdigris.drivers.happenings import Asked, Happening, Noted, RunEnded, StepEnded
from verdigris.drivers.machine.open_machine import open_machine, place
from verdigris.drivers.machine.run import MachineRun
from verdigris.storage.repository import find_repository

OURS = "tdd-machine/main"


def private(kata: Kata) -> Path:
    return place(find_repository(kata.root), "main")


def run_while(kata: Kata, steps: int | None, at: int, meanwhile: Callable[[], object]) -> RunEnded:
    """The user does it once, when the model of step `at` has answered for the first time."""
    left = [meanwhile]

    def watch(happening: Happening) -> None:
        kata.happenings.append(happening)
        if left and isinstance(happening, Asked) and happening.step == at:
            left.pop()()

    with open_machine(kata.root, watch) as machine:
        return MachineRun(machine, nobody).make(steps)


def notes(kata: Kata) -> str:
    return "\n".join(note.text for note in kata.of(Noted))


def test_a_commit_meanwhile_is_brought_together_by_a_merge(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")

    def commit() -> None:
        kata.repo.write("README.md", "mine\n")
        kata.repo.git("add", "README.md")
        kata.repo.git("commit", "--quiet", "--message", "docs: mine")

    assert run_while(kata, 2, 2, commit).outcome == "steps-made"
    assert kata.subjects() == ["test: an empty string is zero", "docs: mine"]
    assert f"`git rebase {OURS}`" in notes(kata)
    with pytest.raises(UserError, match="have diverged"):
        kata.run(1)
    kata.repo.git("merge", "--quiet", "--no-edit", OURS)
    assert kata.run(1).outcome == "steps-made"
    assert kata.of(StepEnded)[-1].step == 3, "the steps on the other side of the merge count"
    assert kata.subjects()[-1].startswith("refactor: ")
    assert kata.project.log.verify().whole


def test_commits_that_the_user_took_back_do_not_come_again_by_themselves(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    kata.run(2)
    kata.repo.git("reset", "--quiet", "--hard", "HEAD~1")
    with pytest.raises(UserError, match="was reset") as caught:
        kata.run(1)
    assert f"git branch --force {OURS} main" in (caught.value.hint or "")
    kata.repo.git("worktree", "remove", "--force", str(private(kata)))
    kata.repo.git("branch", "--quiet", "--force", OURS, "main")
    time.sleep(1)  # within the same second git would make the very commit that was taken back
    assert kata.run(1).outcome == "steps-made"
    assert [ended.step for ended in kata.of(StepEnded)] == [1, 2, 2]
    assert kata.subjects() == ["test: an empty string is zero", "feat: the empty string"]


def test_a_worktree_that_is_taken_away_in_the_middle(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    with pytest.raises(UserError, match="is gone"):
        run_while(kata, 2, 2, lambda: shutil.rmtree(private(kata)))
    assert kata.repo.git("status", "--porcelain") == ""
    assert kata.run().outcome == "steps-made"
    assert kata.subjects() == ["test: an empty string is zero", "feat: the empty string"]
    assert kata.project.log.verify().whole


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    run_while(kata, 1, 1, lambda: kata.repo.write("calculator.py", "# mine\n"))
    assert "overwritten by merge: calculator.py" in notes(kata)
    assert kata.repo.read("calculator.py") == b"# mine\n"
    assert kata.subjects(OURS) == ["test: an empty string is zero"]


def test_source_that_a_person_committed_without_a_red_is_ground(red: Kata) -> None:
    red.repo.write("calculator.py", "def add(numbers):\n    return len(numbers)\n")
    red.repo.commit("feat: by hand")
    ended = red.run(1)
    assert ended.outcome == "steps-made", ended
