from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest

from verdigris.drivers.cycle.validation.strength import FoundStubs, TriedTest, try_strength
from verdigris.drivers.cycle.validation.stub_runs import Assignment, StubRunEnd, StubRuns
from verdigris.languages.findings import StubAnswer, StubBody

pytestmark = pytest.mark.quick

NET = StubBody("price.py", "net", 1, 0, 0, "%s", (StubAnswer("100", "int"), StubAnswer("5", "int")))
TAX = StubBody("price.py", "tax", 4, 0, 0, "%s", (StubAnswer("19", "int"), StubAnswer("7", "int")))


class Answers:
    """Runs in which a function tells whether the test passes, from what each stub returns."""

    spent = False

    def __init__(self, passes: Callable[[str, str], bool]) -> None:
        self.passes = passes
        self.done: dict[Assignment, StubRunEnd] = {}

    def run(self, assignments: Sequence[Assignment]) -> None:
        for one in assignments:
            said = {0: "own", 1: "own", **{at: answer.text for at, answer in one}}
            self.done[one] = StubRunEnd({"test_it": self.passes(said[0], said[1])})


def weak_stubs(passes: Callable[[str, str], bool]) -> list[str]:
    body = "assert net(119) == 100 and tax(119) != 0"
    test = TriedTest("test_it", "tests/test_price.py:3", body, body)
    found = try_strength([test], FoundStubs((NET, TAX)), cast("StubRuns", Answers(passes))).findings
    return [name for one in found for name in ("net", "tax") if f"`{name}`" in one.what]


def test_one_of_several_stubs_is_changed_alone_beside_answers_that_the_test_takes() -> None:
    """With every stub changed at once, `tax` would pass once only: whenever `net` happens to be right."""
    assert weak_stubs(lambda net, tax: net == "100" and tax != "own") == ["tax"]


def test_a_test_that_pins_both_is_strong() -> None:
    assert weak_stubs(lambda net, tax: (net, tax) == ("100", "19")) == []


def test_a_stub_whose_own_constant_would_do_is_called_in_passing() -> None:
    assert weak_stubs(lambda net, _: net == "100") == []
