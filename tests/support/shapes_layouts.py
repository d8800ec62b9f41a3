"""Shapes of projects: where code, tests, data and dependencies lie."""

from __future__ import annotations

from support.shapes import Shape

SRC = Shape(
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
)

FLAT = Shape(
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
)

CONFTEST = Shape(
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
)

BESIDE = Shape(
    "templates and SQL beside the code",
    claim="src/report",
    before="""
--- pyproject.toml
[tool.pytest.ini_options]
pythonpath = ["src"]
--- src/report/__init__.py
--- src/report/queries/people.sql
SELECT name FROM people ORDER BY name
--- src/report/templates/list.txt
People: $names
--- src/report/render.py
from pathlib import Path
from string import Template

HERE = Path(__file__).parent


def names(db):
    return [row[0] for row in db.execute((HERE / "queries/people.sql").read_text())]


def render(db):
    return Template((HERE / "templates/list.txt").read_text()).substitute(names=", ".join(names(db)))
--- tests/test_names.py
import sqlite3

from report import render


def test_sorted():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE people (name, age)")
    db.execute("INSERT INTO people VALUES ('b', 51), ('a', 62)")
    assert render.names(db) == ["a", "b"]
    db.close()
""",
    red="""
--- tests/test_adults.py
import sqlite3

import pytest

from report import render


@pytest.fixture
def db():
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE people (name, age)")
    made.execute("INSERT INTO people VALUES ('Eve', 17), ('Bob', 44), ('Ann', 18)")
    yield made
    made.close()


def test_adults_only(db):
    assert render.render(db) == "2 adults: Ann, Bob\\n"
""",
    edit="""
--- src/report/queries/people.sql
SELECT name FROM people WHERE age >= 18 ORDER BY name
--- src/report/templates/list.txt
$count adults: $names
--- src/report/render.py
from pathlib import Path
from string import Template

HERE = Path(__file__).parent


def names(db):
    return [row[0] for row in db.execute((HERE / "queries/people.sql").read_text())]


def render(db):
    found = names(db)
    template = Template((HERE / "templates/list.txt").read_text())
    return template.substitute(names=", ".join(found), count=len(found))
""",
)

NEW_MODULE = Shape(
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
)

DEPENDENCY = Shape(
    "a new dependency in pyproject.toml, while green",
    claim="conf/__init__.py",
    before="""
--- pyproject.toml
[project]
name = "conf"
version = "0.1"
dependencies = []

[tool.pytest.ini_options]
addopts = "-ra"
--- conf/__init__.py
import json


def load(text):
    return json.loads(text)
--- tests/test_conf.py
import conf


def test_json():
    assert conf.load('{"a": [1, 2]}') == {"a": [1, 2]}
""",
    red="""
--- tests/test_yaml.py
import conf


def test_yaml():
    assert conf.load("a:\\n  - 1\\n  - two\\n") == {"a": [1, "two"]}
""",
    edit="""
--- pyproject.toml
[project]
name = "conf"
version = "0.2"
dependencies = ["pyyaml>=6"]

[tool.pytest.ini_options]
addopts = "-ra"
--- conf/__init__.py
import yaml


def load(text):
    return yaml.safe_load(text)
""",
)

THIRD_PARTY = Shape(
    "a third-party library's own types",
    claim="codec.py",
    before="""
--- codec.py
import msgspec


class Reading(msgspec.Struct):
    sensor: str
    celsius: float
--- tests/test_reading.py
from codec import Reading


def test_fields():
    assert Reading("a", 1.5).celsius == 1.5
""",
    red="""
--- tests/test_codec.py
import msgspec
import pytest

import codec
from codec import Reading


def test_round_trip():
    reading = Reading("roof", 21.25)
    assert codec.decode(codec.encode(reading)) == reading


def test_junk_is_refused():
    with pytest.raises(msgspec.ValidationError, match="sensor"):
        codec.decode(b'{"celsius": 3}')
""",
    edit="""
--- codec.py
import msgspec


class Reading(msgspec.Struct):
    sensor: str
    celsius: float


def encode(reading):
    return msgspec.json.encode(reading)


def decode(data):
    return msgspec.json.decode(data, type=Reading)
""",
)

GOLDEN = Shape(
    "golden files",
    claim="invoice.py",
    before="""
--- invoice.py
def invoice(lines):
    return "\\n".join(f"{name}: {price}" for name, price in lines) + "\\n"
--- tests/golden/plain.txt
pen: 3
ink: 12
--- tests/test_invoice.py
from pathlib import Path

from invoice import invoice

GOLDEN = Path(__file__).parent / "golden"


def test_plain():
    assert invoice([("pen", 3), ("ink", 12)]) == (GOLDEN / "plain.txt").read_text()
""",
    red="""
--- tests/golden/plain.txt
pen      3
ink     12
total   15
--- tests/golden/empty.txt
total    0
--- tests/test_invoice.py
from pathlib import Path

import pytest

from invoice import invoice

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("name", "lines"),
    [("plain", [("pen", 3), ("ink", 12)]), ("empty", [])],
)
def test_golden(name, lines):
    assert invoice(lines) == (GOLDEN / f"{name}.txt").read_text()


def test_plain():
    assert invoice([("pen", 3), ("ink", 12)]) == (GOLDEN / "plain.txt").read_text()
""",
    edit="""
--- invoice.py
def invoice(lines):
    rows = [*lines, ("total", sum(price for _, price in lines))]
    return "".join(f"{name:<6}{price:>4}\\n" for name, price in rows)
""",
)

ENVIRONMENT = Shape(
    "a test that needs an environment variable",
    claim="settings.py",
    before="""
--- settings.py
import os


def region():
    return os.environ["SHOP_REGION"]
--- tests/test_region.py
import os

from settings import region


def test_region():
    assert region() == os.environ["SHOP_REGION"]
""",
    red="""
--- tests/test_currency.py
import settings


def test_currency_of_the_region():
    assert settings.currency() == "CHF"


def test_other_regions(monkeypatch):
    monkeypatch.setenv("SHOP_REGION", "de")
    assert settings.currency() == "EUR"
""",
    edit="""
--- settings.py
import os

CURRENCIES = {"ch": "CHF", "de": "EUR", "fr": "EUR"}


def region():
    return os.environ["SHOP_REGION"]


def currency():
    return CURRENCIES[region()]
""",
    env={"SHOP_REGION": "ch"},
)

LAYOUTS = (SRC, FLAT, CONFTEST, BESIDE, NEW_MODULE, DEPENDENCY, THIRD_PARTY, GOLDEN, ENVIRONMENT)
