"""Honest state between calls."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "a decorator with functools.wraps and a counter",
        claim="counting.py",
        before="""
--- counting.py
import functools
--- tests/test_counting_is_there.py
import counting


def test_it_is_there():
    assert counting
""",
        red="""
--- tests/test_counted.py
import counting


def test_calls_are_counted():
    @counting.counted
    def double(x):
        "Twice."
        return 2 * x

    assert double.calls == 0
    assert [double(1), double(x=4)] == [2, 8]
    assert double.calls == 2
    assert (double.__name__, double.__doc__) == ("double", "Twice.")


def test_at_most():
    @counting.at_most(2)
    def hello():
        return "hello"

    assert hello() == "hello"
    assert hello() == "hello"
    assert hello() is None
""",
        edit="""
--- counting.py
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
        concerns=("state-between-runs",),
    ),
    Shape(
        "a cache that outlives the call",
        claim="rates.py",
        before="""
--- rates.py
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


def test_tickets():
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
    ),
    Shape(
        "a retry with a counter and a fake clock",
        claim="retrying.py",
        before="""
--- retrying.py
import time
--- tests/test_retrying_is_there.py
import retrying


def test_it_is_there():
    assert retrying
""",
        red="""
--- tests/test_retry.py
import pytest

import retrying


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
    monkeypatch.setattr(retrying.time, "sleep", waits.append)
    return waits


def test_until_it_works(slept):
    flaky = Flaky(2)
    assert retrying.retry(flaky, times=3, wait=0.5) == "up"
    assert flaky.calls == 3
    assert slept == [0.5, 1.0]


def test_not_for_ever(slept):
    with pytest.raises(ConnectionError, match="down"):
        retrying.retry(Flaky(9), times=2)
    assert len(slept) == 1
""",
        edit="""
--- retrying.py
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
    ),
)
