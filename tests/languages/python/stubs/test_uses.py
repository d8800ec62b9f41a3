"""What a Python test asks of modules, and the stub that follows."""

from __future__ import annotations

from textwrap import dedent

import pytest

from verdigris.languages.python.stubs import only_stubs
from verdigris.languages.python.stubs.declarations import (
    extend_module,
    python_stub,
    read_declarations,
    stub_of_edit,
)
from verdigris.languages.python.stubs.uses import find_wanted


def stubs(text: str, *, raises: bool = True) -> str:
    wanted = (one for one in find_wanted(dedent(text), lambda _: False) if one.name)
    return extend_module("", [python_stub(one, raises=raises) for one in wanted if one.module == "shop"])


@pytest.mark.parametrize(
    ("test", "stub"),
    [
        ("from shop import total\nassert total([1, 2]) == 3", "def total(items):"),
        ("from shop import total\nassert total(3, 'x', prices) == 3", "def total(number, text, prices):"),
        ("from shop import total\nassert total(3, 4) == 3", "def total(a, b):"),
        ("from shop import total\nassert total(3, a, 'x', 4) == 3", "def total(b, a, text, c):"),
        ("from shop import total\ntotal(3)\ntotal(3, cut=0.1)", "def total(number, cut=None):"),
        ("from shop import total\ntotal(prices=3)", "def total(prices):"),
        ("from shop import total\ntotal()\ntotal(3)", "def total(number=None):"),
        ("from shop import total\ntotal(*rows, **more)", "def total(*args, **options):"),
        ("from shop import total\nasync def test():\n    await total(1)", "async def total(number):"),
        ("import shop\nassert shop.total(1) == 2", "def total(number):"),
        ("import shop as s\nassert s.total(1) == 2", "def total(number):"),
        ("from shop import total\nassert list(map(total, rows))", "def total():"),
        ("from shop import RATE\nassert RATE == 3", "RATE = None  # STUB:TDD"),
        ("from shop import Broke\nwith pytest.raises(Broke):\n    pass", "class Broke(Exception):"),
        (
            "from shop import NoCoinError\ntry:\n    f()\nexcept NoCoinError: pass",
            "class NoCoinError(Exception):",
        ),
        ("from shop import Money\ndef f(m: Money): pass", "class Money:"),
    ],
)
def test_a_name_is_declared_as_it_is_used(test: str, stub: str) -> None:
    text = stubs(test)
    assert stub in text.splitlines()
    assert only_stubs(None, text) is None


def test_a_class_has_what_is_asked_of_it() -> None:
    text = stubs("""
        from shop import Money

        def test_add():
            m = Money(1, "EUR")
            assert m.add(Money(2, currency="EUR")).amount == 3
            assert m.currency == "EUR"
            assert Money.of(3) == m
    """)
    assert text == dedent('''\
        class Money:
            """STUB:TDD"""

            currency = None

            def __init__(self, number, text=None, currency=None):
                pass

            def add(self, money):
                raise NotImplementedError("STUB:TDD")

            @classmethod
            def of(cls, number):
                raise NotImplementedError("STUB:TDD")
    ''')
    assert only_stubs(None, text) is None


def test_where_only_an_assertion_is_a_red_a_stub_returns() -> None:
    text = stubs("from shop import total\nassert total(1) == 2", raises=False)
    assert text == "def total(number):\n    return None  # STUB:TDD\n"
    assert only_stubs(None, text) is None


def test_a_module_that_is_taken_from_a_package_is_asked_for_its_names() -> None:
    found = find_wanted("from shop import cart\nassert cart.total(1) == 2\n", lambda _: False)
    assert ("shop.cart", "total", "function") in {(one.module, one.name, one.kind) for one in found}


def test_a_stub_goes_behind_what_a_module_holds() -> None:
    text = extend_module("import os\n", ["def f():\n    pass  # STUB:TDD\n"])
    assert text == "import os\n\n\ndef f():\n    pass  # STUB:TDD\n"


def test_what_a_module_declares() -> None:
    text = "import os.path\nfrom a import b as c\ntry:\n    X = 1\nexcept E:\n    Y = 2\nclass K: z = 1\n"
    assert read_declarations(text) == frozenset({"os", "c", "X", "Y", "K"})
    assert read_declarations("from a import *\n") is None
    assert read_declarations("def __getattr__(name): ...\n") is None
    assert read_declarations("def (") is None


def test_the_stub_of_what_an_edit_adds() -> None:
    after = b"X = 1\n\ndef add(a, b): return 0\n\ndef total(prices: list, cut=0) -> int: return 1\n"
    stub = stub_of_edit(b"X = 1\n\ndef add(a, b): return 1\n", after)
    assert stub == 'def total(prices: list, cut=0) -> int: raise NotImplementedError("STUB:TDD")'
    assert only_stubs("X = 1\n", f"X = 1\n\n{stub}\n") is None
    assert stub_of_edit(b"", b"X = 2\n") == ""
    assert stub_of_edit(b"", b"def (") == ""
