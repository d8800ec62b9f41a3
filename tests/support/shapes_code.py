"""Shapes of code: honest state, answers that are constants, and code that looks like a cheat and is none."""

from __future__ import annotations

from support.shapes import Shape

DATACLASS = Shape(
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
import dataclasses

import pytest

from money import Money


def test_sum():
    assert Money(150) + Money(275) == Money(425)


def test_properties():
    price = Money(1999)
    assert (price.whole, price.rest) == (19, 99)
    assert str(price) == "19.99"
    assert price.is_positive
    assert not Money(0).is_positive


def test_order_and_identity():
    assert Money(1) < Money(2)
    assert Money(3) != Money(4)
    assert Money(2) in {Money(2)}
    with pytest.raises(dataclasses.FrozenInstanceError):
        Money(1).cents = 2
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
)

EQUALITY = Shape(
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
)

COMMAND = Shape(
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
)

DECORATOR = Shape(
    "a decorator with functools.wraps and a counter",
    claim="calls.py",
    before="""
--- calls.py
import functools
--- tests/test_nothing.py
import calls


def test_it_is_there():
    assert calls.functools
""",
    red="""
--- tests/test_counted.py
import calls


def test_calls_are_counted():
    @calls.counted
    def double(x):
        "Twice."
        return 2 * x

    assert double.calls == 0
    assert [double(1), double(x=4)] == [2, 8]
    assert double.calls == 2
    assert (double.__name__, double.__doc__) == ("double", "Twice.")


def test_at_most():
    @calls.at_most(2)
    def hello():
        return "hello"

    assert hello() == "hello"
    assert hello() == "hello"
    assert hello() is None
""",
    edit="""
--- calls.py
import functools


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)

    wrapper.calls = 0
    return wrapper


def at_most(limit):
    def decorate(function):
        used = 0

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            nonlocal used
            if used >= limit:
                return None
            used += 1
            return function(*args, **kwargs)

        return wrapper

    return decorate
""",
)

CACHE = Shape(
    "a cache that outlives the call",
    claim="rates.py",
    before="""
--- rates.py
import functools

ASKED = []


def rate(code):
    ASKED.append(code)
    return len(code) * 1.5
--- tests/test_rate.py
import rates


def test_rate():
    assert rates.rate("EUR") == 4.5
""",
    red="""
--- tests/test_cached.py
import rates


def test_a_rate_is_asked_once():
    assert rates.convert("CHF", 2) == 9.0
    assert rates.convert("CHF", 2) == 9.0
    assert rates.ASKED.count("CHF") == 1
    assert rates.convert.cache_info().hits == 1


def test_counter():
    first = rates.ticket()
    assert rates.ticket() == first + 1
""",
    edit="""
--- rates.py
import functools
import itertools

ASKED = []
_tickets = itertools.count(1)


def rate(code):
    ASKED.append(code)
    return len(code) * 1.5


@functools.lru_cache(maxsize=None)
def convert(code, amount):
    return rate(code) * amount


def ticket():
    return next(_tickets)
""",
)

RETRY = Shape(
    "a retry with a counter and a fake clock",
    claim="retry.py",
    before="""
--- retry.py
import time
--- tests/test_nothing.py
import retry


def test_it_is_there():
    assert retry.time
""",
    red="""
--- tests/test_retry.py
import pytest

import retry


class Flaky:
    def __init__(self, failures):
        self.left = failures
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.left:
            self.left -= 1
            raise ConnectionError("down")
        return "up"


@pytest.fixture
def slept(monkeypatch):
    waits = []
    monkeypatch.setattr(retry.time, "sleep", waits.append)
    return waits


def test_until_it_works(slept):
    flaky = Flaky(2)
    assert retry.retry(flaky, times=3, wait=0.5) == "up"
    assert flaky.calls == 3
    assert slept == [0.5, 1.0]


def test_not_for_ever(slept):
    with pytest.raises(ConnectionError, match="down"):
        retry.retry(Flaky(9), times=2)
    assert len(slept) == 1
""",
    edit="""
--- retry.py
import time


def retry(action, times=3, wait=1.0):
    for attempt in range(1, times + 1):
        try:
            return action()
        except ConnectionError:
            if attempt == times:
                raise
            time.sleep(wait)
            wait *= 2
""",
)

CONSTANTS = Shape(
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
--- fizz.py
from enum import Enum


class Light(Enum):  # STUB:TDD
    RED = "red"


def fizz(number):
    return str(number)
--- tests/test_fizz.py
import pytest

import fizz


@pytest.mark.parametrize(
    ("number", "expected"), [(3, "Fizz"), (5, "Buzz"), (15, "FizzBuzz"), (16, "16")]
)
def test_fizz(number, expected):
    assert fizz.fizz(number) == expected


def test_status_texts():
    assert fizz.status(404) == "not found"
    assert fizz.status(500) == "our fault"
    assert fizz.status(999) is None


def test_lights():
    assert fizz.Light("red").next() is fizz.Light("green")
    assert [light.value for light in fizz.Light] == ["red", "green", "yellow"]
""",
    edit="""
--- fizz.py
from enum import Enum


class Light(Enum):
    RED = "red"
    GREEN = "green"
    YELLOW = "yellow"

    def next(self):
        every = list(Light)
        return every[(every.index(self) + 1) % len(every)]


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
)

TOLERANT = Shape(
    "errors that are answers, and plug-ins found by name",
    claim="plug/",
    before="""
--- plug/__init__.py
--- plug/loading.py
import importlib
--- plug/json_format.py
NAME = "json"
--- tests/test_nothing.py
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


def test_numbers():
    assert loading.number("12") == 12
    assert loading.number("x") is None
    assert loading.number("x", default=0) == 0


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


def number(text, default=None):
    try:
        return int(text)
    except ValueError:
        return default


@contextmanager
def noting(seen):
    seen.append("begin")
    try:
        yield seen.append
    finally:
        seen.append("end")
""",
)

CODE = (DATACLASS, EQUALITY, COMMAND, DECORATOR, CACHE, RETRY, CONSTANTS, TOLERANT)
