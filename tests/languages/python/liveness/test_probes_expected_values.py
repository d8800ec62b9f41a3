from __future__ import annotations

import textwrap
from typing import Any

import pytest

from support.alive import HONEST, tried, twice

TWO = "def test_it(n, expected): assert twice(n) == expected"
ECHO = """
    import sys
    def twice(n):
        frame = sys._getframe(1)
        return frame.f_globals.get("EXPECTED") or frame.f_locals.get("expected")
"""


@pytest.mark.parametrize(
    "text",
    [
        "EXPECTED = 4\ndef test_it(): assert twice(2) == EXPECTED",
        "def test_it():\n    expected = 4\n    assert expected == twice(2)",
        f"@pytest.mark.parametrize('n, expected', [(1, 2), pytest.param(2, 4)])\n{TWO}",
        "@pytest.mark.parametrize('expected', [2, 4])\ndef test_it(expected): assert twice(2) == expected",
        f"TABLE = [(1, 2), (2, 4)]\n@pytest.mark.parametrize(['n', 'expected'], TABLE)\n{TWO}",
        "T: dict = {1: 2}\ndef test_it():\n  for n, expected in T.items(): assert twice(n) == expected",
        "def test_it():\n    for expected in (1, 2):\n        assert twice(2) == expected",
    ],
)
def test_an_expected_value_is_changed_where_it_is_written(text: str) -> None:
    source: dict[str, Any] = {}
    exec(textwrap.dedent(ECHO), source)
    live = tried(text, "test_it", twice=source["twice"])
    assert live.hollow
    honest = text.replace("(1, 2):", "(4, 4):").replace("[2, 4]", "[4, 4]")
    live = tried(honest, "test_it", twice=twice)
    assert live.hollow == live.unreached == ()


@pytest.mark.parametrize(
    "text",
    [
        "N = 0\ndef test_it(): assert abs(N) == N",
        "def test_it():\n    n = 0\n    n += 0\n    assert twice(0) == n",
        "def test_it():\n    n = 0\n    assert abs(n) == n",
        "@pytest.mark.parametrize('n', [0, pytest.param(0)])\ndef test_it(n): assert abs(n) == n",
        "ROWS = [0]\ndef test_it():\n    for n in ROWS: assert abs(n) == n",
        "def test_it():\n    seen = []\n    seen.append(twice(1))\n    assert seen == [2]",
        "def test_it():\n    one, two = 1, 2\n    assert twice(one) == two",
        "def test_it(expected=4): assert twice(2) == expected",
    ],
)
def test_what_is_input_too_is_left_alone(text: str) -> None:
    live = tried(text, "test_it", **HONEST)
    assert live.hollow == live.unreached == ()


@pytest.mark.parametrize("text", ["def test_it():\n    assert twice(2) == \\\n        4"])
def test_a_line_that_goes_on_below_is_no_value(text: str) -> None:
    assert tried(text, "test_it", twice=Always()).hollow
    live = tried(text, "test_it", twice=twice)
    assert live.hollow == live.unreached == ()


class Always:
    """An answer that equals everything."""

    def __call__(self, _: int) -> Always:
        return self

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]
