"""The state file as the loop writes it, over files as they are found: of any size, with rows, statuses and
sections that nobody here knows.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import Behaviour, ProgramState
from verdigris.drivers.loop.program import read_program
from verdigris.drivers.loop.state_file.harness import read_harness
from verdigris.drivers.loop.state_file.person_edits import PersonEdits, read_edits
from verdigris.drivers.loop.state_file.text import (
    MOST_BYTES,
    read_machine_state,
    read_sections,
    with_machine_state,
)
from verdigris.drivers.loop.state_file.view import ProgramFacts, read_count, read_target, render_state

PROGRAM = read_program(
    "port", "---\nschedule: every 6h\ntarget-metric: 40\n---\n## Goal\nPort it.\n\n## Target\n- `src/`\n"
)
FACTS = ProgramFacts(PROGRAM, "autoloop/port")
MAY = 1_778_990_400_000
"""2026-05-17T04:00:00Z."""


def ended(number: int, status: str = "accepted", **more: Any) -> e.IterationEnded:
    one = e.IterationEnded(
        program="port",
        number=number,
        status=status,
        at=MAY + number * 3_600_000,
        change=f"change {number}",
        target=f"f{number}",
        phase="green",
        commit="0123456789abcdef",
        metric=float(number),
        previous=float(number - 1),
        new_tests=1,
    )
    return replace(one, **more)


def state_of(*iterations: e.IterationEnded, **more: Any) -> ProgramState:
    best = next(
        (
            e.Measured(program="port", iteration=one.number, tree="t", metric=one.metric)
            for one in reversed(iterations)
            if one.status == "accepted" and one.metric is not None
        ),
        None,
    )
    return replace(ProgramState("port", iterations=iterations, best=best), **more)


def pinned(number: int, status: str = "passing") -> Behaviour:
    return Behaviour(
        (f"tests/test_a.py::test_{number}",),
        f"f{number}",
        f"does {number}",
        "docs",
        number,
        status,
        made=number,
    )


def wild(iterations: int = 12, padding: int = 0) -> str:
    """A file as agents left them: invented statuses, an old row, no Paused row, dropped sections."""
    entries = "".join(
        f"### Iteration {n} — 2026-05-{n:02d} — [Run](https://example.org/{n})\n\n"
        f"- **Status**: {'pending-ci' if n % 3 else '✅ accepted'}\n- **Change**: did {n}{'.' * padding}\n"
        f"- **Metric**: {n}\n- **Mood**: fine\n\n"
        for n in range(iterations, 0, -1)
    )
    return f"""\
# Autoloop: port

🤖 *Maintained by an agent.*

---

## ⚙ Machine State

| Field | Value |
|-------|-------|
| Last Run | 2026-05-16T04:00:00Z |
| Iteration Count | {iterations} |
| Best Metric | {iterations} |
| Steering Issue | #12 |
| Experiment Log | #13 |
| Recent Statuses | not-pushed, pending-ci, accepted |

---

## 🧬 Population

- c001: kept as it is

## Lessons Learned

- NaN sorts last,
  whatever the direction.

## 📊 Iteration History

{entries}"""


def kept(before: str, after: str) -> list[str]:
    """Lines of the one that the other has not, in their order."""
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return [
        line
        for kind, i1, i2, _, _ in matcher.get_opcodes()
        if kind in {"delete", "replace"}
        for line in before.splitlines()[i1:i2]
    ]


# -- a new file -------------------------------------------------------------------------------


def test_a_new_file_has_every_section_and_all_fourteen_rows() -> None:
    text = render_state("", ProgramState("port"), FACTS)
    assert list(read_sections(text)) == [
        "machine state",
        "program info",
        "current priorities",
        "lessons learned",
        "foreclosed avenues",
        "future directions",
        "iteration history",
    ]
    rows = read_machine_state(text)
    assert [*rows] == [
        *("Last Run", "Iteration Count", "Best Metric", "Target Metric", "Metric Direction", "Branch", "PR"),
        *("Issue", "Paused", "Pause Reason", "Completed", "Completed Reason", "Consecutive Errors"),
        *("Recent Statuses", "Target Metric (program.md)"),
    ]
    assert (rows["Target Metric"], rows["Branch"], rows["Paused"]) == ("40", "autoloop/port", "false")
    assert "- **Goal**: Port it.\n" in text


def test_an_iteration_is_told_with_all_that_the_strategy_asks_for() -> None:
    one = ended(
        2, run="https://example.org/2", notes=("kept small",), lessons=("Zero is no step.",), ci_attempts=1
    )
    text = render_state("", state_of(ended(1, previous=None), one, harness=(pinned(1), pinned(2))), FACTS)
    assert (
        read_sections(text)["iteration history"]
        .partition("### ")[2]
        .startswith(
            "Iteration 2 — 2026-05-17 — [Run](https://example.org/2)\n\n"
            "- **Status**: ✅ accepted\n- **phase**: green\n- **target**: f2\n- **Change**: change 2\n"
            "- **Metric**: 2 (previous best: 1, delta: +1)\n- **new_tests**: 1\n"
            "- **existing_tests_status**: all-green\n- **Commit**: 0123456789ab\n- **CI fix attempts**: 1\n"
            "- **Notes**: kept small\n\n### Iteration 1"
        )
    )
    rows = read_machine_state(text)
    assert rows["Last Run"] == "2026-05-17T06:00:00Z"
    assert (rows["Iteration Count"], rows["Best Metric"], rows["Recent Statuses"]) == (
        "2",
        "2",
        "accepted, accepted",
    )
    assert "- Zero is no step.\n" in read_sections(text)["lessons learned"]
    assert [one.name for one in read_harness(text)] == ["tests/test_a.py::test_2", "tests/test_a.py::test_1"]


def test_a_regression_that_was_mended_and_an_iteration_that_left_nothing_say_so() -> None:
    text = render_state("", state_of(ended(1, regression=True), ended(2, "rejected")), FACTS)
    assert "- **existing_tests_status**: regression-introduced-and-fixed\n" in text
    assert "- **existing_tests_status**: as before the iteration\n" in text


def test_a_pause_and_its_end_are_rows() -> None:
    paused = render_state("", state_of(ended(1, "blocked"), paused="td-stuck: f1"), FACTS)
    rows = read_machine_state(paused)
    assert (rows["Paused"], rows["Pause Reason"]) == ("true", "td-stuck: f1")
    rows = read_machine_state(
        render_state(paused, state_of(ended(1, "blocked"), completed="target met"), FACTS)
    )
    assert (rows["Paused"], rows["Pause Reason"], rows["Completed"]) == ("false", "", "true")


# -- files as they are found ------------------------------------------------------------------


@pytest.mark.parametrize("text", [wild(), wild(40), "# only a title\n", "junk\r\n\x00 | a | b |\n## \n"])
def test_a_log_that_has_nothing_to_say_changes_no_byte(text: str) -> None:
    assert render_state(text, ProgramState("port"), FACTS) == text


def test_what_nobody_here_knows_survives_a_new_iteration() -> None:
    before = wild(5)
    after = render_state(before, state_of(ended(6, lessons=("Dates wrap.",)), harness=(pinned(6),)), FACTS)
    assert kept(before, after) == [
        "| Last Run | 2026-05-16T04:00:00Z |",
        "| Iteration Count | 5 |",
        "| Best Metric | 5 |",
        "| Recent Statuses | not-pushed, pending-ci, accepted |",
    ]
    rows = read_machine_state(after)
    assert rows["Recent Statuses"] == "not-pushed, pending-ci, accepted, accepted"
    assert rows["Steering Issue"] == "#12"
    assert rows["Paused"] == "false"
    assert "program info" not in read_sections(after)
    assert "  whatever the direction.\n- Dates wrap.\n\n## 📊" in after


def test_the_same_state_twice_changes_nothing_more() -> None:
    state = state_of(*(ended(n) for n in range(13, 31)), harness=tuple(pinned(n) for n in range(13, 31)))
    once = render_state(wild(), state, FACTS)
    assert render_state(once, state, FACTS) == once


def test_a_lesson_or_an_entry_that_a_person_took_out_does_not_come_back() -> None:
    state = state_of(ended(1, lessons=("Zero is no step.",)), harness=(pinned(1),))
    text = render_state("", state, FACTS)
    entry = read_harness(text)[0].text
    without = text.replace("- Zero is no step.\n", "").replace(entry, "")
    after = render_state(without, replace(state, iterations=(*state.iterations, ended(2))), FACTS)
    assert "Zero is no step." not in after
    assert read_harness(after) == ()


def test_the_same_lesson_of_two_iterations_stands_once() -> None:
    text = render_state("", state_of(ended(1, lessons=("A.",)), ended(2, lessons=("A.",))), FACTS)
    assert text.count("- A.\n") == 1


LINES = st.sampled_from(
    [
        *("", "words", "- an item", "---", "## Own section", "## ⚙️ Machine State", "## 📊 Iteration History"),
        *(
            "## ✅ Test Harness",
            "## Lessons Learned",
            "| Paused | true |",
            "| Iteration Count | 2 |",
            "|---|---|",
        ),
        *("- **Status**: pending-ci", "### Iteration 2 — b", "### Iters 1–3 — ✅ (metrics 1→2): x"),
        *("### sorts  ·  gen 3", "### Tests 1–2 — ✅ passing (2 batch additions): a, b"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, max_size=16), st.integers(1, 4), st.booleans())
@example(lines=["## 📊 Iteration History", "words"], count=1, ended_by_newline=False)
def test_any_file_is_rendered_once_and_keeps_what_is_not_the_loops(
    lines: list[str], count: int, ended_by_newline: bool
) -> None:
    text = "\n".join(lines) + "\n" * ended_by_newline
    state = state_of(*(ended(n) for n in range(1, count + 1)), harness=tuple(pinned(n) for n in range(count)))
    once = render_state(text, state, FACTS)
    assert render_state(once, state, FACTS) == once
    own = {"words", "- an item", "## Own section", "- **Status**: pending-ci"}
    assert not [line for line in lines if line in own and line not in once.splitlines()]
    assert read_machine_state(once)["Branch"] == "autoloop/port"


# -- size -------------------------------------------------------------------------------------


def test_ten_iterations_stand_in_full_and_older_ones_become_a_line() -> None:
    text = ""
    iterations: tuple[e.IterationEnded, ...] = ()
    for number in range(1, 16):
        iterations = (*iterations, ended(number, "rejected" if number == 4 else "accepted"))
        text = render_state(text, state_of(*iterations), FACTS)
    heads = [line for line in read_sections(text)["iteration history"].splitlines() if line.startswith("###")]
    assert [head.split(" — ")[0] for head in heads[:10]] == [f"### Iteration {n}" for n in range(15, 5, -1)]
    assert heads[10:] == [
        "### Iters 5–5 — ✅ (metrics 5→5): change 5",
        "### Iters 4–4 — 1 rejected (metrics 4→4): change 4",
        "### Iters 1–3 — ✅ (metrics 1→3): change 1; change 2; change 3",
    ]


def test_many_at_once_are_collapsed_in_one_go() -> None:
    text = render_state("", state_of(*(ended(n) for n in range(1, 41))), FACTS)
    heads = [line for line in read_sections(text)["iteration history"].splitlines() if "Iters" in line]
    assert [head.split(" — ")[0] for head in heads] == ["### Iters 1–30"]
    assert "(metrics 1→30): change 1; change 2;" in heads[0]


def test_a_file_that_grows_large_keeps_five_in_full_and_stays_below_its_cap() -> None:
    large = wild(12, padding=2800)
    assert len(large.encode()) > 30_000
    after = render_state(large, state_of(ended(13)), FACTS)
    assert len(after.encode()) < MOST_BYTES * 0.8
    assert after.count("### Iteration ") == 5
    assert "### Iters " in after


def test_a_long_harness_is_collapsed_to_its_number_and_failing_entries_stay() -> None:
    harness = tuple(pinned(n, "failing" if n == 2 else "passing") for n in range(1, 105))
    text = render_state("", state_of(ended(104), harness=harness), FACTS)
    names = [one.name.rpartition("_")[2] for one in read_harness(text) if one.name]
    assert names == [*(str(n) for n in range(104, 5, -1)), "2"]
    assert "### Tests 1–5 — ✅ passing (4 batch additions): tests/test_a.py::test_5" in text


def test_over_its_cap_the_harness_gives_way_too_and_nothing_vanishes_silently() -> None:
    harness = tuple(replace(pinned(n), behaviour="word " * 60) for n in range(1, 100))
    text = render_state("", state_of(*(ended(n) for n in range(1, 100)), harness=harness), FACTS)
    assert len(text.encode()) <= MOST_BYTES
    assert all(f"tests/test_a.py::test_{n}" in text for n in range(1, 100))


# -- the target -------------------------------------------------------------------------------


def test_the_persons_target_holds_until_the_program_says_another() -> None:
    text = render_state("", state_of(ended(1)), FACTS)
    edited = with_machine_state(text, {"Target Metric": "50"})
    after = render_state(edited, state_of(ended(1), ended(2)), FACTS)
    assert read_machine_state(after)["Target Metric"] == "50"
    assert read_target(after, PROGRAM) == 50
    newer = replace(PROGRAM, target_metric=60.0)
    assert read_target(after, newer) == 60
    later = render_state(after, state_of(ended(1), ended(2)), replace(FACTS, program=newer))
    assert read_machine_state(later)["Target Metric"] == "60"


def test_the_count_of_a_file_that_is_found_goes_on() -> None:
    assert read_count(wild(12)) == 12
    assert read_count("") == 0


# -- what people change -----------------------------------------------------------------------

TEXT = render_state("", state_of(ended(1), harness=(pinned(1),)), FACTS)


@pytest.mark.parametrize(
    ("rows", "edits"),
    [
        ({"Paused": "true"}, PersonEdits(paused="manual")),
        ({"Paused": "yes", "Pause Reason": "on holiday"}, PersonEdits(paused="on holiday")),
        ({"Completed": "true", "Completed Reason": "good enough"}, PersonEdits(completed="good enough")),
        ({"Target Metric": "50"}, PersonEdits()),
    ],
)
def test_rows_that_a_person_changed_are_read(rows: dict[str, str], edits: PersonEdits) -> None:
    found = read_edits(TEXT, with_machine_state(TEXT, rows))
    assert replace(found, what=()) == edits
    assert len(found.what) == len(rows)


def test_a_pause_that_a_person_ended_is_a_resumption_and_a_missing_row_is_none() -> None:
    paused = with_machine_state(TEXT, {"Paused": "true", "Pause Reason": "td-stuck: f1"})
    assert read_edits(paused, with_machine_state(paused, {"Paused": "false"})).resumed
    gone = read_edits(paused, paused.replace("| Paused | true |\n", ""))
    assert not gone.resumed
    assert gone.what == ("took out the row Paused",)
    again = with_machine_state(TEXT, {"Pause Reason": "td-stuck: f1"})
    assert read_edits(again, with_machine_state(again, {"Paused": "true"})).paused == "manual"


def test_statuses_are_read_and_changed_sections_are_named() -> None:
    edited = (
        TEXT.replace("_Nobody has said", "First the dates.\n_Nobody has said")
        .replace("_None yet._\n", "- Dates wrap\n  at midnight.\n- Ask Ada.\n", 1)
        .replace("- **Status**: ✅ passing", "- **Status**: 🚧 blocked")
    )
    found = read_edits(TEXT, edited)
    assert found.statuses == (("tests/test_a.py::test_1", "blocked"),)
    assert found.what == (
        "tests/test_a.py::test_1 is blocked",
        "changed the section current priorities",
        "changed the section lessons learned",
        "changed the harness",
    )


def test_nothing_changed_or_a_file_that_is_gone_is_no_edit() -> None:
    assert read_edits(TEXT, TEXT) == PersonEdits()
    assert read_edits(TEXT, "") == PersonEdits()


def test_a_file_that_the_log_does_not_know_is_read_as_news() -> None:
    paused = with_machine_state(wild(), {"Paused": "true", "Pause Reason": "ci-timeout"})
    found = read_edits("", paused)
    assert found.paused == "ci-timeout"
    assert found.what == ("it was there before the log: what it says holds",)
