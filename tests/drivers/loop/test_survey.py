"""How programs stand is read from the log, the state files and the lock."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.loops import NAME, make_loop
from verdigris.core.records import Actor
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.discovery import FoundProgram
from verdigris.drivers.loop.open_program import RUN, occupy
from verdigris.drivers.loop.program import read_program
from verdigris.drivers.loop.survey import WaitingProgram, choose_due, due_document, survey_programs
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project, open_project
from verdigris.views.status import status_lines

pytestmark = pytest.mark.usefixtures("apart")


@pytest.fixture
def home(tmp_path: Path) -> Project:
    return open_project(make_loop(tmp_path / "project").root, Actor())


def pinned(home: Project, number: int, target: str) -> None:
    commit = home.workspace.snapshot()
    home.record(
        e.IterationBegun(program=NAME, number=number, commit="HEAD", tree=commit, at=1),
        e.BehaviourPinned(
            program=NAME,
            iteration=number,
            tests=(f"t.py::test_{target}",),
            target=target,
            behaviour=f"{target} holds",
            source="reference.md",
            tree=commit,
        ),
    )


def test_a_program_that_never_ran_is_ready(home: Project) -> None:
    (found,) = survey_programs(home, "")
    assert (found.name, found.condition, found.strategy) == (NAME, "ready", "test-driven")
    assert (found.iterations, found.open, found.harness, found.best) == (0, None, (), None)


def test_an_open_iteration_tells_its_phase_and_attempt(home: Project) -> None:
    pinned(home, 1, "first")
    home.record(e.GreenFailed(program=NAME, iteration=1, attempt=2, reasons=("no",)))
    with occupy(home.repo, RUN, NAME):
        (found,) = survey_programs(home, NAME)
    assert (found.condition, found.pid) == ("running", os.getpid())
    assert found.open is not None
    assert (found.open.number, found.open.phase, found.open.attempt, found.open.target) == (
        *(1, "green", 3),
        "first",
    )
    assert [line.text for line in status_lines([found])] == [
        f"{NAME} (test-driven) running (process {os.getpid()})",
        "  iteration 1 (first): green, attempt 3",
        "  harness ○  1 failing",
        f"  branch autoloop/{NAME}",
    ]


def test_what_ended_is_told_with_its_metric_and_its_reason(home: Project) -> None:
    pinned(home, 1, "first")
    home.record(
        e.BehaviourMade(program=NAME, iteration=1, tests=("t.py::test_first",), tree="", lines=2),
        e.Measured(program=NAME, iteration=1, tree="", metric=3.0),
        e.IterationEnded(
            program=NAME, number=1, status="accepted", at=now_ms(), change="first holds", metric=3.0
        ),
    )
    pinned(home, 2, "last")
    home.record(
        e.BehaviourBlocked(program=NAME, iteration=2, tests=("t.py::test_last",), why="5 attempts failed"),
        e.IterationEnded(program=NAME, number=2, status="blocked", at=now_ms(), notes=("5 attempts failed",)),
        e.ProgramPaused(program=NAME, reason="td-stuck: last", at=now_ms()),
    )
    (found,) = survey_programs(home, NAME)
    assert (found.condition, found.why, found.harness) == (
        *("paused", "td-stuck: last"),
        ("passing", "blocked"),
    )
    assert [line.text for line in status_lines([found])] == [
        f"{NAME} (test-driven) paused: td-stuck: last",
        "  2 iterations",
        "  harness ●✗  1 passing, 1 blocked",
        "  best 3  ▄",
        f"  branch autoloop/{NAME}",
        "  1: accepted: first holds, metric 3",
        "  2: blocked: 5 attempts failed",
        f"next: `tdd loop resume {NAME}`",
    ]


def test_a_broken_program_says_so(tmp_path: Path) -> None:
    broken = make_loop(tmp_path / "project", program="## Goal\n\n<CUSTOMIZE: what>\n")
    (found,) = survey_programs(open_project(broken.root, Actor()), NAME)
    assert found.condition == "not-ready"
    assert status_lines([found])[0].dot == "red"


NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)


def candidate(name: str, faults: int = 0, schedule: str = "every 6h", **state: str) -> WaitingProgram:
    text = f"---\nschedule: {schedule}\n---\n"
    rows = {key.replace("_", " "): said for key, said in state.items()}
    return WaitingProgram(FoundProgram(read_program(name, text), f"{name}.md", text, {}), rows, faults=faults)


def test_the_one_that_waited_longest_is_chosen_and_one_that_never_ran_first() -> None:
    ran = candidate("ran", Last_Run="2026-05-17T01:00:00Z")
    older = candidate("older", Last_Run="2026-05-16T01:00:00Z")
    found = choose_due([ran, older], NOW)
    assert found.selected is older
    assert found.deferred == ("ran",)
    assert choose_due([ran, older, candidate("new")], NOW).selected == candidate("new")


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (candidate("a", Last_Run="2026-05-17T09:00:00Z"), "not due"),
        (candidate("a", Paused="true", Pause_Reason="td-stuck: sort"), "paused: td-stuck: sort"),
        (candidate("a", Completed="yes"), "completed"),
        (candidate("a", Recent_Statuses="accepted, " + "rejected, " * 5), "plateau"),
        (candidate("a", faults=2), "unconfigured: 2 findings"),
    ],
)
def test_a_program_that_is_not_chosen_says_why(one: WaitingProgram, reason: str) -> None:
    found = choose_due([one], NOW)
    assert found.selected is None
    assert found.skipped[0].reason.startswith(reason)


def test_the_next_time_is_told() -> None:
    found = choose_due([candidate("a", Last_Run="2026-05-17T09:00:00Z")], NOW)
    assert found.skipped[0].next_due == "2026-05-17T15:00:00+00:00"


def test_a_name_that_is_asked_for_runs_unless_it_is_unfinished() -> None:
    paused = candidate("a", Paused="true")
    assert choose_due([paused, candidate("b")], NOW, forced="a").selected is paused
    assert choose_due([candidate("a", faults=1)], NOW, forced="a").selected is None


@pytest.mark.parametrize("said", ["", "—", "yesterday"])
def test_a_time_that_nobody_can_read_counts_as_never(said: str) -> None:
    assert choose_due([candidate("a", Last_Run=said)], NOW).selected is not None


def test_the_document_has_the_fields_that_the_scheduler_prints() -> None:
    document = due_document(choose_due([candidate("a"), candidate("b", Paused="true")], NOW))
    assert (document["selected"], document["selected_file"], document["head_branch"]) == (
        "a",
        "a.md",
        "autoloop/a",
    )
    assert document["skipped"] == [{"name": "b", "reason": "paused: manual (`tdd loop resume b`)"}]
    assert (document["state_file_max_bytes"], document["no_programs"]) == (30720, False)
    assert due_document(choose_due([], NOW))["no_programs"] is True
