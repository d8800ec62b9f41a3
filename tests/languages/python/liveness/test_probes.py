from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest

from support.alive import HONEST, LIVENESS, PATH, function, tried

if TYPE_CHECKING:
    from verdigris.languages.probes import Probe


def probes(texts: dict[str, str], *ids: str) -> tuple[Probe, ...]:
    return LIVENESS.probes({path: text.encode() for path, text in texts.items()}, ids, Random(1), 1)


def lines_of(found: tuple[Probe, ...]) -> list[int]:
    """Of the assertions that are changed, each once."""
    return [line for _, line in dict.fromkeys((probe.path, probe.line) for probe in found)]


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
        "assert twice(2) == 4\nwith pytest.raises(TypeError):\n    assert twice(1, 2)",
        "assert twice(2) == 4\nwith pytest.raises(TypeError):\n    x = 1\n    assert twice(x, 2) % 3",
    ],
)
def test_what_need_not_be_reached_is_listed(body: str) -> None:
    live = tried(function(body), "test_it", **HONEST)
    assert live.hollow == ()
    whys = {"it was not reached, or its failure is caught", "the test failed elsewhere"}
    assert {line.split(": ")[-1] for line in live.unreached} <= whys
    assert live.unreached or "raises" in body


def test_before_what_is_expected_to_raise_an_assertion_counts() -> None:
    body = "with pytest.raises(TypeError):\n    assert twice(2) == 4\n    twice()"
    assert tried(function(body), "test_it", **HONEST).hollow == ()

    def deaf(*given: object) -> object:
        if not given:
            raise TypeError
        return ANY

    assert tried(function(body), "test_it", twice=deaf).hollow != ()


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
    found = probes({PATH: HELPERS}, *(f"{PATH}::{name}" for name in names))
    assert lines_of(found) == [3, 21]
    assert found[0].names | found[0].maybe == {f"{PATH}::{name}" for name in names[:3]}
    assert tried(HELPERS, *names, **HONEST).hollow == tried(HELPERS, *names, **HONEST).unreached == ()
    assert len(tried(HELPERS, *names, twice=lambda _: ANY).judged.hollow) >= 2


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
    [probe] = probes(texts, f"{PATH}::test_it")
    assert (probe.path, probe.changes[0].what) in {("tests/helpers.py", f"1 → {n}") for n in (0, 2)}
    two = probes({**texts, "a/tests/helpers.py": helpers, "b/helpers.py": helpers}, f"{PATH}::test_it")
    assert len(two) == 1


CONTRACT = """
class Contract:
    def expected(self): return 0
    def check(self, value):
        assert value == self.expected()
    def test_it(self):
        self.check(twice(1))
        assert twice(2) == 4

def test_shared():
    assert twice(2) == 4
"""


@pytest.mark.parametrize(
    ("text", "name", "lines"),
    [
        ("from base import Contract\nclass TestA(Contract):\n    pass", "TestA::test_it", [5, 8]),
        ("import base\nclass TestA(base.Contract):\n    pass", "TestA::test_it", [5, 8]),
        ("from tests import base as b\nclass TestA(b.Contract):\n    pass", "TestA::test_it", [5, 8]),
        (
            "from .base import Contract as C\nclass A(C): pass\nclass TestB(A): pass",
            "TestB::test_it",
            [5, 8],
        ),
        ("from base import Contract", "Contract::test_it", [5, 8]),
        ("from base import *", "Contract::test_it", [5, 8]),
        ("from base import *", "test_shared", [11]),
        ("from base import test_shared as test_mine", "test_mine", [11]),
        (
            (
                "from base import Contract\nclass TestA(Contract):\n    def test_it(self):\n"
                "        super().test_it()\n        assert twice(3) == 6"
            ),
            "TestA::test_it",
            [5, 8, 5],
        ),
        (
            (
                "from base import Contract\nclass TestA(Contract):\n    def check(self, value):\n"
                "        assert value == 2"
            ),
            "TestA::test_it",
            [4, 8],
        ),
    ],
)
def test_what_is_inherited_or_imported_is_changed_where_it_stands(
    text: str, name: str, lines: list[int]
) -> None:
    assert lines_of(probes({PATH: text, "tests/base.py": CONTRACT}, f"{PATH}::{name}")) == lines


MAKER = """
import unittest

def make(n):
    def test(*_):
        assert twice(n) == n + n
    return test

class Generated(unittest.TestCase):
    test_made = make(1)

for n in (1, 2):
    setattr(Generated, f"test_{n}_set", make(n))
    globals()[f"test_{n}"] = make(n)
test_three = make(3)
"""


@pytest.mark.parametrize("name", ["Generated::test_made", "Generated::test_2_set", "test_2", "test_three"])
def test_what_a_function_makes_is_changed_there(name: str) -> None:
    assert lines_of(probes({PATH: MAKER}, f"{PATH}::{name}")) == [6]


def test_of_two_makers_none_is_guessed() -> None:
    other = "\ndef more(n):\n    def test(): assert n\n    return test\nglobals()[f'test_{1}'] = more(1)\n"
    assert probes({PATH: MAKER + other}, f"{PATH}::test_1") == ()


def test_classes_that_inherit_in_a_circle_come_to_an_end() -> None:
    text = "class A(B): pass\nclass B(A): pass"
    assert probes({PATH: text}, f"{PATH}::A::test_x") == ()
