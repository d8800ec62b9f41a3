"""Tests that are renamed, moved, reshaped, inherited or made by other code."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "unittest methods become rows of a table while red",
        claim="calc.py",
        before="""
--- calc.py
def power(base, exponent):
    return base**exponent
--- tests/test_calc.py
import unittest

from calc import power


class PowerTest(unittest.TestCase):
    def test_square(self):
        self.assertEqual(power(3, 2), 9, "square")

    def test_cube(self):
        self.assertEqual(power(2, 3), 8)


def test_zero():
    assert power(7, 0) == 1


def test_one():
    result = power(7, 1)
    assert result == 7
    assert isinstance(result, int)
""",
        red="""
--- tests/test_calc.py
import pytest

import calc
from calc import power


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [(3, 2, 9), (2, 3, 8), (7, 0, 1)],
)
def test_power(base, exponent, expected):
    assert power(base, exponent) == expected


def test_one():
    result = power(7, 1)
    assert result == 7
    assert isinstance(result, int)


def test_root():
    assert calc.root(81) == 9
""",
        edit="""
--- calc.py
import math


def power(base, exponent):
    return base**exponent


def root(number):
    return math.isqrt(number)
""",
    ),
    Shape(
        "tests renamed, moved and reworded while red",
        claim="calc.py",
        before="""
--- calc.py
def add(a, b):
    return a + b
--- tests/test_calc.py
from calc import add


def test_ad():
    assert add(1, 2) == 3, "sum is wrng"


def test_negative():
    assert add(-1, -2) == -3
    assert add(-1, 1) == 0
""",
        red="""
--- tests/test_calc.py
from calc import add


def test_add():
    total = add(1, 2)
    assert total == 3, "sum is wrong"
--- tests/test_signs.py
import calc
from calc import add


def test_negative():
    assert add(-1, -2) == -3
    assert add(-1, 1) == 0


def test_sign():
    assert calc.sign(-3) == -1
    assert calc.sign(0) == 0
""",
        edit="""
--- calc.py
def add(a, b):
    return a + b


def sign(number):
    return (number > 0) - (number < 0)
""",
    ),
    Shape(
        "inherited and generated tests",
        claim="lib.py",
        before="""
--- lib.py
A = 1
--- tests/__init__.py
--- tests/base.py
class Contract:
    make = None

    def test_length(self):
        assert len(self.make([1, 2])) == 2

    def test_first(self):
        assert self.make([7, 8]).first() == 7
--- tests/test_nothing.py
import lib


def test_it_is_there():
    assert lib
""",
        red="""
--- lib.py
A = 1


class Box:  # STUB:TDD
    def __init__(self, values):
        pass

    def __len__(self):
        return 0

    def first(self):
        return None


def double(n):  # STUB:TDD
    return 0


def triple(n):  # STUB:TDD
    return 0
--- tests/test_boxes.py
import unittest

import lib
from tests.base import Contract


def make_test(number):
    def test(self):
        self.assertEqual(lib.double(number), 2 * number)

    return test


class TestBox(Contract):
    def make(self, values):
        return lib.Box(values)

    def test_repr(self):
        assert repr(self.make([1])) == "Box([1])"


class TestSmall(TestBox):
    def make(self, values):
        return lib.Box(list(values))


class Generated(unittest.TestCase):
    pass


for number in (1, 5):
    setattr(Generated, f"test_{number}", make_test(number))


def check_triple(number):
    def test():
        assert lib.triple(number) == 3 * number

    return test


test_triple = check_triple(4)
""",
        edit="""
--- lib.py
A = 1


class Box:
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def first(self):
        return self.values[0]

    def __repr__(self):
        return f"Box({self.values})"


def double(n):
    return 2 * n


def triple(n):
    return 3 * n
""",
    ),
)
