"""Shapes by the form of their assertions."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "parametrize, with ids and marks",
        claim="roman.py",
        before="""
--- roman.py
def roman(number):
    return "I" * number
--- tests/test_roman.py
import pytest

from roman import roman


@pytest.mark.parametrize("number", [1, 2, 3])
def test_small(number):
    assert roman(number) == "I" * number
""",
        red="""
--- tests/test_large.py
import pytest

from roman import roman


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (4, "IV"),
        (9, "IX"),
        pytest.param(1994, "MCMXCIV", id="the long one"),
        pytest.param(40, "XL"),
    ],
)
def test_large(number, expected):
    assert roman(number) == expected
""",
        edit="""
--- roman.py
VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
SIGNS = ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")


def roman(number):
    found = ""
    for value, sign in zip(VALUES, SIGNS):
        while number >= value:
            found += sign
            number -= value
    return found
""",
    ),
    Shape(
        "exceptions with raises(match=…)",
        claim="ages.py",
        before="""
--- ages.py
def parse(text):
    return int(text)
--- tests/test_ages.py
from ages import parse


def test_parse():
    assert parse("7") == 7
""",
        red="""
--- ages.py
class BadAge(ValueError):  # STUB:TDD
    pass


def parse(text):
    return int(text)
--- tests/test_bad_ages.py
import pytest

from ages import BadAge, parse


def test_negative():
    with pytest.raises(BadAge, match=r"^-1 is no age$"):
        parse("-1")


def test_words():
    with pytest.raises(BadAge, match="no number") as caught:
        parse("old")
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.args == ("no number: 'old'",)
""",
        edit="""
--- ages.py
class BadAge(ValueError):
    pass


def parse(text):
    try:
        age = int(text)
    except ValueError as error:
        raise BadAge(f"no number: {text!r}") from error
    if age < 0:
        raise BadAge(f"{age} is no age")
    return age
""",
        concerns=("no claimed test was seen to run ages.py:12",),
    ),
    Shape(
        "approximate floats",
        claim="stats.py",
        before="""
--- stats.py
def mean(values):
    return sum(values) / len(values)
--- tests/test_mean.py
import pytest

from stats import mean


def test_mean():
    assert mean([0.1, 0.2, 0.3]) == pytest.approx(0.2)
""",
        red="""
--- tests/test_deviation.py
import math

import pytest

import stats


def test_deviation():
    assert stats.deviation([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx(2.0)
    assert stats.deviation([1, 2]) == pytest.approx(0.5, rel=1e-3)


def test_scaled():
    assert stats.scaled([1.0, 2.0, 4.0]) == pytest.approx([0.25, 0.5, 1.0])
    assert math.isclose(sum(stats.scaled([3.0, 3.0])), 2.0)
    assert abs(stats.scaled([7.0])[0] - 1) < 1e-9
""",
        edit="""
--- stats.py
import math


def mean(values):
    return sum(values) / len(values)


def deviation(values):
    middle = mean(values)
    return math.sqrt(mean([(value - middle) ** 2 for value in values]))


def scaled(values):
    top = max(values)
    return [value / top for value in values]
""",
    ),
    Shape(
        "many forms of assertion, also in helpers",
        claim="sorting.py",
        before="""
--- sorting.py
import warnings
--- tests/test_sorting_is_there.py
import sorting


def test_it_is_there():
    assert sorting
""",
        red="""
--- sorting.py
import warnings


def ordered(values):  # STUB:TDD
    return [0, 0]
--- tests/helpers.py
def check_sorted(values):
    for left, right in zip(values, values[1:]):
        assert left <= right


def assert_same(found, expected):
    assert sorted(found) == sorted(expected), f"{found} is not {expected}"
--- tests/test_forms.py
import sys
import unittest

import pytest

import sorting
from helpers import assert_same, check_sorted


def test_helpers():
    assert_same(sorting.ordered([3, 1]), [1, 3])
    check_sorted(sorting.ordered([3, 1, 2]))


def test_membership():
    found = sorting.ordered([2, 1])
    assert 1 in found
    assert 5 not in found
    assert found and found[0] in (1, 2)
    assert isinstance(found, list)
    assert found == [1, 2] or found == [2, 1]
    assert 0 < found[0] < found[1] == 2
    assert all(n > 0 for n in found)
    assert any(n == 2 for n in found), "two is there"
    assert len(found) == 2 and found[-1] == 2
    assert {"a": found}.items() <= {"a": [1, 2], "b": 1}.items()


def test_warns():
    with pytest.warns(DeprecationWarning, match="use ordered"):
        assert sorting.sort([2, 1]) == [1, 2]
    with pytest.raises((TypeError, ValueError)):
        sorting.ordered(None)
    with pytest.raises(ValueError, match="none|nothing"):
        sorting.first([])


def test_branches():
    if sys.platform == "win32":
        assert sorting.first([1]) == 2
    else:
        assert sorting.first([1]) == 1
    for value in sorting.ordered([]):
        assert value == 3
    try:
        sorting.first([])
    except ValueError as error:
        assert str(error) == "nothing there"
    else:
        pytest.fail("did not raise")


class TestMethods:
    def setup_method(self):
        self.values = sorting.ordered([5, 4])

    def test_first(self):
        assert self.values[0] == 4

    @pytest.mark.parametrize("values", [[1, 2], [2, 1]])
    @pytest.mark.parametrize("extra", [3, 4])
    def test_product(self, values, extra):
        assert sorting.ordered([*values, extra])[-1] == extra


class Case(unittest.TestCase):
    def test_unittest_forms(self):
        self.assertRaisesRegex(ValueError, "nothing", sorting.first, [])
        self.assertAlmostEqual(sorting.first([0.3334]), 1 / 3, places=3)
        self.assertCountEqual(sorting.ordered([2, 1]), [1, 2])
        self.assertTrue(sorting.first([3]) == 3)
        self.assertIsNone(sorting.first([None]))
        self.assertListEqual(sorting.ordered([2, 1]), [1, 2])
        self.assertGreater(sorting.first([2]), 1)
        self.assertIsInstance(sorting.ordered([]), list)
""",
        edit="""
--- sorting.py
import warnings


def ordered(values):
    return sorted(values)


def sort(values):
    warnings.warn("use ordered", DeprecationWarning, stacklevel=2)
    return ordered(values)


def first(values):
    if not values:
        raise ValueError("nothing there")
    return values[0]
""",
        concerns=("not shown to be live: tests/test_forms.py",),
    ),
)
