"""People at a running program: they edit its state file, pause it, push to its branch, delete it."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from support.loops import HONEST, NAME, PROGRAM, PlayedLoop, make_loop
from verdigris.drivers.happenings import IterationDone, Noted
from verdigris.drivers.loop import open_program
from verdigris.drivers.loop.branches.memory import BRANCH
from verdigris.drivers.loop.branches.remote import GitRemote
from verdigris.drivers.loop.state_file.text import read_machine_state

pytestmark = pytest.mark.usefixtures("apart", "remembered_runs")
WORK = f"autoloop/{NAME}"
WILD = """\
# Autoloop: port

## ⚙ Machine State

| Field | Value |
|-------|-------|
| Iteration Count | 12 |
| Steering Issue | #4 |
| Recent Statuses | pending-ci, accepted |

## Lessons Learned

- Ask Ada.
"""


def edit(world: PlayedLoop, where: Path, old: str, new: str) -> None:
    """By hand, on the memory branch."""
    world.repo.git("worktree", "add", "--quiet", str(where), BRANCH)
    person = GitRepo(where, world.repo.home)
    text = person.read(f"{NAME}.md").decode()
    assert old in text
    person.write(f"{NAME}.md", text.replace(old, new))
    person.commit("by hand")
    world.repo.git("worktree", "remove", str(where))


def put(world: PlayedLoop, text: str) -> None:
    """A state file that another tool left."""
    blob = world.repo.run("hash-object", "-w", "--stdin", stdin=text.encode()).decode().strip()
    tree = world.repo.run("mktree", stdin=f"100644 blob {blob}\t{NAME}.md\n".encode()).decode().strip()
    world.repo.git("update-ref", f"refs/heads/{BRANCH}", world.repo.git("commit-tree", tree, "-m", "found"))


def shared(world: PlayedLoop, folder: Path) -> GitRepo:
    origin = folder / "origin.git"
    world.repo.git("init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    world.repo.git("remote", "add", "origin", str(origin))
    world.repo.git("push", "--quiet", "origin", "main")
    return GitRepo(origin, world.repo.home)


def test_a_pause_in_the_state_file_holds_until_it_is_taken_out_there(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    world.run(1)
    edit(
        world,
        tmp_path / "a",
        "| Paused | false |\n| Pause Reason | — |",
        "| Paused | true |\n| Pause Reason | holiday |",
    )
    ended = world.run(1)
    assert (ended.outcome, ended.why) == ("paused", "holiday"), ended
    assert [one.status for one in world.state.iterations] == ["accepted"]
    assert read_machine_state(world.text)["Paused"] == "true"
    edit(world, tmp_path / "b", "| Paused | true |", "| Paused | false |")
    assert world.run(1).steps == 1
    rows = read_machine_state(world.text)
    assert (rows["Paused"], rows["Pause Reason"], rows["Iteration Count"]) == ("false", "", "2")
    assert [one.status for one in world.state.iterations] == ["accepted", "accepted"]
    assert world.of(IterationDone)[-1].harness == ("passing", "passing")


def test_a_target_that_a_person_lowers_is_met(tmp_path: Path) -> None:
    program = PROGRAM.replace("every 6h\n", "every 6h\ntarget-metric: 40\n")
    world = make_loop(tmp_path / "project", program=program)
    world.run(1)
    edit(world, tmp_path / "a", "| Target Metric | 40 |", "| Target Metric | 2 |")
    assert world.run(5).outcome == "completed"
    assert read_machine_state(world.text)["Target Metric"] == "2"


def test_a_file_that_is_older_than_the_log_goes_on_with_its_count(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    put(world, WILD)
    world.plays(
        {
            f"step-{int(name.split('-')[1]) + 240}-{name.split('-', 2)[2]}": said
            for name, said in HONEST.items()
        }
    )
    assert world.run(1).outcome == "limit"
    rows = read_machine_state(world.text)
    assert (rows["Iteration Count"], rows["Recent Statuses"]) == ("13", "pending-ci, accepted, accepted")
    assert rows["Steering Issue"] == "#4"
    assert "### Iteration 13 — " in world.text
    assert "- Ask Ada.\n- An iterable may be read only once\n" in world.text


def test_a_file_that_is_paused_and_older_than_the_log_stays_paused(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    put(world, WILD.replace("| Steering", "| Paused | true |\n| Pause Reason | ci-timeout |\n| Steering"))
    assert world.run(1).outcome == "stuck"
    assert read_machine_state(world.text)["Pause Reason"] == "ci-timeout"


def test_branch_and_state_are_pushed_and_a_persons_commit_is_taken_in(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    origin = shared(world, tmp_path)
    world.run(1)
    assert origin.git("rev-parse", WORK) == world.repo.git("rev-parse", WORK)
    assert origin.git("show", f"{BRANCH}:{NAME}.md") == world.text.strip()
    person = GitRepo(tmp_path / "person", world.repo.home)
    world.repo.git("clone", "--quiet", "--branch", WORK, str(origin.root), str(person.root))
    person.write("NOTES.md", "by hand\n")
    theirs = person.commit("notes")
    person.git("push", "--quiet")
    assert world.run(1).steps == 1
    origin.git("merge-base", "--is-ancestor", theirs, WORK)
    assert world.file("NOTES.md") == "by hand"


def test_a_branch_that_a_person_deleted_begins_anew_and_nothing_is_lost(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    origin = shared(world, tmp_path)
    world.run(1)
    old = world.repo.git("rev-parse", WORK)
    origin.git("branch", "-D", WORK)
    world.run(1)
    assert any("was deleted on the remote" in one.text for one in world.of(Noted))
    assert world.repo.git("rev-parse", f"refs/tdd/loop/{NAME}/left/{old[:12]}") == old


def test_a_remote_that_is_gone_stops_nothing_and_the_next_run_pushes_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_program, "GitRemote", partial(GitRemote, back_off=()))
    world = make_loop(tmp_path / "project")
    origin = shared(world, tmp_path)
    shutil.move(origin.root, tmp_path / "away.git")
    world.repo.git("config", "remote.origin.url", str(origin.root))
    assert world.run(1).steps == 1
    assert any("is not pushed" in one.text for one in world.of(Noted))
    shutil.move(tmp_path / "away.git", origin.root)
    assert world.run(1).steps == 1
    assert origin.git("rev-list", "--count", f"main..{WORK}") == "2"
    assert origin.git("show", f"{BRANCH}:{NAME}.md") == world.text.strip()
