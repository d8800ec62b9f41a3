"""Code that depends on data, templates, packages and the environment."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "templates and SQL beside the code",
        claim="src/report",
        concerns=("src/report/render.py reads it",),
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
--- tests/conftest.py
import sqlite3

import pytest


@pytest.fixture
def db():
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE people (name, age)")
    yield made
    made.close()
--- tests/test_names.py
from report import render


def test_sorted(db):
    db.execute("INSERT INTO people VALUES ('b', 51), ('a', 62)")
    assert render.names(db) == ["a", "b"]
""",
        red="""
--- tests/test_adults.py
from report import render


def test_adults_only(db):
    db.execute("INSERT INTO people VALUES ('Eve', 17), ('Bob', 44), ('Ann', 18)")
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
    ),
    Shape(
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
    ),
    Shape(
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
    ),
    Shape(
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
--- tests/test_empty.py
from pathlib import Path

import pytest

from invoice import invoice

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(("name", "lines"), [("plain", [("pen", 3), ("ink", 12)]), ("empty", [])])
def test_golden(name, lines):
    assert invoice(lines) == (GOLDEN / f"{name}.txt").read_text()
""",
        edit="""
--- invoice.py
def invoice(lines):
    rows = [*lines, ("total", sum(price for _, price in lines))]
    return "".join(f"{name:<6}{price:>4}\\n" for name, price in rows)
""",
    ),
    Shape(
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
        concerns=("expected-literals",),
    ),
)
