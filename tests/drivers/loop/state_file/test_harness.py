"""The harness: what the file lists, what the log knows, and what the suite proves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.state_files import FILE
from verdigris.core.report import Status
from verdigris.drivers.loop.history import Behaviour
from verdigris.drivers.loop.state_file.harness import (
    HarnessEntry,
    collapse_harness,
    read_harness,
    reconcile,
    update_harness,
    with_harness,
)


def test_the_harness_is_read_with_what_people_added() -> None:
    failing, passing, rest = read_harness(FILE)
    assert (failing.name, failing.gen, failing.status) == ("sorts NaN last", 12, "failing")
    assert failing.fields["Owner"] == "Ada"
    assert passing.fields["Made green iteration"] == "11"
    assert (rest.name, rest.status) == ("", "range")


def test_an_entry_is_changed_in_place_and_a_new_one_stands_first() -> None:
    entries = read_harness(FILE)
    green = entries[0].with_status("passing", {"Made green iteration": "13"})
    new = HarnessEntry.make("sorts text", 13, "failing", {"Target": "src/sort.ts", "Added iteration": "13"})
    changed = with_harness(FILE, (new, green, *entries[1:]))
    assert changed.index("### sorts text  ·  gen 13") < changed.index("### sorts NaN last  ·  gen 12")
    assert "- **Status**: ✅ passing\n- **Target**: src/sort.ts:10\n" in changed
    assert "- **Owner**: Ada\n- **Made green iteration**: 13\n" in changed
    assert "## 🧪 Ideas of ours\n\nkeep me\n" in changed


@pytest.mark.parametrize("status", ["passing", "failing", "blocked"])
def test_every_status_is_written_with_its_sign(status: str) -> None:
    entry = HarnessEntry.make("a", 1, status, {})
    assert read_harness(with_harness("", (entry,)))[0].status == status


def test_a_long_harness_collapses_its_oldest_passing_entries_and_says_so() -> None:
    many = tuple(
        HarnessEntry.make(f"t{n}", n, "failing" if n == 3 else "passing", {}) for n in range(12, 0, -1)
    )
    kept = collapse_harness(many, most=6)
    assert [one.name for one in kept if one.name] == ["t12", "t11", "t10", "t9", "t8", "t3"]
    assert kept[-1].text == "### Tests 1–7 — ✅ passing (6 batch additions): t7, t6, t5, t4, t2, t1\n\n"


def test_a_range_grows_until_it_is_long_and_older_ranges_stay() -> None:
    entries = (
        *(HarnessEntry.make(f"t{n}", n, "passing", {}) for n in range(9, 3, -1)),
        *read_harness(FILE)[2:],
    )
    for most in (5, 4):
        entries = collapse_harness(entries, most)
    assert [one.text for one in entries if one.status == "range"] == [
        "### Tests 4–5 — ✅ passing (2 batch additions): t5, t4\n\n",
        "### Tests 1–9 — ✅ passing (9 batch additions for dates): dates\n\n",
    ]
    assert collapse_harness(entries, 0)[0].text.startswith(
        "### Tests 4–9 — ✅ passing (6 batch additions): t9, t8"
    )


# -- from the log -----------------------------------------------------------------------------

TAKE = Behaviour(("tests/test_take.py::test_take",), "take", "takes n items", "docs of take", 13)


def test_a_new_behaviour_stands_first_and_is_changed_in_place_later() -> None:
    added = update_harness(FILE, (TAKE,), 12)
    entry = read_harness(added)[0]
    assert (entry.name, entry.gen, entry.status) == (TAKE.name, 13, "failing")
    assert entry.fields["Spec source"] == "docs of take"
    assert added.replace(entry.text, "") == FILE
    made = update_harness(added, (replace(TAKE, status="passing", made=13),), 13)
    assert read_harness(made)[0].fields["Made green iteration"] == "13"
    assert update_harness(made, (replace(TAKE, status="passing", made=13),), 13) == made


def test_an_entry_that_a_person_took_out_stays_out_while_it_passes() -> None:
    gone = replace(TAKE, status="passing", made=13)
    assert update_harness(FILE, (gone,), 13) == FILE
    assert len(read_harness(update_harness(FILE, (replace(gone, status="failing"),), 13))) == 4


def test_a_section_that_was_dropped_is_made_again_from_the_log() -> None:
    bare = "# x\n"
    found = read_harness(update_harness(bare, (replace(TAKE, status="passing"),), 20))
    assert [one.name for one in found] == [TAKE.name]


def test_a_revised_test_keeps_its_entry_and_says_why() -> None:
    before = update_harness(FILE, (TAKE,), 12)
    revised = replace(TAKE, tests=("tests/test_take.py::test_take_more",), revisions=("the docs say so",))
    after = read_harness(update_harness(before, (revised,), 13))
    assert len(after) == 4
    assert after[0].name == "tests/test_take.py::test_take_more"
    assert after[0].fields["Notes"] == "takes n items; test-revised: the docs say so"


def test_a_status_that_nobody_here_knows_stays_until_the_log_says_another() -> None:
    odd = update_harness(FILE, (TAKE,), 12).replace("- **Status**: ❌ failing", "- **Status**: pending-ci", 1)
    assert read_harness(odd)[0].status == "pending-ci"
    assert (
        read_harness(update_harness(odd, (replace(TAKE, status="blocked", blocked="why"),), 13))[0].status
        == "blocked"
    )


# -- against the suite ------------------------------------------------------------------------

TEST = TAKE.name


@pytest.mark.parametrize(
    ("status", "suite", "after", "note"),
    [
        ("passing", {TEST: Status.PASS}, "passing", ""),
        ("failing", {TEST: Status.PASS}, "passing", "passes in the suite: its entry said failing"),
        ("blocked", {TEST: Status.PASS}, "passing", "passes in the suite: its entry said blocked"),
        ("passing", {TEST: Status.FAIL}, "failing", "fails: its entry said passing"),
        ("passing", {TEST: Status.SKIP}, "failing", "is skipped: its entry said passing"),
        ("passing", {}, "failing", "is not in the suite: its entry said passing"),
        ("failing", {TEST: Status.ERROR}, "failing", ""),
        ("blocked", {TEST: Status.SKIP}, "blocked", ""),
        ("blocked", {}, "blocked", "is not in the suite: its entry stays blocked"),
        ("failing", {f"{TEST}[0]": Status.PASS, f"{TEST}[1]": Status.PASS}, "passing", "passes in the suite"),
        ("passing", {f"{TEST}[0]": Status.PASS, f"{TEST}[1]": Status.FAIL}, "failing", "fails"),
    ],
)
def test_where_harness_and_suite_disagree_the_suite_is_right_and_it_is_said(
    status: str, suite: dict[str, Status], after: str, note: str
) -> None:
    (entry,), notes = reconcile((replace(TAKE, status=status),), suite, 14)
    assert entry.status == after
    assert bool(notes) is bool(note)
    assert all(note in said and TEST in said for said in notes)
