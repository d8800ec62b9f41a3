from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from verdigris.views.lines import Line, block, count_of, make_visible, wrap


def test_plain_text_stays_as_it_is() -> None:
    assert make_visible("tests/test_ä → ● b.py::test[1 2]") == "tests/test_ä → ● b.py::test[1 2]"


def test_a_name_with_a_newline_stays_on_its_line() -> None:
    assert make_visible("a\nb\tc\\") == r"a\nb\tc" + "\\"


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    assert make_visible("\x1b[2J\x9b") == r"\x1b[2J\x9b"


def test_bytes_that_are_not_utf8_are_shown_as_bytes() -> None:
    assert make_visible(os.fsdecode(b"t\xff.py")) == r"t\xff.py"


@given(st.text())
def test_whatever_comes_is_printable_and_can_be_encoded(text: str) -> None:
    shown = make_visible(text)
    assert shown.isprintable()
    shown.encode("utf-8")


def test_a_block_keeps_the_last_lines_and_says_what_it_left_out() -> None:
    lines = [line.text for line in block("1\n2\n\t3\n", most=2)]
    assert lines == ["    … 1 line left out", "    2", "            3"]


def test_one_is_not_many() -> None:
    assert (count_of(1, "file"), count_of(2, "file"), count_of(0, "file")) == ("1 file", "2 files", "0 files")


def test_a_long_line_is_wrapped_at_words_below_its_own_beginning() -> None:
    told = wrap(Line("    attempt 1 not accepted: " + "word " * 20, "yellow"), 40)
    assert [len(line.text) <= 40 for line in told] == [True] * len(told)
    assert [line.dot for line in told] == ["yellow", *[None] * (len(told) - 1)]
    assert told[1].text.startswith("      word")
    assert all(
        word in {"word", "attempt", "1", "not", "accepted:"} for line in told for word in line.text.split()
    )


def test_a_line_of_code_is_cut_and_one_that_fits_stays() -> None:
    assert wrap(Line("x" * 90, code=True), 80)[0].text == "x" * 79 + "…"
    assert wrap(Line("short"), 80) == [Line("short")]
