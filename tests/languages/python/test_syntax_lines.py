from __future__ import annotations

import time

import pytest

from verdigris.languages.python.syntax import added_lines

BEFORE = """def total(items):
    result = 0
    for item in items:
        result += item.price
    return result
"""


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        BEFORE.replace("result", "amount"),
        BEFORE.replace("    result += item.price", "    result += (\n            item.price\n        )"),
        "import math\n\n\n" + BEFORE,
        '"""A docstring."""\n' + BEFORE,
    ],
    ids=["same", "renamed", "reflowed", "import", "docstring"],
)
def test_what_is_only_renamed_moved_or_reflowed_is_not_added(after: str) -> None:
    assert added_lines({"a.py": BEFORE}, {"a.py": after}) == {}


def test_a_move_to_another_file_is_not_added() -> None:
    assert added_lines({"a.py": BEFORE, "b.py": ""}, {"a.py": "", "b.py": BEFORE}) == {}


def test_an_extracted_function_adds_only_its_call() -> None:
    after = BEFORE.replace("        result += item.price", "        result = plus(result, item)")
    after += "\n\ndef plus(result, item):\n    result += item.price\n    return result\n"
    assert added_lines({"a.py": BEFORE}, {"a.py": after}) == {"a.py": {4, 10}}


@pytest.mark.parametrize("new", ["    if not items:\n        raise ValueError(items)\n", "    result = 1\n"])
def test_new_behaviour_is_added(new: str) -> None:
    after = BEFORE.replace("    result = 0\n", "    result = 0\n" + new)
    assert 3 in added_lines({"a.py": BEFORE}, {"a.py": after})["a.py"]


def test_a_file_that_does_not_parse_counts_from_its_first_line() -> None:
    assert added_lines({"a.py": BEFORE}, {"a.py": "def ("}) == {"a.py": {1}}


TWINS = """def find(items):
    for item in items:
        if item.ready:
            return item
    return None


def pick(items):
    for item in items:
        if item.done:
            return item
    return None
"""


def test_a_line_that_nobody_touched_is_never_added_whatever_looks_like_it() -> None:
    """The changed function stands first and has statements of the same shape as the untouched one."""
    after = TWINS.replace(
        "    for item in items:\n        if item.ready:\n            return item\n    return None\n",
        "    ready = [item for item in items if item.ready]\n    return ready[0] if ready else None\n",
    )
    assert added_lines({"a.py": TWINS}, {"a.py": after}) == {"a.py": {2, 3}}


def test_a_second_copy_of_a_statement_is_added_where_it_was_put() -> None:
    after = BEFORE.replace("    return result\n", "    result += item.price\n    return result\n")
    assert added_lines({"a.py": BEFORE}, {"a.py": after}) == {"a.py": {5}}


def test_a_change_of_many_files_is_read_in_a_moment() -> None:
    """Each file was once compared with the statements of all others: minutes for a hundred files."""
    text = "".join(f"a{number} = f{number}({number})\n" for number in range(80))
    before = {f"m{number}.py": text for number in range(40)}
    after = dict.fromkeys(before, text + "new = f(1, 2, 3)\n")
    began = time.process_time()
    assert added_lines(before, after) == {path: frozenset({81}) for path in before}
    assert time.process_time() - began < 10
