from __future__ import annotations

from unittest.mock import ANY

import pytest

from support.alive import HONEST, PATH, function, tried
from verdigris.core.liveness import plan


@pytest.mark.parametrize(
    "body",
    [
        "if sys.platform == 'none': assert twice(2) == 5\nassert twice(2) == 4",
        "for n in []: assert twice(n) == 1\nassert twice(2) == 4",
        "try:\n    assert twice(2) == 4\nexcept AssertionError:\n    pass\nassert twice(2) == 4",
        "with suppress(AssertionError):\n    assert twice(2) == 4\nassert twice(2) == 4",
        "def unused():\n    assert twice(2) == 4\nassert twice(2) == 4",
        "assert twice(2) == 4\nif twice(2): return\nassert twice(2) == 5",
        "assert twice(2) == 4\nwith pytest.raises(Exception):\n    assert twice(2) == 5",
    ],
)
def test_what_need_not_be_reached_is_listed(body: str) -> None:
    live = tried(function(body), "test_it", **HONEST)
    assert live.hollow == ()
    assert all(line.endswith(": it was not reached, or its failure is caught") for line in live.unreached)
    assert len(live.unreached) == 1 or "raises" in body


def test_a_handler_of_its_own_hides_no_deaf_answer() -> None:
    body = "try:\n    assert twice(2) == 4\nexcept ValueError:\n    raise"
    assert tried(function(body), "test_it", **HONEST).unreached == ()
    assert tried(function(body), "test_it", twice=lambda _: ANY).hollow != ()


HELPERS = """
def check(n, expected):
    assert twice(n) == expected

class Base:
    def __init__(self, *_): pass
    def check_all(self, *numbers):
        for n in numbers:
            check(n, n + n)
    def test_inherited(self):
        self.check_all(1, 2)

class TestIt(Base):
    def test_own(self):
        self.check_all(3)

def test_plain():
    check(1, 2)

def test_other():
    assert twice(1) == 2
"""


def test_helpers_are_changed_too() -> None:
    names = ("test_plain", "TestIt::test_own", "TestIt::test_inherited", "test_other")
    made = plan({PATH: HELPERS}, [f"{PATH}::{name}" for name in names])
    assert [[probe.line for probe in variant.probes] for variant in made.variants] == [[3, 21]]
    assert made.variants[0].probes[0].functions == tuple(f"{PATH}::{name}" for name in names[:3])
    assert tried(HELPERS, *names, **HONEST).hollow == tried(HELPERS, *names, **HONEST).unreached == ()
    assert len(tried(HELPERS, *names, twice=lambda _: ANY).hollow) == 4


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("from helpers import check", "check(1)"),
        ("from tests.helpers import check as c", "c(1)"),
        ("from .helpers import check", "check(1)"),
        ("import helpers", "helpers.check(1)"),
        ("from tests import helpers", "helpers.check(1)"),
    ],
)
def test_helpers_of_other_test_files(line: str, call: str) -> None:
    helpers = "def check(n):\n    assert n == 1\n"
    texts = {PATH: f"{line}\ndef test_it():\n    {call}\n", "tests/helpers.py": helpers}
    made = plan(texts, [f"{PATH}::test_it"])
    assert [dict(variant.texts) for variant in made.variants] == [
        {"tests/helpers.py": "def check(n):\n    assert n == 1000006\n"}
    ]
    two = plan({**texts, "a/tests/helpers.py": helpers, "b/helpers.py": helpers}, [f"{PATH}::test_it"])
    assert len(two.variants) == 1
