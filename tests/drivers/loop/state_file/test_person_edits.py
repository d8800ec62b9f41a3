"""A state file that a person and the loop changed at once: both changes stay, and the person's wins."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdigris.drivers.loop.state_file.person_edits import merge_state

BASE = """\
# Autoloop: port

## ⚙️ Machine State

| Field | Value |
|-------|-------|
| Last Run | 2026-05-17T04:00:00Z |
| Iteration Count | 12 |
| Best Metric | 31 |
| Target Metric | 40 |
| Paused | false |
| Pause Reason | — |

## 📚 Lessons Learned

- NaN sorts last.

## 📊 Iteration History

### Iteration 12 — 2026-05-17

- **Status**: accepted
- **Notes**: none

### Iteration 11 — 2026-05-16

- **Status**: pending-ci
- **Notes**: none
"""
OURS = (
    BASE.replace("04:00:00Z", "08:00:00Z")
    .replace("| Iteration Count | 12 |", "| Iteration Count | 13 |")
    .replace("| Best Metric | 31 |", "| Best Metric | 32 |")
    .replace("- NaN sorts last.\n", "- NaN sorts last.\n- Empty input sorts to itself.\n")
    .replace(
        "### Iteration 12", "### Iteration 13 — 2026-05-18\n\n- **Status**: accepted\n\n### Iteration 12"
    )
)


def test_what_only_the_loop_changed_is_the_loops_text() -> None:
    assert merge_state(BASE, BASE, OURS).text == OURS
    assert merge_state(BASE, OURS, OURS).notes == ()


def test_what_only_a_person_changed_stays_byte_for_byte() -> None:
    theirs = BASE.replace("# Autoloop: port\n", "# Ours\r\n\tindented  \n") + "\n## 🧪 Ideas\nno end of line"
    assert merge_state(BASE, theirs, BASE).text == theirs


def test_neighbouring_rows_of_a_table_are_merged_one_by_one() -> None:
    theirs = BASE.replace("| Target Metric | 40 |", "| Target Metric | 50 |").replace(
        "| Paused | false |", "| Paused | true |"
    )
    merged = merge_state(BASE, theirs, OURS)
    assert merged.text == OURS.replace("| 40 |", "| 50 |").replace("| Paused | false |", "| Paused | true |")
    assert merged.notes == ()


def test_on_the_same_row_the_person_wins_and_one_line_says_so() -> None:
    theirs = BASE.replace("| Best Metric | 31 |", "| Best Metric | 30 |")
    merged = merge_state(BASE, theirs, OURS)
    assert "| Best Metric | 30 |\n" in merged.text
    assert "| Iteration Count | 13 |\n" in merged.text
    assert merged.notes == (
        "`| Best Metric | 30 |` is a person's and stays; the loop had `| Best Metric | 32 |`",
    )


def test_both_add_to_the_same_list() -> None:
    theirs = BASE.replace("- NaN sorts last.\n", "- NaN sorts last.\n- Ask Ada about dates.\n")
    merged = merge_state(BASE, theirs, OURS).text
    assert "- NaN sorts last.\n- Ask Ada about dates.\n- Empty input sorts to itself.\n\n## 📊" in merged


def test_the_same_addition_of_both_stands_once() -> None:
    lesson = BASE.replace("- NaN sorts last.\n", "- NaN sorts last.\n- Empty input sorts to itself.\n")
    assert merge_state(BASE, lesson, OURS).text.count("Empty input") == 1


def test_a_line_at_the_end_of_an_entry_stays_with_its_entry() -> None:
    theirs = BASE.replace(
        "**Status**: accepted\n- **Notes**: none\n", "**Status**: accepted\n- **Notes**: none\n- by Ada\n"
    )
    newer = BASE.replace("### Iteration 11", "### Iteration 11b\n\n- **Status**: x\n\n### Iteration 11")
    merged = merge_state(BASE, theirs, newer).text
    assert merged.index("by Ada") < merged.index("### Iteration 11b")


def test_a_row_that_both_add_is_there_once_and_the_persons() -> None:
    row = "| Pause Reason | — |\n"
    theirs = BASE.replace(row, row + "| PR | #7 |\n")
    merged = merge_state(BASE, theirs, BASE.replace(row, row + "| PR | #8 |\n"))
    assert merged.text == theirs
    assert len(merged.notes) == 1


def test_a_section_that_a_person_deleted_is_not_written_in_pieces() -> None:
    theirs = BASE.replace("## 📚 Lessons Learned\n\n- NaN sorts last.\n\n", "")
    merged = merge_state(BASE, theirs, OURS)
    assert "Empty input" not in merged.text
    assert "Lessons" not in merged.text
    assert any("Empty input" in note for note in merged.notes)


def test_an_entry_that_the_loop_collapses_stays_whole_where_a_person_changed_it() -> None:
    old = BASE[BASE.index("### Iteration 11") :]
    collapsed = BASE.replace(old, "### Iters 1–11 — ✅ (metrics 1→31): dates\n")
    theirs = BASE.replace("pending-ci\n- **Notes**: none", "pending-ci\n- **Notes**: look at this")
    merged = merge_state(BASE, theirs, collapsed)
    assert (
        "### Iteration 11 — 2026-05-16\n\n- **Status**: pending-ci\n- **Notes**: look at this\n"
        in merged.text
    )
    assert "### Iters 1–11" in merged.text
    assert len(merged.notes) == 1


def test_two_rewritings_of_one_paragraph_keep_the_persons() -> None:
    base = "## Program Info\n\nThe goal is A.\n"
    merged = merge_state(base, base.replace("A", "B"), base.replace("A", "C"))
    assert merged.text == base.replace("A", "B")
    assert merged.notes == ("`The goal is B.` is a person's and stays; the loop had `The goal is C.`",)


def test_another_end_of_line_is_no_edit_of_the_words() -> None:
    theirs = BASE.replace("\n", "\r\n")
    merged = merge_state(BASE, theirs, OURS)
    assert "| Iteration Count | 13 |\r\n" in merged.text
    assert merged.notes == ()


@pytest.mark.parametrize("sign", ["⚙ ", "", "⚙️  "])
def test_a_heading_with_another_sign_is_the_same_section(sign: str) -> None:
    theirs = BASE.replace("## ⚙️ Machine State", f"## {sign}Machine State")
    assert merge_state(BASE, theirs, OURS).text == OURS.replace(
        "## ⚙️ Machine State", f"## {sign}Machine State"
    )


# -- any edits --------------------------------------------------------------------------------

LINES = st.sampled_from(
    [
        *("", "words", "- an item", "- another item", "| Paused | true |", "| Paused | false |"),
        *("| Best Metric | 3 |", "- **Status**: accepted", "- **Status**: pending-ci", "## Own section"),
        *(
            "## 📚 Lessons Learned",
            "### Iteration 1 — a",
            "### Iteration 2 — b",
            "### sorts  ·  gen 3",
            "---",
        ),
    ]
)
TEXTS = st.lists(LINES, max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS)
def test_a_text_that_only_one_changed_is_that_ones(base: str, changed: str) -> None:
    assert merge_state(base, base, changed).text == changed
    assert merge_state(base, changed, base).text == changed


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_no_line_that_a_person_wrote_is_lost(base: str, theirs: str, ours: str) -> None:
    merged = Counter(merge_state(base, theirs, ours).text.splitlines())
    written = Counter(theirs.splitlines()) - Counter(base.splitlines())
    assert not [line for line in written if line and not merged[line]]


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_what_was_merged_once_is_merged(base: str, theirs: str, ours: str) -> None:
    merged = merge_state(base, theirs, ours).text
    assert merge_state(merged, merged, merged).text == merged
    assert merge_state(theirs, theirs, merged).text == merged
