from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from support import audits
from verdigris.core.value import replace
from verdigris.drivers.audit.report import FoundPlace
from verdigris.views.audit.text import MOST_BYTES, render_markdown, render_table, table_lines

pytestmark = pytest.mark.quick


def test_each_unit_is_a_row_with_its_outcome() -> None:
    text = render_markdown(audits.EVERYTHING)
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(audits.UNITS)
    assert rows[0] == "| ● | test-driven | `111111111` | Add up the prices of a cart | 2 tests | 1.2 s |"
    assert rows[2].startswith("| ▼ | **weakened** |")


def test_titles_neither_break_the_table_nor_bring_tags() -> None:
    text = render_markdown(audits.EVERYTHING)
    assert "| Speed up \\| with a cache |" in text
    assert "<script>" not in text
    assert "Round to cents &lt;script&gt;" in text


def test_before_and_after_of_a_weakened_check_stand_as_a_diff() -> None:
    text = render_markdown(audits.EVERYTHING)
    assert (
        "- weakened `tests/test_cart.py:4`: weaker\n\n"
        "  ```diff\n  - assert total([3, 4]) == 7\n  + assert total([3, 4])\n  ```\n" in text
    )


def test_what_blames_is_open_and_the_rest_is_folded() -> None:
    text = render_markdown(audits.EVERYTHING)
    assert "<details open><summary>regressed: 444444444 Speed up | with a cache</summary>" in text
    assert "<details><summary>test-driven: 111111111" in text
    assert text.index("regressed: 444444444") < text.index("weakened: 333333333")


def test_ticks_in_code_do_not_end_it() -> None:
    red = replace(audits.DRIVEN.reds[1], message="assert `a` == ``b``")
    text = render_markdown(audits.report(replace(audits.DRIVEN, reds=(red,))))
    assert "``` assert `a` == ``b`` ```" in text


def test_a_page_that_is_too_long_says_what_it_left_out() -> None:
    many = audits.report(*[audits.WEAKENED] * 2_000)
    text = render_markdown(many, most=100_000)
    assert len(text.encode()) <= 100_000 < MOST_BYTES
    found = re.search(r"Left out, for want of room: (\d+) rows and (\d+) changes' findings\.", text)
    assert found is not None
    rows = text.count("| ▼ |")
    assert rows + int(found[1]) == 2_000


def test_findings_are_left_out_before_rows_are() -> None:
    text = render_markdown(audits.EVERYTHING, most=2_300)
    assert text.count("\n| ") == len(audits.UNITS) + 1
    assert "changes' findings.**" in text


def test_an_empty_range_says_so() -> None:
    assert "There is no commit in this range." in render_markdown(audits.report())


@pytest.mark.parametrize("width", [60, 80, 132])
def test_no_line_of_a_unit_is_wider_than_the_terminal_though_letters_are_wide(width: int) -> None:
    lines = render_table(audits.EVERYTHING, width).splitlines()
    rows = lines[: len(audits.UNITS)]
    assert {cell_len(row) for row in rows} == {width}
    assert all(cell_len(line) <= width for line in lines)


def test_a_unit_is_a_line_with_outcome_commit_title_reds_and_seconds() -> None:
    row = render_table(audits.EVERYTHING, 100).splitlines()[0]
    assert row.split() == "● test-driven 111111111 Add up the prices of a cart 2 reds 1.2 s".split()  # noqa: SIM905


def test_reds_that_do_not_count_are_not_counted() -> None:
    unit = replace(audits.DRIVEN, reds=tuple(replace(red, valid=False) for red in audits.DRIVEN.reds))
    assert "red " not in render_table(audits.report(unit)).splitlines()[0].replace("test-driven", "")


def test_what_blames_is_told_below_with_its_place() -> None:
    text = render_table(audits.EVERYTHING, 110)
    assert "\n● weakened  333333333 Make the suite pass again\n" in text
    assert (
        "  tests/test_cart.py:4: weaker\n"
        "    before  assert total([3, 4]) == 7\n"
        "    after   assert total([3, 4])\n" in text
    )
    assert "    after   (gone)\n" in text
    assert "  src/cart.py:10-11: uncovered: 2 changed lines, and no test runs them\n" in text
    assert "  src/cart.py: source changed, and no test was red before\n" in text
    assert "  src/cart.py:3: concern: the value 7 stands in a test too (literal)\n" in text


def test_the_end_sums_up_and_names_a_next_move_for_each_outcome_that_blames() -> None:
    report = audits.report(audits.DRIVEN, audits.UNTESTED)
    *_, total, advice = render_table(report, 100).splitlines()
    assert total == "main..HEAD, commit by commit: 2 changes: 1 test-driven, 1 untested (3.8 s)"
    assert advice == "next: untested: add a test that fails without this change and passes with it"


def test_a_squashed_range_is_called_one_change() -> None:
    report = replace(audits.report(audits.DRIVEN), squash=True)
    assert "main..HEAD, as one change: 1 change: 1 test-driven" in render_table(report, 100)


def test_an_empty_range_is_told_too() -> None:
    assert render_table(audits.report()) == "there is no commit in main..HEAD\n"


def test_colour_is_a_dot_and_never_part_of_the_text() -> None:
    lines = table_lines(audits.EVERYTHING, 80)
    assert [line.dot for line in lines[:10]] == [
        *("green", "red", "red", "red", "red"),
        *("green", "green", None, "yellow", "yellow"),
    ]
    assert all("\x1b" not in line.text for line in lines)


def test_a_title_cannot_command_the_terminal() -> None:
    unit = replace(audits.DRIVEN, commit=audits.commit(1, "\x1b[2Jgone\nand more"))
    text = render_table(audits.report(unit), 100)
    assert "\\x1b[2Jgone\\nand more" in text
    assert "\x1b" not in text


def test_of_many_findings_the_rest_is_counted() -> None:
    places = tuple(FoundPlace("a.py", line * 2, f"line {line}") for line in range(40))
    text = render_table(audits.report(replace(audits.UNTESTED, uncovered=places)))
    assert "  … and 28 more that are uncovered\n" in text


def test_whole_ids_in_a_range_are_cut() -> None:
    report = replace(audits.report(audits.DRIVEN), range=f"{'a' * 40}..{'b' * 40}")
    assert f"\n{'a' * 9}..{'b' * 9}, commit by commit:" in render_table(report)


def test_of_many_notes_the_rest_is_counted() -> None:
    notes = tuple(f"note {number}" for number in range(30))
    assert "  … and 18 notes more\n" in render_table(audits.report(replace(audits.UNVERIFIED, notes=notes)))


def test_no_file_is_named_where_nobody_is_blamed() -> None:
    late = replace(audits.UNVERIFIED, why="the test run did not end in time.", paths=("src/door.py",))
    text = render_table(audits.report(late))
    assert "\n  the test run did not end in time.\n" in text
    assert "door.py" not in text
