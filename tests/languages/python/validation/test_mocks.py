"""Tests that replace the thing that they test."""

# ruff: noqa: E501 - texts of tests

from __future__ import annotations

import pytest

from verdigris.languages.findings import TestText
from verdigris.languages.python import LANGUAGE

HEAD = """\
import sys
from unittest import mock
from unittest.mock import patch

import pytest

import shop.cart
from shop import orders
from shop.cart import Cart, total


"""
SOURCES = ("src/shop/__init__.py", "src/shop/cart.py", "src/shop/orders.py", "src/shop/mail.py")


def faults(text: str, name: str = "test_it") -> list[str]:
    found = LANGUAGE.validation.mocked_subjects(
        TestText("tests/test_it.py", name, {"tests/test_it.py": HEAD + text}), SOURCES
    )
    assert found is not None
    return [one.what for one in found]


@pytest.mark.parametrize(
    "text",
    [
        "@mock.patch('shop.cart.total', return_value=3)\ndef test_it(fake):\n    assert total([1, 2]) == 3\n",
        "def test_it():\n    with patch('shop.cart.total') as fake:\n        fake.return_value = 3\n        assert shop.cart.total([1]) == 3\n",
        "def test_it(monkeypatch):\n    monkeypatch.setattr(shop.cart, 'total', lambda items: 3)\n    assert shop.cart.total([1]) == 3\n",
        "def test_it(monkeypatch):\n    monkeypatch.setattr('shop.orders.place', lambda: 3)\n    assert orders.place() == 3\n",
        "def test_it(mocker):\n    mocker.patch.object(orders, 'place', return_value=3)\n    assert orders.place() == 3\n",
        "def test_it():\n    orders.place = lambda: 3\n    assert orders.place() == 3\n",
        "@patch.object(Cart, 'sum')\ndef test_it(fake):\n    fake.return_value = 3\n    assert Cart().sum() == 3\n",
        "@patch('tests.test_it.total')\ndef test_it(fake):\n    fake.return_value = 3\n    assert total([1]) == 3\n",
        "def test_it(monkeypatch):\n    monkeypatch.setitem(sys.modules, 'shop.cart', mock.Mock())\n    assert total([1]) == 3\n",
        "@pytest.fixture\ndef fake(monkeypatch):\n    monkeypatch.setattr(orders, 'place', lambda: 3)\n\n\ndef test_it(fake):\n    assert orders.place() == 3\n",
        "@pytest.fixture(autouse=True)\ndef fake(monkeypatch):\n    monkeypatch.setattr(orders, 'place', lambda: 3)\n\n\ndef test_it():\n    assert orders.place() == 3\n",
        "@patch('shop.cart.Cart')\ndef test_it(fake):\n    assert Cart().sum() == 3\n",
    ],
)
def test_a_test_that_replaces_its_subject_is_found(text: str) -> None:
    found = faults(text)
    assert len(found) == 1, found
    assert "replaced here and called" in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "@mock.patch('shop.orders.send')\ndef test_it(send):\n    orders.place()\n    send.assert_called_once_with('ok')\n",
        "def test_it(monkeypatch):\n    monkeypatch.setattr(orders, 'now', lambda: 5)\n    assert orders.place() == 5\n",
        "@patch('shop.mail.smtplib.SMTP')\ndef test_it(smtp):\n    assert orders.place() == 5\n",
        "@patch('requests.get')\ndef test_it(get):\n    assert total([1]) == 3\n",
        "def test_it():\n    with patch('shop.cart.total', wraps=total) as spy:\n        assert orders.place() == 3\n    spy.assert_called_once()\n",
        "def test_it():\n    cart = Cart()\n    cart.owner = 'me'\n    assert cart.sum() == 3\n",
        "def test_it(monkeypatch):\n    monkeypatch.setenv('SHOP', '1')\n    assert total([1]) == 1\n",
        "@patch.object(Cart, 'save')\ndef test_it(save):\n    assert Cart().sum() == 3\n    save.assert_not_called()\n",
    ],
)
def test_replacing_what_the_subject_uses_is_honest(text: str) -> None:
    assert faults(text) == []


def test_the_subject_of_another_test_is_not_this_ones() -> None:
    text = (
        "@patch('shop.cart.total')\ndef test_other(fake):\n    assert orders.place() == 3\n\n\n"
        "def test_it():\n    assert total([1]) == 1\n"
    )
    assert faults(text) == []
