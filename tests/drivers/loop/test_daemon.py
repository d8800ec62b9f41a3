"""A daemon runs what is due, the oldest first, and outlives whatever befalls a program."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from support.cli import TDD
from support.loops import NAME, PROGRAM, make_loop
from verdigris.core.errors import UserError
from verdigris.core.records import Actor
from verdigris.drivers.budget import Limits
from verdigris.drivers.happenings import DaemonEnded, DaemonRests, Happening, Noted, RunEnded
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.daemon import Daemon, DaemonClock, open_daemon
from verdigris.drivers.loop.discovery import find_program
from verdigris.drivers.loop.open_program import DAEMON, RUN, Occupant, ask_to_stop, find_occupant, occupy
from verdigris.drivers.loop.run import STOPPED
from verdigris.drivers.loop.settings import load_loop
from verdigris.drivers.loop.state_keeper import StateKeeper
from verdigris.drivers.loop.survey import pause_program, stop_runs
from verdigris.storage.project import open_project

pytestmark = pytest.mark.usefixtures("apart")
START = datetime(2026, 1, 1, tzinfo=UTC)
UNSCHEDULED = PROGRAM.replace("schedule: every 6h\n", "limits: {iterations: 2}\n")


@dataclass
class Night:
    """A daemon with a clock of its own and runs that are played; it is stopped after so many of them."""

    root: Path
    most: int
    now: datetime = START
    played: list[tuple[str, int, float]] = field(default_factory=list)
    """Which program, how many iterations, after how many hours."""
    outcomes: list[RunEnded | Exception] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    looks: int = 0

    def make(self) -> Night:
        home = open_project(self.root, Actor())
        clock = DaemonClock(lambda: self.now, self._sleep)
        with occupy(home.repo, DAEMON):
            Daemon(self.root, self.happenings.append, timedelta(minutes=30), self._play, clock).make()
        return self

    def _sleep(self, seconds: float) -> None:
        """In one step to where it wakes: the slices only look whether it is stopped."""
        rest = next(one for one in reversed(self.happenings) if isinstance(one, DaemonRests))
        self.now = max(datetime.fromisoformat(rest.until), self.now + timedelta(seconds=seconds))
        self.looks += 1
        if self.looks >= 60:
            self._stop()

    def _play(self, name: str, limits: Limits) -> RunEnded:
        hours = (self.now - START).total_seconds() / 3600
        self.played.append((name, limits.rounds, round(hours, 2)))
        if len(self.played) >= self.most:
            self._stop()
        got = self.outcomes.pop(0) if self.outcomes else RunEnded("limit", "made", 1)
        if isinstance(got, Exception):
            raise got
        self.now += timedelta(minutes=1)
        if got.steps:
            self._tell_iteration(name)
        return got

    def _tell_iteration(self, name: str) -> None:
        home = open_project(self.root, Actor())
        keeper = StateKeeper(home, find_program(self.root, name), load_loop(self.root), lambda _: None)
        at, number = int(self.now.timestamp() * 1000), keeper.state().count + 1
        home.record(e.IterationEnded(program=name, number=number, status="accepted", at=at))
        keeper.write()

    def _stop(self) -> None:
        ask_to_stop(open_project(self.root, Actor()).repo, os.getpid(), "")

    def notes(self) -> list[str]:
        return [one.text for one in self.happenings if isinstance(one, Noted)]


def add_program(root: Path, name: str, text: str = PROGRAM) -> None:
    folder = root / f".autoloop/programs/{name}"
    (folder / "strategy").mkdir(parents=True)
    (folder / "program.md").write_text(text)
    (folder / "strategy/test-driven.md").write_text("# Test-driven\n")


def test_programs_run_one_after_the_other_each_at_its_time(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    add_program(world.root, "zeta", PROGRAM.replace("every 6h", "every 2h"))
    night = Night(world.root, 5).make()
    assert [(name, round(hours)) for name, _, hours in night.played] == [
        *((NAME, 0), ("zeta", 0), ("zeta", 2), ("zeta", 4)),
        (NAME, 6),
    ]
    assert {iterations for _, iterations, _ in night.played} == {1}
    assert night.happenings[-1] == DaemonEnded(STOPPED, 5)


def test_a_program_without_a_schedule_goes_on_until_its_limits_for_the_whole_night(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project", program=UNSCHEDULED)
    night = Night(world.root, 9).make()
    assert [name for name, _, _ in night.played] == [NAME, NAME]
    assert night.notes() == [f"{NAME} is skipped: the limit of 2 iterations is reached"]


def test_what_cannot_be_reached_is_tried_again_later_and_later_and_said_once(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    gone = RunEnded("infrastructure", "the model is silent")
    night = Night(world.root, 5, outcomes=[gone, gone, gone, RunEnded("limit", "", 1)]).make()
    minutes = [round(hours * 60) for _, _, hours in night.played]
    assert minutes[:4] == [0, 2, 5, 10]
    assert minutes[4] == pytest.approx(6 * 60 + 11, abs=2)
    assert len(night.notes()) == 1
    assert "the model is silent" in night.notes()[0]


@pytest.mark.parametrize("fault", [UserError("nobody plays the test_writer"), ZeroDivisionError("of ours")])
def test_a_fault_in_one_program_leaves_the_others_alone(tmp_path: Path, fault: Exception) -> None:
    world = make_loop(tmp_path / "project")
    add_program(world.root, "zeta")
    night = Night(world.root, 3, outcomes=[fault]).make()
    assert [name for name, _, _ in night.played] == [NAME, "zeta", NAME]
    assert str(fault) in night.notes()[0]


def test_a_broken_and_a_paused_program_are_left_out_and_said_once(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    add_program(world.root, "broken", "## Goal\n\n<CUSTOMIZE: what>\n")
    add_program(world.root, "waits")
    pause_program(open_project(world.root, Actor()), "waits", "not tonight")
    night = Night(world.root, 2).make()
    assert {name for name, _, _ in night.played} == {NAME}
    assert sorted(night.notes()) == [
        "broken is skipped: unconfigured: 2 findings (`tdd loop lint broken`)",
        "waits is skipped: paused: not tonight (`tdd loop resume waits`)",
    ]


def test_a_stopped_run_is_not_started_again_and_the_others_go_on(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    add_program(world.root, "zeta")
    night = Night(world.root, 3, outcomes=[RunEnded("paused", STOPPED)]).make()
    assert [name for name, _, _ in night.played] == [NAME, "zeta", "zeta"]


def test_a_run_by_hand_is_waited_for(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    repo = open_project(world.root, Actor()).repo
    with occupy(repo, RUN, "other"):
        night = Night(world.root, 1).make()
    assert night.played == []
    rest = next(one for one in night.happenings if isinstance(one, DaemonRests))
    assert rest.why == f"process {os.getpid()} runs other"


def test_a_second_daemon_is_told_who_is_at_work(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    with (
        open_daemon(world.root, world.happenings.append, 1, wait=False),
        pytest.raises(UserError, match=f"a daemon is at work .*process {os.getpid()}"),
        open_daemon(world.root, world.happenings.append, 1, wait=False),
    ):
        pass


@pytest.mark.usefixtures("remembered_runs")
def test_a_daemon_that_is_stopped_in_a_step_ends_after_it(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    repo = open_project(world.root, Actor()).repo
    asked: list[Occupant] = []

    def watch(happening: Happening) -> None:
        world.happenings.append(happening)
        if type(happening).__name__ == "StepBegan" and not asked:
            asked.extend(stop_runs(repo, ""))

    with open_daemon(world.root, watch, 1, wait=False) as daemon:
        assert daemon.make() == DaemonEnded(STOPPED, 1)
    assert [one.program for one in asked] == ["", NAME]
    assert world.state.open is not None
    assert world.run().outcome == "limit"


@pytest.mark.usefixtures("remembered_runs")
def test_a_signal_in_a_step_leaves_nothing_behind_that_the_next_run_could_not_take_up(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    with Popen([*TDD, "loop", "daemon", "--json"], cwd=world.root, stdout=PIPE) as daemon:
        assert daemon.stdout is not None
        told = [json.loads(line) for line in _until(daemon.stdout, b'"step_began"')]
        daemon.send_signal(signal.SIGTERM)
        rest = [json.loads(line) for line in daemon.stdout]
    assert told[-1]["role"] == "test_writer"
    assert (daemon.returncode, rest[-1]["event"]) == (130, "interrupted")
    assert find_occupant(open_project(world.root, Actor()).repo, RUN) is None
    assert world.run(2).outcome == "limit"
    assert [subject.split(": ")[-1] for subject in world.subjects()] == ["the first item", "the last item"]


def _until(lines: Iterable[bytes], mark: bytes) -> Iterator[bytes]:
    for line in lines:
        yield line
        if mark in line:
            return
