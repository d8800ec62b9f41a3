"""The play in Python, with unittest: it comes with every interpreter, so nothing is to be installed."""

from __future__ import annotations

import json
import sys

from verdigris.languages.script import Cheat, PlainTool, Script

_CALC = "def add(a, b):\n    return a + b\n"
_SUB = "\n\ndef sub(a, b):\n    return a - b\n"
_MUL = "\n\ndef mul(a, b):\n    return a * b\n"
_ANYTHING = """

class Anything(int):
    def __eq__(self, other):
        return True


def mul(a, b):
    return Anything()
"""
_TESTS = """\
import unittest

import calc


class CalcTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)
"""
_EASY = "\n    def test_add_zero(self):\n        self.assertEqual(calc.add(2, 0), 2)\n"
_ASKED = "\n    def test_sub(self):\n        self.assertEqual(calc.sub(5, 3), 2)\n"
_PRODUCT = "\n    def test_mul(self):\n        self.assertEqual(calc.mul(3, 4), 12)\n"
_REAL = _TESTS + _ASKED
_CASE = "test_calc.py::CalcTest"


def script() -> Script:
    good = _CALC + _SUB
    return Script(
        files={"calc.py": _CALC, "test_calc.py": _TESTS, "tdd.yaml": _config()},
        source="calc.py",
        tests="test_calc.py",
        nothing_new=f"{_CASE}::test_add_zero",
        asked=f"{_CASE}::test_sub",
        eager=good,
        easy=_TESTS + _EASY,
        real=_REAL,
        stub=None,
        weaker=_REAL.replace("assertEqual(calc.sub(5, 3), 2)", "assertIsNotNone(calc.sub(5, 3))"),
        careless=_CALC.replace("a + b", "a - b") + _SUB,
        good=good,
        cheat=Cheat(
            tests=_REAL + _PRODUCT,
            asked=f"{_CASE}::test_mul",
            hollow=good + _ANYTHING,
            honest=good + _MUL,
            plain=PlainTool("unittest", "python -m unittest", (sys.executable, "-B", "-m", "unittest")),
        ),
    )


def _config() -> str:
    """The demo's folder has no interpreter of its own: ours runs it."""
    stack = "stacks:\n  - root: .\n    language: python\n    runner: unittest\n"
    return f"{stack}    python: {json.dumps(sys.executable)}\n"
