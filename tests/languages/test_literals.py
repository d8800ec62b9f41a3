from __future__ import annotations

import ast
from random import Random

from verdigris.core.report import Status
from verdigris.languages.literals import EndOfTest, Replaced, differences, other_value
from verdigris.languages.probes import apply_edits
from verdigris.languages.registry import reader_of

TEST = '''\
import calc


def test_add():
    """No input 7."""
    total = 3
    assert calc.add(1, "é") == 5


def helper():
    return calc.add(9)
'''


def replace_inputs(text: str, lot: Random) -> tuple[Replaced, ...]:
    return reader_of("test_a.py").liveness.other_inputs("test_a.py", text.encode(), lot)


def test_one_argument_of_each_test_is_another_and_nothing_else() -> None:
    for seed in range(20):
        (one,) = replace_inputs(TEST, Random(seed))
        assert one.was in {"1", '"é"'}
        assert one.line == 7
        made = apply_edits(TEST.encode(), (one,)).decode()
        assert ast.dump(ast.parse(made)) != ast.dump(ast.parse(TEST))
        assert made.count("\n") == TEST.count("\n")


def test_rows_of_a_table_are_inputs_and_their_names_are_not() -> None:
    table = "import pytest\n\n@pytest.mark.parametrize('a', [1, 2])\ndef test_it(a):\n    assert a\n"
    assert {one.was for seed in range(20) for one in replace_inputs(table, Random(seed))} == {"1", "2"}


def test_another_value_is_never_the_same() -> None:
    lot = Random(0)
    for found in (0, 1, 2.5, "", "a", "aa", "Hello"):
        for _ in range(50):
            assert other_value(found, lot) != found


def test_only_tests_of_both_sides_are_compared() -> None:
    passed, failed = EndOfTest(Status.PASS), EndOfTest(Status.FAIL, "assert 4 == 5")
    found = differences({"a": passed, "b": passed, "gone": passed}, {"a": passed, "b": failed, "new": failed})
    assert found == {"b": (passed, failed)}
