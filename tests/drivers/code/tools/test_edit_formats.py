from __future__ import annotations

import pytest

from verdigris.drivers.code.tools.edit_formats import BadEdit, apply_patch, read_patch, replace_once

CODE = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a + b\n"


def patched(body: str, **texts: str) -> dict[str, str | None] | BadEdit:
    found = read_patch(f"*** Begin Patch\n{body}*** End Patch\n")
    assert not isinstance(found, BadEdit), found
    return apply_patch(found, {"calc.py": CODE, **texts})


def words(made: dict[str, str | None] | BadEdit) -> str:
    assert isinstance(made, BadEdit)
    return made.words


def test_a_part_after_its_context_is_replaced() -> None:
    body = "*** Update File: calc.py\n@@ def sub(a, b):\n-    return a + b\n+    return a - b\n"
    made = patched(body)
    assert made == {"calc.py": CODE[: CODE.rindex("a + b")] + "a - b\n"}


def test_without_context_lines_that_stand_twice_are_refused() -> None:
    said = words(patched("*** Update File: calc.py\n-    return a + b\n+    return 0\n"))
    assert "2 matches" in said
    assert "lines 2, 6" in said


def test_lines_that_do_not_stand_there_are_refused() -> None:
    assert "0 matches" in words(patched("*** Update File: calc.py\n-    return a*b\n+    return 0\n"))
    assert "0 matches" in words(patched("*** Update File: calc.py\n@@ def mul():\n+    return 0\n"))


def test_files_are_added_deleted_and_moved() -> None:
    body = (
        "*** Add File: new.py\n+x = 1\n+\n*** Delete File: calc.py\n"
        "*** Update File: old.py\n*** Move to: moved.py\n-1\n+2\n"
    )
    assert patched(body, **{"old.py": "1\n"}) == {
        "new.py": "x = 1\n\n",
        "calc.py": None,
        "old.py": None,
        "moved.py": "2\n",
    }


def test_lines_are_added_at_the_end_and_after_a_context() -> None:
    assert patched("*** Update File: calc.py\n+# end\n") == {"calc.py": CODE + "# end\n"}
    made = patched("*** Update File: calc.py\n@@ def add(a, b):\n+    # sum\n")
    assert made == {"calc.py": CODE.replace("b):\n", "b):\n    # sum\n", 1)}


def test_the_end_of_the_file_chooses_among_matches() -> None:
    made = patched("*** Update File: calc.py\n-    return a + b\n+    return 0\n*** End of File\n")
    assert made == {"calc.py": CODE[: CODE.rindex("a + b")] + "0\n"}


def test_a_file_that_exists_is_not_added_and_one_that_does_not_is_not_changed() -> None:
    assert "exists already" in words(patched("*** Add File: calc.py\n+x\n"))
    assert "no file" in words(patched("*** Delete File: gone.py\n"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\nx\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
        "*** Begin Patch\n*** Delete File: a\nx\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n~x\n*** End Patch",
    ],
)
def test_what_is_no_patch_is_a_value(text: str) -> None:
    assert isinstance(read_patch(text), BadEdit)


CALC = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"


def mismatch(search: str, text: str = CALC) -> BadEdit:
    found = replace_once("calc.py", text, search, "x")
    assert isinstance(found, BadEdit)
    return found


def test_a_text_that_stands_once_is_replaced() -> None:
    assert replace_once("c", CALC, "a - b", "b - a") == CALC.replace("a - b", "b - a")


def test_line_ends_are_taken_as_the_file_has_them() -> None:
    crlf = CALC.replace("\n", "\r\n")
    made = replace_once("c", crlf, "sub(a, b):\n    return a - b\n", "sub(a, b):\n    return 0\n")
    assert made == crlf.replace("a - b", "0")


def test_several_matches_are_refused_with_their_number_and_lines() -> None:
    found = mismatch("(a, b):")
    assert "2 matches in calc.py, at lines 1, 5" in found.words


def test_no_match_is_refused_with_the_nearest_lines_and_their_numbers() -> None:
    found = mismatch("def sub(a,b):\n    return a-b")
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
    same = replace_once("c", CALC, "a - b", "a - b")
    assert isinstance(same, BadEdit)
    assert "nothing would change" in same.words
