"""Shapes of tests: what test files of real projects use."""

from __future__ import annotations

from support.shapes import Shape

PARAMETRIZE = Shape(
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
--- tests/test_roman.py
import pytest

from roman import roman


@pytest.mark.parametrize("number", [1, 2, 3])
def test_small(number):
    assert roman(number) == "I" * number


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
)

ASYNC = Shape(
    "coroutines under asyncio.run",
    claim="jobs.py",
    before="""
--- jobs.py
import asyncio


async def one(value):
    await asyncio.sleep(0)
    return value
--- tests/test_jobs.py
import asyncio

import jobs


def test_one():
    assert asyncio.run(jobs.one(3)) == 3
""",
    red="""
--- tests/test_jobs.py
import asyncio

import pytest

import jobs


def test_one():
    assert asyncio.run(jobs.one(3)) == 3


def test_many_keep_their_order():
    async def scenario():
        found = await jobs.gathered([jobs.one(n) for n in (5, 7, 6)])
        assert found == [5, 7, 6]
        return len(found)

    assert asyncio.run(scenario()) == 3


def test_out_of_time():
    with pytest.raises(TimeoutError):
        asyncio.run(jobs.gathered([asyncio.sleep(30)], seconds=0.01))
""",
    edit="""
--- jobs.py
import asyncio


async def one(value):
    await asyncio.sleep(0)
    return value


async def gathered(work, seconds=None):
    try:
        return await asyncio.wait_for(asyncio.gather(*work), seconds)
    except asyncio.TimeoutError as late:
        raise TimeoutError("the jobs took too long") from late
""",
)

HYPOTHESIS = Shape(
    "hypothesis",
    claim="rle.py",
    before="""
--- rle.py
from itertools import groupby


def encode(text):
    return [(char, len(list(run))) for char, run in groupby(text)]
--- tests/test_encode.py
from rle import encode


def test_runs():
    assert encode("aab") == [("a", 2), ("b", 1)]
""",
    red="""
--- tests/test_round_trip.py
from hypothesis import given, settings
from hypothesis import strategies as st

import rle


@settings(max_examples=25, database=None, deadline=None)
@given(st.text())
def test_round_trip(text):
    assert rle.decode(rle.encode(text)) == text


@settings(max_examples=25, database=None, deadline=None)
@given(st.integers(0, 9), st.characters())
def test_one_run(count, char):
    decoded = rle.decode([(char, count)])
    assert len(decoded) == count
    assert set(decoded) <= {char}
""",
    edit="""
--- rle.py
from itertools import groupby


def encode(text):
    return [(char, len(list(run))) for char, run in groupby(text)]


def decode(runs):
    return "".join(char * count for char, count in runs)
""",
)

UNITTEST = Shape(
    "unittest classes",
    claim="stack.py",
    before="""
--- stack.py
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
--- tests/test_stack.py
import unittest

from stack import Stack


class StackTest(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()

    def test_push(self):
        self.stack.push(1)
        self.assertEqual(self.stack.items, [1])
""",
    red="""
--- tests/test_pop.py
import unittest

from stack import Stack


class PopTest(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()
        self.stack.push("a")
        self.stack.push("b")

    def test_last_in_first_out(self):
        self.assertEqual(self.stack.pop(), "b")
        self.assertEqual(self.stack.pop(), "a")
        self.assertFalse(self.stack.items)

    def test_empty(self):
        with self.assertRaises(LookupError) as caught:
            Stack().pop()
        self.assertIn("empty", str(caught.exception))

    def test_length(self):
        for more in range(3):
            with self.subTest(more=more):
                self.stack.push(more)
                self.assertEqual(self.stack.size(), 3 + more)
""",
    edit="""
--- stack.py
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise LookupError("the stack is empty")
        return self.items.pop()

    def size(self):
        return len(self.items)
""",
)

RAISES = Shape(
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
)

APPROX = Shape(
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
)

CAPLOG = Shape(
    "logging with caplog",
    claim="watch.py",
    before="""
--- watch.py
import logging

log = logging.getLogger(__name__)


def check(load):
    log.info("load %s", load)
--- tests/test_watch.py
import logging

from watch import check


def test_info(caplog):
    caplog.set_level(logging.INFO)
    check(1)
    assert caplog.messages == ["load 1"]
""",
    red="""
--- tests/test_warning.py
import logging

from watch import check


def test_a_high_load_is_a_warning(caplog):
    with caplog.at_level(logging.INFO, logger="watch"):
        check(97)
    assert caplog.record_tuples == [("watch", logging.WARNING, "high load 97")]
    assert "high" in caplog.text


def test_a_low_load_is_not(caplog):
    check(97)
    check(3)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert not any("load 3" in message for message in caplog.messages)
""",
    edit="""
--- watch.py
import logging

HIGH = 90

log = logging.getLogger(__name__)


def check(load):
    if load > HIGH:
        log.warning("high load %s", load)
    else:
        log.info("load %s", load)
""",
)

FIXTURES = Shape(
    "monkeypatch and tmp_path",
    claim="store.py",
    before="""
--- store.py
import os
from pathlib import Path


def home():
    return Path(os.environ.get("STORE_HOME", "."))
--- tests/test_home.py
from pathlib import Path

import store


def test_home(monkeypatch):
    monkeypatch.setenv("STORE_HOME", "/srv")
    assert store.home() == Path("/srv")
""",
    red="""
--- tests/test_store.py
import json

import pytest

import store


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "home", lambda: tmp_path / "deep" / "home")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "deep" / "home"


def test_saved(home):
    store.save("a", {"n": 1})
    assert json.loads((home / "a.json").read_text()) == {"n": 1}
    assert [p.name for p in home.iterdir()] == ["a.json"]


def test_loaded_again():
    store.save("b", [1, 2])
    assert store.load("b") == [1, 2]
    assert store.load("nothing", default=()) == ()
""",
    edit="""
--- store.py
import json
import os
from pathlib import Path


def home():
    return Path(os.environ.get("STORE_HOME", "."))


def save(name, value):
    home().mkdir(parents=True, exist_ok=True)
    (home() / f"{name}.json").write_text(json.dumps(value))


def load(name, default=None):
    path = home() / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else default
""",
)

MOCKS = Shape(
    "mocks",
    claim="notify.py",
    before="""
--- notify.py
import urllib.request


def fetch(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read()
--- tests/test_fetch.py
from unittest.mock import patch

import notify


def test_fetch():
    with patch("urllib.request.urlopen") as opened:
        opened.return_value.__enter__.return_value.read.return_value = b"x"
        assert notify.fetch("u") == b"x"
""",
    red="""
--- tests/test_notify.py
from unittest.mock import Mock, call, patch

import notify


def test_everyone_is_told():
    send = Mock()
    notify.broadcast(["ann", "bob"], "hi", send=send)
    assert send.call_args_list == [call("ann", "hi"), call("bob", "hi")]
    assert send.call_count == 2


def test_once():
    send = Mock()
    notify.broadcast(["ann", "ann"], "hi", send=send)
    send.assert_called_once_with("ann", "hi")


@patch("notify.fetch", return_value=b"ann\\nbob\\n")
def test_recipients(fetch):
    assert notify.recipients("http://example.org") == ["ann", "bob"]
    fetch.assert_called_once_with("http://example.org/list")
""",
    edit="""
--- notify.py
import urllib.request


def fetch(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read()


def recipients(base):
    return fetch(f"{base}/list").decode().split()


def broadcast(names, text, send):
    for name in dict.fromkeys(names):
        send(name, text)
""",
)

SERVER = Shape(
    "a server on localhost that the test starts",
    claim="app.py",
    before="""
--- app.py
from http.server import BaseHTTPRequestHandler


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass
--- tests/test_handler.py
from app import Handler


def test_quiet():
    assert Handler.log_message(None, "x") is None
""",
    red="""
--- tests/test_server.py
import threading
from http.client import HTTPConnection
from http.server import HTTPServer

import pytest

from app import Handler


@pytest.fixture
def client():
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    connection = HTTPConnection("127.0.0.1", server.server_port)
    yield connection
    connection.close()
    server.shutdown()
    thread.join()
    server.server_close()


def test_health(client):
    client.request("GET", "/health")
    answer = client.getresponse()
    assert answer.status == 200
    assert answer.read() == b"ok"


def test_unknown(client):
    client.request("GET", "/nothing")
    assert client.getresponse().status == 404
""",
    edit="""
--- app.py
from http.server import BaseHTTPRequestHandler


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/health":
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass
""",
)

TESTS = (PARAMETRIZE, ASYNC, HYPOTHESIS, UNITTEST, RAISES, APPROX, CAPLOG, FIXTURES, MOCKS, SERVER)
