"""Which program is due: one at a time, the one that waited longest, and a reason for each of the others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from verdigris.drivers.loop.discovery import FoundProgram
from verdigris.drivers.loop.program import read_program
from verdigris.drivers.loop.survey import WaitingProgram, choose_due, due_document

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
