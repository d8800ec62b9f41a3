"""Code of tests that stands in the place of source while a claimed test runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import make_live_world
from verdigris.core.verdict import Kind
from verdigris.turns.claim_check import Claimed

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.turns.settle import Settlement

NAME = "tests/test_bill.py::test_total"
STUB = "def total(prices):\n    raise NotImplementedError\n"
TEST = "import bill\n\n\ndef test_total():\n    assert (bill.total([1, 2]), bill.total([4])) == (3, 4)\n"
PATCHED = """\
import pytest

import bill


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    monkeypatch.setattr(bill, "{name}", {double}, raising=False)
"""
ADDS = "lambda prices: sum(prices)"


def settle(tmp_path: Path, source: str, test: str, conftest: str = "", stub: str = STUB) -> Settlement:
    world = make_live_world(tmp_path / "repo", **{"bill.py": stub})
    world.write("tests/conftest.py", conftest)
    world.write("tests/test_bill.py", test)
    world.claimed(NAME, "bill.py")
    world.write("bill.py", source)
    return world.settle()


def patched(name: str, double: str = ADDS) -> str:
    return PATCHED.format(name=name, double=double)


@pytest.mark.parametrize(
    "double", [ADDS, "__import__('unittest.mock').mock.Mock(side_effect=sum)"], ids=["function", "mock"]
)
def test_an_implementation_that_only_tests_provide_is_hollow(tmp_path: Path, double: str) -> None:
    source = "ENGINE = None\n\n\ndef total(prices):\n    return ENGINE(prices)\n"
    verdict = settle(tmp_path, source, TEST, patched("ENGINE", double)).verdict
    assert verdict.kind is Kind.HOLLOW
    assert "bill.py:5 calls `ENGINE`, and only tests give it a value" in verdict.reasons[0]


def test_a_part_of_the_changed_module_that_a_test_replaces_is_noted(tmp_path: Path) -> None:
    source = "def add(prices):\n    return sum(prices)\n\n\ndef total(prices):\n    return add(prices)\n"
    verdict = settle(tmp_path, source, TEST, patched("add")).verdict
    assert any("replaces `add` of bill.py (tests/conftest.py:8)" in text for text in verdict.concerns)


def test_a_hook_that_source_itself_sets_is_noted_only(tmp_path: Path) -> None:
    source = (
        "_engine = None\n\n\ndef use(engine):\n    global _engine\n    _engine = engine\n\n\n"
        "def total(prices):\n    return _engine(prices)\n"
    )
    test = TEST.replace("    assert", f"    bill.use({ADDS})\n    assert", 1)
    verdict = settle(tmp_path, source, test).verdict
    assert verdict.kind is Kind.ACCEPTED
    assert not any("only tests give it a value" in text for text in verdict.reasons)


def test_a_double_in_a_file_that_only_has_debts_is_not_judged(tmp_path: Path) -> None:
    world = make_live_world(tmp_path / "repo", **{"bill.py": STUB, "shop.py": "def pay():\n    return 0\n"})
    world.write("tests/test_bill.py", TEST)
    world.claimed(NAME, "bill.py")
    world.write("bill.py", "ENGINE = None\n\n\ndef total(prices):\n    return (ENGINE or sum)(prices)\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED
    assert [debt.path for debt in world.project.state().owed.values()] == ["bill.py"]
    double = f"    monkeypatch.setattr(bill, 'ENGINE', {ADDS})\n"
    test = f"def test_pay(monkeypatch):\n{double}    assert (shop.pay([3]), shop.pay([4, 5])) == (3, 9)\n"
    world.write("tests/test_shop.py", f"import bill\nimport shop\n\n\n{test}")
    world.claimed("tests/test_shop.py::test_pay", "shop.py")
    world.write("shop.py", "import bill\n\n\ndef pay(prices):\n    return bill.total(prices)\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED


METHODS = "class Cart:\n    def total(self):\n        raise NotImplementedError\n"
SUBCLASSED = """\
import bill


class Fake(bill.Cart):
    def prices(self):
        return [1, 2]


def test_total():
    assert Fake().total() == 3
"""


def test_a_method_that_only_a_class_of_the_test_has_is_noted(tmp_path: Path) -> None:
    source = "class Cart:\n    def total(self):\n        return sum(self.prices())\n"
    verdict = settle(tmp_path, source, SUBCLASSED, stub=METHODS).verdict
    assert verdict.kind is Kind.ACCEPTED
    assert "bill.py:3 calls `prices`, which only tests define (tests/test_bill.py:5)" in verdict.concerns


def test_a_method_that_source_declares_is_a_seam(tmp_path: Path) -> None:
    source = (
        "class Cart:\n    def total(self):\n        return sum(self.prices())\n\n"
        "    def prices(self):\n        raise NotImplementedError\n"
    )
    stub = f"{METHODS}\n    def prices(self):\n        raise NotImplementedError\n"
    verdict = settle(tmp_path, source, SUBCLASSED, stub=stub).verdict
    assert not any("prices" in text for text in verdict.concerns)


HONEST = {
    "an argument": (
        "def total(prices, add=sum):\n    return add(prices)\n",
        f"import bill\n\n\ndef test_total():\n    assert bill.total([1, 2], {ADDS}) == 3\n",
        "",
    ),
    "a service": (
        (
            "from urllib.request import urlopen\n\n\ndef total(prices):\n"
            "    return sum(prices) + int(urlopen('http://shop/rebate').read())\n"
        ),
        TEST,
        patched("urlopen", "lambda url: __import__('io').BytesIO(b'0')"),
    ),
    "a clock": (
        "import time\n\n\ndef total(prices):\n    return sum(prices) + int(time.time())\n",
        TEST,
        (
            "import time\n\nimport pytest\n\n\n@pytest.fixture(autouse=True)\n"
            "def frozen(monkeypatch):\n    monkeypatch.setattr(time, 'time', lambda: 0.0)\n"
        ),
    ),
    "a fake of a repository": (
        (
            "class Rates:\n    def rate(self, name):\n        raise NotImplementedError\n\n\n"
            "def total(prices, rates=None):\n    return sum(prices) * (rates.rate('x') if rates else 1)\n"
        ),
        (
            "import bill\n\n\nclass Fixed(bill.Rates):\n    def rate(self, name):\n        return 3\n\n\n"
            "def test_total():\n    assert (bill.total([3], Fixed()), bill.total([2])) == (9, 2)\n"
        ),
        "",
    ),
}


@pytest.mark.parametrize("kind", HONEST)
def test_a_double_of_something_else_is_not_named(tmp_path: Path, kind: str) -> None:
    declared = "class Rates:\n    def rate(self, name):\n        raise NotImplementedError\n\n\n"
    verdict = settle(tmp_path, *HONEST[kind], stub=declared + STUB).verdict
    assert verdict.kind is Kind.ACCEPTED, verdict
    assert not any("only tests" in text or "replaces" in text for text in verdict.concerns)


def test_a_claim_names_a_mock_of_what_the_test_calls(tmp_path: Path) -> None:
    world = make_live_world(tmp_path / "repo", **{"bill.py": STUB})
    test = (
        "from unittest import mock\n\nimport bill\n\n\ndef test_total():\n    assert bill.total([1]) == 1\n"
    )
    patch = '    with mock.patch("bill.total", return_value=2):\n        assert bill.total([1]) == 2\n'
    world.write("tests/test_bill.py", test + patch)
    world.test(NAME)
    claimed = world.claim(NAME)
    assert isinstance(claimed, Claimed), claimed
    assert any("tests/test_bill.py:8: `bill.total` is replaced here" in text for text in claimed.concerns)
