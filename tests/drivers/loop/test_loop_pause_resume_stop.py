"""A person pauses, resumes and stops a program, also while it is at work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.loops import HONEST, NAME, PlayedLoop, make_loop
from verdigris.core.errors import UserError
from verdigris.core.records import Actor
from verdigris.drivers.budget import Limits
from verdigris.drivers.happenings import Happening, Noted, RunEnded, StepBegan
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.open_program import open_program
from verdigris.drivers.loop.run import LoopRun
from verdigris.drivers.loop.state_file.text import read_machine_state
from verdigris.drivers.loop.survey import pause_program, resume_program, stop_runs
from verdigris.storage.project import Project, open_project

pytestmark = pytest.mark.usefixtures("apart", "remembered_runs")


def person(world: PlayedLoop) -> Project:
    return open_project(world.root, Actor())


def rows(world: PlayedLoop) -> dict[str, str]:
    return dict(read_machine_state(world.text))


def run_with(world: PlayedLoop, at_first_step: Callable[[], object], iterations: int = 1) -> RunEnded:
    """Something happens while the first step of the run is under way."""

    def watch(happening: Happening) -> None:
        world.happenings.append(happening)
        if isinstance(happening, StepBegan) and len(world.of(StepBegan)) == 1:
            at_first_step()

    with open_program(world.root, NAME, watch) as opened:
        return LoopRun(opened, Limits(iterations)).make()


def test_a_pause_is_on_record_and_in_the_state_file_and_ends_the_next_run(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    told = pause_program(person(world), NAME, "the reference changes")
    assert told.changed
    assert world.state.paused == "the reference changes"
    assert (rows(world)["Paused"], rows(world)["Pause Reason"]) == ("true", "the reference changes")
    ended = world.run()
    assert (ended.outcome, ended.why, ended.steps) == ("paused", "the reference changes", 0)


def test_pausing_twice_keeps_the_first_reason_and_says_so(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    pause_program(person(world), NAME, "first")
    again = pause_program(person(world), NAME, "second")
    assert not again.changed
    assert world.state.paused == "first"
    assert "first" in again.lines[0]


def test_a_pause_meanwhile_takes_effect_before_the_next_step(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    ended = run_with(world, lambda: pause_program(person(world), NAME, "I look at it first"))
    assert (ended.outcome, ended.why, ended.steps) == ("paused", "I look at it first", 0)
    assert [one.role for one in world.of(StepBegan)] == ["test_writer"]
    assert world.state.open is not None
    assert world.state.open.pinned is not None
    resumed = resume_program(person(world), NAME, "looked at")
    assert resumed.changed
    assert rows(world)["Paused"] == "false"
    assert world.run().outcome == "limit"
    assert [one.status for one in world.state.iterations] == ["accepted"]


def test_a_stop_ends_the_run_after_its_step_and_the_next_run_goes_on(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    ended = run_with(world, lambda: stop_runs(person(world).repo, NAME))
    assert (ended.outcome, ended.why) == ("paused", "stopped by a person")
    assert ended.following == f"`tdd loop run {NAME}` goes on from here"
    assert [one.role for one in world.of(StepBegan)] == ["test_writer"]
    assert world.state.paused == ""
    assert rows(world)["Paused"] == "false"
    assert world.run().outcome == "limit"
    assert [one.status for one in world.state.iterations] == ["accepted"]


def test_nothing_is_stopped_where_nothing_is_at_work(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    assert stop_runs(person(world).repo, "") == ()
    with pytest.raises(UserError, match="other is not running"):
        run_with(world, lambda: stop_runs(person(world).repo, "other"))


def test_a_plateau_is_opened_again_by_resume(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    project = person(world)
    for number in range(1, 6):
        project.record(
            e.IterationEnded(program=NAME, number=number, status="rejected", at=1, change="x"),
        )
    pause_program(person(world), NAME, "plateau: the last 5 iterations were rejected")
    assert rows(world)["Recent Statuses"] == "rejected, rejected, rejected, rejected, rejected"
    resume_program(person(world), NAME, "")
    assert world.state.recent == ()
    assert "rejected" not in rows(world)["Recent Statuses"]


def test_a_completed_program_is_opened_again_by_resume(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    person(world).record(e.ProgramCompleted(program=NAME, reason="the target is met", at=1))
    assert world.run().outcome == "completed"
    assert resume_program(person(world), NAME, "").changed
    assert rows(world)["Completed"] == "false"
    assert world.run().outcome == "limit"


def test_what_runs_already_needs_no_resume_and_an_unknown_name_is_told(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    assert not resume_program(person(world), NAME, "").changed
    assert world.state == type(world.state)(NAME)
    with pytest.raises(UserError, match="there is no program none"):
        pause_program(person(world), "none", "")


def test_a_persons_edit_meanwhile_survives_a_pause_of_the_run_at_work(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    world.plays({**HONEST})
    world.run()

    def edit_and_pause() -> None:
        text = world.text.replace("_Nobody has said what comes first", "- last comes first\n\n_Nobody")
        blob = world.repo.run("hash-object", "-w", "--stdin", stdin=text.encode()).decode().strip()
        tree = world.repo.run("mktree", stdin=f"100644 blob {blob}\t{NAME}.md\n".encode()).decode().strip()
        made = world.repo.git("commit-tree", tree, "-p", "memory/autoloop", "-m", "mine")
        world.repo.git("update-ref", "refs/heads/memory/autoloop", made)
        pause_program(person(world), NAME, "wait")

    world.happenings.clear()
    assert run_with(world, edit_and_pause).outcome == "paused"
    assert "- last comes first" in world.text
    assert world.of(Noted)
