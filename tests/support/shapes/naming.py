"""Odd names, and the same names twice."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "two stacks with files of the same names",
        claim="services/a/lib.py services/b/lib.py",
        before="""
--- services/a/lib.py
A = 1
--- services/a/tests/test_lib.py
import lib


def test_a():
    assert lib.A == 1
--- services/b/lib.py
B = 2
--- services/b/tests/test_lib.py
import lib


def test_b():
    assert lib.B == 2
""",
        red="""
--- services/a/tests/test_more.py
import lib


def test_more():
    assert lib.more() == 11
--- services/b/tests/test_more.py
import lib


def test_more():
    assert lib.more() == 22
""",
        edit="""
--- services/a/lib.py
A = 1


def more():
    return 10 + A
--- services/b/lib.py
B = 2


def more():
    return 20 + B
""",
        stacks=("services/a", "services/b"),
    ),
    Shape(
        "odd names of files, functions, classes and rows",
        claim="lib.py",
        before="""
--- lib.py
A = 1
--- pytest.ini
[pytest]
python_files = check_*.py test_*.py
python_functions = it_* test_*
python_classes = Describe* Test*
--- tests/with space/test_old.py
def test_old():
    assert True
--- tests/test_nothing.py
import lib


def test_it_is_there():
    assert lib
""",
        red="""
--- tests/with space/check_url.py
import pytest

import lib


@pytest.mark.parametrize(
    ("url", "host"),
    [("http://a::b/c d", "a"), ("http://é[1]/", "é[1]"), ("x\\ny", None)],
)
def it_finds_the_host(url, host):
    assert lib.host(url) == host


class DescribeHost:
    def it_is_none_for_nothing(self):
        assert lib.host("") is None

    class TestNested:
        def test_deep(self):
            assert lib.host("http://deep") == "deep"
""",
        edit="""
--- lib.py
import re

A = 1


def host(url):
    found = re.match(r"http://([^:/]*)", url)
    return found and found[1]
""",
    ),
)
