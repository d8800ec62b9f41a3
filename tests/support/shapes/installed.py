"""Tests that use installed packages: pytest-asyncio, hypothesis, numpy, syrupy."""

from __future__ import annotations

from support.shape import Shape

AUTOLOAD = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
"""The plugins of the environment are loaded, as they are for every user."""

SHAPES = (
    Shape(
        "pytest-asyncio, IsolatedAsyncioTestCase",
        claim="awaiting.py",
        before="""
--- pyproject.toml
[tool.pytest.ini_options]
asyncio_mode = "auto"
--- awaiting.py
import asyncio
--- tests/conftest.py
import pytest_asyncio


@pytest_asyncio.fixture
async def numbers():
    yield [1, 2]
--- tests/test_awaiting_is_there.py
import awaiting


async def test_it_is_there(numbers):
    assert awaiting
    assert numbers == [1, 2]
""",
        red="""
--- tests/test_async.py
import asyncio
import unittest

import pytest

import awaiting


async def test_queue():
    queue = awaiting.Queue()
    await queue.put(4)
    assert await queue.get() == 4
    assert queue.empty()


@pytest.mark.asyncio
@pytest.mark.parametrize("n", [1, 3])
async def test_squares(n, numbers):
    found = [value async for value in awaiting.squares(n)]
    assert found[-1] == (n - 1) ** 2
    assert len(found) == n


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.found = [1]

    async def test_squares(self):
        self.found += [v async for v in awaiting.squares(2)]
        self.assertEqual(self.found, [1, 0, 1])
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(awaiting.Queue().get(), 0.01)
""",
        edit="""
--- awaiting.py
import asyncio


class Queue(asyncio.Queue):
    pass


async def squares(n):
    for value in range(n):
        await asyncio.sleep(0)
        yield value * value
""",
        env=AUTOLOAD,
        beside_others=True,
    ),
    Shape(
        "hypothesis",
        claim="rle.py",
        before="""
--- rle.py
from itertools import groupby


def encode(text):
    return [(char, len(list(run))) for char, run in groupby(text)]
--- tests/test_encode.py
from rle import encode


def test_runs():
    assert encode("aab") == [("a", 2), ("b", 1)]
""",
        red="""
--- tests/test_round_trip.py
from hypothesis import given, settings
from hypothesis import strategies as st

import rle


@settings(max_examples=25, database=None, deadline=None)
@given(st.text("ab c"))
def test_round_trip(text):
    assert rle.decode(rle.encode(text)) == text


@settings(max_examples=25, database=None, deadline=None)
@given(st.integers(0, 9), st.sampled_from("xyz"))
def test_one_run(count, char):
    decoded = rle.decode([(char, count)])
    assert len(decoded) == count
    assert set(decoded) <= {char}
""",
        edit="""
--- rle.py
from itertools import groupby


def encode(text):
    return [(char, len(list(run))) for char, run in groupby(text)]


def decode(runs):
    return "".join(char * count for char, count in runs)
""",
        env=AUTOLOAD,
    ),
    Shape(
        "numpy",
        claim="grid.py",
        before="""
--- grid.py
import numpy as np


def zeros(n):
    return np.zeros((n, n))
--- tests/test_zeros.py
from grid import zeros


def test_shape():
    assert zeros(3).shape == (3, 3)
""",
        red="""
--- tests/test_grid.py
import numpy as np
import numpy.testing as npt
import pytest

import grid


def test_normalised():
    found = grid.normalised(np.array([[1.0, 3.0], [2.0, 2.0]]))
    npt.assert_allclose(found, [[0.25, 0.75], [0.5, 0.5]])
    assert found.dtype == np.float64
    assert np.allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()


def test_integers_are_left_as_they_are():
    given = np.arange(4).reshape(2, 2)
    grid.normalised(given)
    npt.assert_array_equal(given, [[0, 1], [2, 3]])


def test_a_row_of_nothing():
    with pytest.raises(ValueError, match="row 1"):
        grid.normalised(np.array([[1, 1], [0, 0]]))


def test_means():
    assert grid.means(np.array([[1, 2], [4, 4]])).tolist() == [1.5, 4.0]
    assert grid.means(np.eye(2)) == pytest.approx([0.5, 0.5])
""",
        edit="""
--- grid.py
import numpy as np


def zeros(n):
    return np.zeros((n, n))


def normalised(rows):
    totals = rows.sum(axis=1, keepdims=True)
    empty = np.flatnonzero(totals == 0)
    if empty.size:
        raise ValueError(f"row {empty[0]} is empty")
    return rows / totals


def means(rows):
    return rows.mean(axis=1)
""",
    ),
    Shape(
        "syrupy snapshots, one changed and one new",
        claim="page.py",
        before="""
--- page.py
def page(title, items):
    return "\\n".join([title, *items])
--- tests/test_page.py
from page import page


def test_page(snapshot):
    assert page("List", ["a", "b"]) == snapshot
--- tests/__snapshots__/test_page.ambr
# serializer version: 1
# name: test_page
  '''
  List
  a
  b
  '''
# ---
""",
        red="""
--- tests/test_page.py
from page import page


def test_page(snapshot):
    assert page("List", ["a", "b"]) == snapshot


def test_parts(snapshot):
    assert page("Empty", []).splitlines() == snapshot(name="lines")
--- tests/__snapshots__/test_page.ambr
# serializer version: 1
# name: test_page
  '''
  # List
  - a
  - b
  '''
# ---
# name: test_parts[lines]
  list([
    '# Empty',
  ])
# ---
""",
        edit="""
--- page.py
def page(title, items):
    return "\\n".join([f"# {title}", *(f"- {item}" for item in items)])
""",
        env=AUTOLOAD,
    ),
)
