"""Which examples of documentation keep their result."""

from __future__ import annotations

from textwrap import dedent

import pytest

from verdigris.core.reuse import is_example, plan_examples
from verdigris.languages.python.module_delta import compare_modules, module_words

Found = tuple[set[str], set[str], set[str]]
MODULE = "src/lib/calc.py"
TEXT = '''
"""Sums.

>>> add(1, 2)
3
"""

LIMIT = 3


def add(a, b):
    """Adds.

    >>> add(LIMIT, 1)
    4
    """
    return a + b


def sub(a, b):
    """Subtracts.

    >>> sub(2, 1)
    1
    """
    return a - b
'''
ADD, SUB, WHOLE = (f"tests/test_calc.py::lib.calc{name}" for name in (".add", ".sub", ""))
KNOWN = (ADD, SUB, WHOLE, "tests/test_calc.py::test_add", "tests/test_calc.py::TestAdd::test_it[1.5]")


def plan(old: str, new: str, tests: tuple[str, ...] = KNOWN, more: frozenset[str] = frozenset()) -> Found:
    assert old in TEXT
    after = TEXT.replace(old, new)
    delta, words = compare_modules(TEXT, after), module_words(dedent(after))
    assert delta is not None
    assert words is not None
    found = plan_examples(tests, {MODULE: delta}, {MODULE: words}, delta.names | more)
    return set(found.ids), set(found.names), set(found.dropped)


def test_an_example_is_told_by_the_dots_in_its_name() -> None:
    assert [is_example(one) for one in KNOWN] == [True, True, True, False, False]


def test_another_body_is_left_to_what_each_example_ran() -> None:
    assert plan("return a + b", "return b + a") == (set(), set(), set())


def test_an_example_whose_text_differs_is_run() -> None:
    assert plan("Adds.", "Sums up.") == ({ADD}, set(), set())
    assert plan("Sums.", "Sums up.") == ({WHOLE}, set(), set())


def test_examples_that_say_a_name_that_means_something_else_are_run() -> None:
    assert plan("LIMIT = 3", "LIMIT = 4") == ({ADD}, set(), set())


def test_an_example_that_may_look_through_names_is_run() -> None:
    assert plan("return a + b", "return b + a", more=frozenset({"Subtracts"})) == ({SUB}, set(), set())


def test_a_new_example_is_run_by_its_name() -> None:
    fresh = '\n\ndef mul(a, b):\n    """\n    >>> mul(1, 2)\n    2\n    """\n    return a * b\n'
    assert plan("return a - b\n", f"return a - b\n{fresh}") == (set(), {SUB.replace("sub", "mul")}, set())


@pytest.mark.parametrize("new", ["    >> sub(2, 1)", ""])
def test_an_example_that_was_taken_out_is_gone(new: str) -> None:
    assert plan("    >>> sub(2, 1)", new) == (set(), set(), {SUB})


def test_an_example_of_a_function_that_was_taken_out_is_gone() -> None:
    ids, _, gone = plan(TEXT[TEXT.index("def sub") :], "")
    assert (SUB in ids, SUB in gone) == (False, True)


@pytest.mark.parametrize("native", ["README.rst::README.rst", "t.py::lib.calc.made", "x::other.add"])
def test_an_example_whose_place_is_not_found_is_run(native: str) -> None:
    assert plan("return a + b", "return b + a", (native,)) == ({native}, set(), set())


def test_an_example_that_may_stand_in_two_files_is_run() -> None:
    words = module_words(TEXT)
    assert words is not None
    files = {MODULE: words, "old/lib/calc.py": words}
    assert plan_examples((ADD,), {}, files, frozenset()).ids == {ADD}
