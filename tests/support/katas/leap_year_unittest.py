"""The two rules of the demo's kata with unittest."""

from __future__ import annotations

from support.katas.script import Script

LEAP = "leap.py"
_FIRST = """\
import unittest

from leap import is_leap


class LeapTest(unittest.TestCase):
    def test_a_year_that_4_divides_is_a_leap_year(self):
        self.assertTrue(is_leap(2024))
"""
_SECOND = """
    def test_a_year_that_100_divides_is_none(self):
        self.assertFalse(is_leap(1900))
"""


def script() -> Script:
    play = Script(test_file="test_leap.py")
    play.test(
        "show that 4 divides a leap year",
        "The first rule, with the year that the kata names.",
        _FIRST,
        {LEAP: "def is_leap(year):  # STUB:TDD\n    return None\n"},
        points=(1,),
    )
    play.implement(
        "tell leap years by 4",
        "The remainder is the rule itself.",
        {LEAP: "def is_leap(year):\n    return year % 4 == 0\n"},
    )
    play.nothing("One line, and it reads as the rule does.")
    play.test(
        "show that a century is no leap year",
        "The second rule is the exception to the first.",
        _SECOND,
        points=(2,),
    )
    play.implement(
        "leave out the centuries",
        "One more remainder.",
        {LEAP: "def is_leap(year):\n    return year % 4 == 0 and year % 100 != 0\n"},
    )
    play.nothing("Two rules, two remainders.")
    return play
