from __future__ import annotations

import re

import pytest

from support import audits
from verdigris.core.value import replace
from verdigris.views.audit.markdown import MOST_BYTES, render_markdown

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
