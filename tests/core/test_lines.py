from __future__ import annotations

import pytest

from verdigris.core.lines import added_lines

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
