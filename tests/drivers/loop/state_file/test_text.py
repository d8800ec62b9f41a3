"""The state file is a view that people edit: what nobody here knows survives byte for byte."""

from __future__ import annotations

import pytest

from support.state_files import FILE
from verdigris.drivers.loop.state_file.harness import read_harness, with_harness
from verdigris.drivers.loop.state_file.text import (
    is_yes,
    read_machine_state,
    read_sections,
    with_machine_state,
    with_section,
)


def test_a_file_that_nobody_changes_is_the_same_bytes() -> None:
    assert with_machine_state(FILE, {}) == FILE
    assert with_harness(FILE, read_harness(FILE)) == FILE


def test_headings_are_found_with_or_without_their_sign() -> None:
    plain = FILE.replace("## ⚙️ Machine State", "## Machine State").replace("⚙️", "⚙")
    assert list(read_sections(plain))[:2] == ["machine state", "program info"]
    assert read_machine_state(plain)["Iteration Count"] == "12"


def test_rows_that_nobody_knows_stay_and_known_ones_change_in_place() -> None:
    changed = with_machine_state(FILE, {"Iteration Count": "13", "Pause Reason": "td-stuck: sort"})
    assert "| Iteration Count | 13 |\n" in changed
    assert "| Steering Issue | #12 |\n" in changed
    assert (
        "| Recent Statuses | accepted, pending-ci, accepted |\n| Pause Reason | td-stuck: sort |\n" in changed
    )
    assert (
        with_machine_state(changed, {"Iteration Count": "12"}).replace(
            "| Pause Reason | td-stuck: sort |\n", ""
        )
        == FILE
    )


def test_a_missing_section_is_added_at_the_end() -> None:
    bare = "# x\n"
    made = with_machine_state(bare, {"Paused": "true"})
    assert made == "# x\n\n## ⚙️ Machine State\n\n| Field | Value |\n|-------|-------|\n| Paused | true |\n"
    assert with_section(made, "lessons learned", "- a\n").endswith("\n## 📚 Lessons Learned\n\n- a\n")


def test_a_value_stays_in_its_cell() -> None:
    changed = with_machine_state(FILE, {"Pause Reason": "a | b\nc"})
    assert "| Pause Reason | a ¦ b c |\n" in changed


@pytest.mark.parametrize(
    ("said", "meant"), [("true", True), ("`yes`", True), ("**True**", True), ("no", False)]
)
def test_a_yes_is_a_yes_however_it_is_marked(said: str, *, meant: bool) -> None:
    assert is_yes(said) is meant
