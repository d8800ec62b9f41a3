"""The state file is a view that people edit: what nobody here knows survives byte for byte."""

from __future__ import annotations

import pytest

from verdigris.drivers.loop.state_file import (
    HarnessEntry,
    collapse_harness,
    read_harness,
    read_machine_state,
    read_sections,
    with_harness,
    with_machine_state,
    with_section,
)

FILE = """\
# Autoloop: port

A line that somebody wrote.

## ⚙️ Machine State

| Field | Value |
|-------|-------|
| Last Run | 2026-05-17T04:00:00Z |
| Iteration Count | 12 |
| Best Metric | 31 |
| Steering Issue | #12 |
| Paused | false |
| Recent Statuses | accepted, pending-ci, accepted |

## 📋 Program Info

**Goal**: port it.

## ✅ Test Harness

> Kept by `tdd loop`: one entry for each pinned behaviour, the newest first.

### sorts NaN last  ·  gen 12

- **Status**: ❌ failing
- **Target**: src/sort.ts:10
- **Spec source**: https://example.org/sort
- **Added iteration**: 12
- **Owner**: Ada

---

### sorts numbers  ·  gen 11

- **Status**: ✅ passing
- **Target**: src/sort.ts:4
- **Spec source**: issue 3
- **Added iteration**: 11
- **Made green iteration**: 11

---

### Tests 1–9 — ✅ passing (9 batch additions for dates): dates

## 🧪 Ideas of ours

keep me
"""


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


def test_the_harness_is_read_with_what_people_added() -> None:
    failing, passing, rest = read_harness(FILE)
    assert (failing.name, failing.gen, failing.status) == ("sorts NaN last", 12, "failing")
    assert failing.fields["Owner"] == "Ada"
    assert passing.fields["Made green iteration"] == "11"
    assert (rest.name, rest.status) == ("", "range")


def test_an_entry_is_changed_in_place_and_a_new_one_stands_first() -> None:
    entries = read_harness(FILE)
    green = entries[0].with_status("passing", {"Made green iteration": "13"})
    new = HarnessEntry.made("sorts text", 13, "failing", {"Target": "src/sort.ts", "Added iteration": "13"})
    changed = with_harness(FILE, (new, green, *entries[1:]))
    assert changed.index("### sorts text  ·  gen 13") < changed.index("### sorts NaN last  ·  gen 12")
    assert "- **Status**: ✅ passing\n- **Target**: src/sort.ts:10\n" in changed
    assert "- **Owner**: Ada\n- **Made green iteration**: 13\n" in changed
    assert "## 🧪 Ideas of ours\n\nkeep me\n" in changed


@pytest.mark.parametrize("status", ["passing", "failing", "blocked"])
def test_every_status_is_written_with_its_sign(status: str) -> None:
    entry = HarnessEntry.made("a", 1, status, {})
    assert read_harness(with_harness("", (entry,)))[0].status == status


def test_a_long_harness_collapses_its_oldest_passing_entries_and_says_so() -> None:
    many = tuple(
        HarnessEntry.made(f"t{n}", n, "failing" if n == 3 else "passing", {}) for n in range(12, 0, -1)
    )
    kept = collapse_harness(many, most=6)
    assert [one.name for one in kept if one.name] == ["t12", "t11", "t10", "t9", "t8", "t3"]
    assert kept[-1].text == "### Tests 1–7 — ✅ passing (6 batch additions): t7, t6, t5, t4, t2, t1\n"
