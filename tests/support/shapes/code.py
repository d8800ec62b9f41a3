"""Code whose answers depend on its own values, commands, constants and plug-ins."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "a dataclass with properties and operators",
        claim="money.py",
        before="""
--- money.py
from dataclasses import dataclass


@dataclass(frozen=True)
class Money:
    cents: int
--- tests/test_money.py
from money import Money


def test_cents():
    assert Money(5).cents == 5
""",
        red="""
--- tests/test_operators.py
from money import Money


def test_sum():
    assert Money(150) + Money(275) == Money(425)


def test_properties():
    price = Money(1999)
    assert (price.whole, price.rest) == (19, 99)
    assert str(price) == "19.99"
    assert price.is_positive
    assert not Money(0).is_positive


def test_order():
    assert Money(1) < Money(2)
    assert Money(3) != Money(4)
    assert Money(2) in {Money(2)}
""",
        edit="""
--- money.py
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Money:
    cents: int

    @property
    def whole(self):
        return self.cents // 100

    @property
    def rest(self):
        return self.cents % 100

    @property
    def is_positive(self):
        return self.cents > 0

    def __add__(self, other):
        return Money(self.cents + other.cents)

    def __str__(self):
        return f"{self.whole}.{self.rest:02}"
""",
    ),
    Shape(
        "a class with its own equality",
        claim="tags.py",
        before="""
--- tags.py
class Tag:
    def __init__(self, name):
        self.name = name
--- tests/test_tag.py
from tags import Tag


def test_name():
    assert Tag("A").name == "A"
""",
        red="""
--- tests/test_equal.py
from tags import Tag


def test_case_plays_no_part():
    assert Tag("News") == Tag("nEWS")
    assert hash(Tag("News")) == hash(Tag("news"))
    assert Tag("News") == "news"
    assert Tag("news") != Tag("old")
    assert Tag("news") != 7
    assert {Tag("a"), Tag("A")} == {Tag("a")}
""",
        edit="""
--- tags.py
class Tag:
    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        if isinstance(other, str):
            other = Tag(other)
        if not isinstance(other, Tag):
            return NotImplemented
        return self.name.lower() == other.name.lower()

    def __hash__(self):
        return hash(self.name.lower())
""",
    ),
    Shape(
        "a command line with capsys and sys.exit",
        claim="greet.py",
        before="""
--- greet.py
def greeting(name):
    return f"Hello, {name}!"
--- tests/test_greeting.py
from greet import greeting


def test_greeting():
    assert greeting("Ann") == "Hello, Ann!"
""",
        red="""
--- tests/test_main.py
import subprocess
import sys

import pytest

import greet


def test_words(capsys):
    assert greet.main(["Ann", "Bob"]) == 0
    assert capsys.readouterr().out == "Hello, Ann!\\nHello, Bob!\\n"


def test_nobody(capsys):
    with pytest.raises(SystemExit) as left:
        greet.main([])
    assert left.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "required" in err


def test_as_a_process():
    done = subprocess.run([sys.executable, "greet.py", "Eve"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Hello, Eve!\\n")
""",
        edit="""
--- greet.py
import argparse
import sys


def greeting(name):
    return f"Hello, {name}!"


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    for name in parser.parse_args(argv).names:
        print(greeting(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
""",
    ),
    Shape(
        "answers that are constants by their nature",
        claim="fizz.py",
        before="""
--- fizz.py
def fizz(number):
    return str(number)
--- tests/test_plain.py
from fizz import fizz


def test_plain():
    assert fizz(1) == "1"
""",
        red="""
--- tests/test_fizz.py
import pytest

import fizz


@pytest.mark.parametrize(
    ("number", "expected"), [(3, "Fizz"), (5, "Buzz"), (15, "FizzBuzz")]
)
def test_fizz(number, expected):
    assert fizz.fizz(number) == expected


def test_status_texts():
    assert fizz.status(404) == "not found"
    assert fizz.status(500) == "our fault"
    assert fizz.status(999) is None
""",
        edit="""
--- fizz.py
def fizz(number):
    if number % 15 == 0:
        return "FizzBuzz"
    if number % 3 == 0:
        return "Fizz"
    if number % 5 == 0:
        return "Buzz"
    return str(number)


def status(code):
    return {200: "fine", 404: "not found", 500: "our fault"}.get(code)
""",
        concerns=("expected-literals",),
    ),
    Shape(
        "errors that are answers, and plug-ins found by name",
        claim="plug/",
        before="""
--- plug/__init__.py
--- plug/loading.py
import importlib
--- plug/json_format.py
NAME = "json"
--- tests/test_there.py
from plug import loading


def test_it_is_there():
    assert loading.importlib
""",
        red="""
--- tests/test_loading.py
import pytest

from plug import loading


def test_found_by_name():
    assert loading.load("json_format").NAME == "json"


@pytest.mark.parametrize("name", ["nothing", "..", ""])
def test_unknown(name):
    assert loading.load(name) is None


def test_a_context_is_left():
    seen = []
    with loading.noting(seen) as note:
        note("in")
    with pytest.raises(KeyError), loading.noting(seen):
        raise KeyError("k")
    assert seen == ["begin", "in", "end", "begin", "end"]
""",
        edit="""
--- plug/loading.py
import importlib
from contextlib import contextmanager


def load(name):
    if not name.isidentifier():
        return None
    try:
        return importlib.import_module(f"plug.{name}")
    except ImportError:
        return None


@contextmanager
def noting(seen):
    seen.append("begin")
    try:
        yield seen.append
    finally:
        seen.append("end")
""",
    ),
)
