from __future__ import annotations

from verdigris.drivers.code.tools.replacement import Mismatch, replace_once

CODE = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"


def mismatch(search: str, text: str = CODE) -> Mismatch:
    found = replace_once("calc.py", text, search, "x")
    assert isinstance(found, Mismatch)
    return found


def test_a_text_that_stands_once_is_replaced() -> None:
    assert replace_once("c", CODE, "a - b", "b - a") == CODE.replace("a - b", "b - a")


def test_line_ends_are_taken_as_the_file_has_them() -> None:
    crlf = CODE.replace("\n", "\r\n")
    made = replace_once("c", crlf, "sub(a, b):\n    return a - b\n", "sub(a, b):\n    return 0\n")
    assert made == crlf.replace("a - b", "0")


def test_several_matches_are_refused_with_their_number_and_lines() -> None:
    found = mismatch("(a, b):")
    assert found.matches == 2
    assert "2 matches in calc.py, at lines 1, 5" in found.words


def test_no_match_is_refused_with_the_nearest_lines_and_their_numbers() -> None:
    found = mismatch("def sub(a,b):\n    return a-b")
    assert found.matches == 0
    assert "0 matches" in found.words
    assert "5\tdef sub(a, b):" in found.words
    assert "6\t    return a - b" in found.words


def test_among_lines_that_are_alike_the_one_with_the_right_neighbours_is_nearest() -> None:
    text = "    return None\n    x = 1\n" + "pass\n" * 30 + "    return None\n    y = 2\n"
    assert "34\t    y = 2" in mismatch("  return None\n    y = 2\nz", text).words


def test_nothing_alike_says_so() -> None:
    assert "no line is like it" in mismatch("%%%%%%%%").words


def test_an_empty_search_an_empty_file_and_no_change_are_told() -> None:
    assert "search is empty" in mismatch("").words
    assert "is empty" in mismatch("a", "").words
    same = replace_once("c", CODE, "a - b", "a - b")
    assert isinstance(same, Mismatch)
    assert "nothing would change" in same.words
