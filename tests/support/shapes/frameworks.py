"""Tests that use features of pytest, unittest and mocks."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
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
    ),
    Shape(
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
    ),
    Shape(
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
    ),
    Shape(
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
    ),
)
