"""Shapes by the place of code and tests."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "src layout",
        claim="src/shop/cart.py",
        before="""
--- pyproject.toml
[project]
name = "shop"
version = "0.1"

[tool.pytest.ini_options]
pythonpath = ["src"]
testpaths = ["tests"]
--- src/shop/__init__.py
from shop.cart import Cart

__all__ = ["Cart"]
--- src/shop/cart.py
class Cart:
    def __init__(self):
        self.lines = []

    def add(self, name, price, quantity=1):
        self.lines.append((name, price, quantity))
--- tests/test_cart.py
from shop import Cart


def test_a_line_is_kept():
    cart = Cart()
    cart.add("pen", 150)
    assert cart.lines == [("pen", 150, 1)]
""",
        red="""
--- tests/test_total.py
from shop import Cart


def test_total_of_nothing():
    assert Cart().total() == 0


def test_total_counts_quantities():
    cart = Cart()
    cart.add("pen", 150, 3)
    cart.add("ink", 900)
    assert cart.total() == 1350
    assert cart.total() > 0
""",
        edit="""
--- src/shop/cart.py
class Cart:
    def __init__(self):
        self.lines = []

    def add(self, name, price, quantity=1):
        self.lines.append((name, price, quantity))

    def total(self):
        return sum(price * quantity for _, price, quantity in self.lines)
""",
    ),
    Shape(
        "flat layout, tests beside the modules",
        claim="slug.py",
        before="""
--- slug.py
import re


def slug(text):
    return re.sub(r"\\W+", "-", text)
--- test_slug.py
from slug import slug


def test_spaces():
    assert slug("a b") == "a-b"
""",
        red="""
--- test_slug.py
from slug import slug


def test_spaces():
    assert slug("a b") == "a-b"


def test_lower_case_and_no_edges():
    assert slug(" Hello, World! ") == "hello-world"
""",
        edit="""
--- slug.py
import re


def slug(text):
    return re.sub(r"\\W+", "-", text).strip("-").lower()
""",
    ),
    Shape(
        "a package with conftest and fixtures",
        claim="bank/",
        before="""
--- bank/__init__.py
--- bank/account.py
class Account:
    def __init__(self, balance=0):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount
--- tests/__init__.py
--- tests/conftest.py
import pytest

from bank.account import Account


@pytest.fixture
def account():
    return Account(100)


@pytest.fixture
def make_account():
    def make(*amounts):
        made = Account()
        for amount in amounts:
            made.deposit(amount)
        return made

    return make
--- tests/test_account.py
def test_deposit(account):
    account.deposit(20)
    assert account.balance == 120
""",
        red="""
--- tests/test_transfer.py
import pytest

from bank.account import Account


@pytest.fixture
def other():
    return Account(1)


def test_transfer(account, other):
    account.transfer(30, to=other)
    assert (account.balance, other.balance) == (70, 31)


def test_made(make_account, other):
    mine = make_account(5, 6)
    mine.transfer(11, to=other)
    assert mine.balance == 0
    assert other.balance == 12
""",
        edit="""
--- bank/account.py
class Account:
    def __init__(self, balance=0):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount

    def transfer(self, amount, *, to):
        self.balance -= amount
        to.deposit(amount)
""",
    ),
    Shape(
        "a new module, stubbed for the red",
        claim="geo/distance.py",
        before="""
--- geo/__init__.py
--- geo/point.py
from typing import NamedTuple


class Point(NamedTuple):
    x: float
    y: float
--- tests/test_point.py
from geo.point import Point


def test_point():
    assert Point(1, 2).y == 2
""",
        red="""
--- geo/distance.py
# STUB:TDD
from geo.point import Point


def manhattan(a: Point, b: Point) -> float:  # STUB:TDD
    raise NotImplementedError


def nearest(to: Point, points: list[Point]) -> Point:  # STUB:TDD
    raise NotImplementedError
--- tests/test_distance.py
from geo.distance import manhattan, nearest
from geo.point import Point


def test_manhattan():
    assert manhattan(Point(1, 1), Point(-2, 5)) == 7


def test_nearest():
    near = Point(2, 2)
    assert nearest(Point(0, 0), [Point(9, 0), near, Point(-3, 3)]) is near
""",
        edit="""
--- geo/distance.py
from geo.point import Point


def manhattan(a: Point, b: Point) -> float:
    return abs(a.x - b.x) + abs(a.y - b.y)


def nearest(to: Point, points: list[Point]) -> Point:
    return min(points, key=lambda point: manhattan(to, point))
""",
    ),
)
