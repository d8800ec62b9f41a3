"""Equalities that compare content, as they are laid into a test."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import TestCase
from unittest.mock import Mock

import pytest

from verdigris.languages.probes import Try, changed_texts
from verdigris.languages.registry import reader_of

PATH = "tests/test_it.py"


class Bag(list[int]):
    """A list that does not care for the order."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and Counter(self) == Counter(other)


class Near(float):
    """A number that is near every other."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __sub__(self, other: float) -> float:
        return 0.0

    __rsub__ = __sub__


class Every:
    """An object of whatever class."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return dict


GIVEN = {
    "Bag": Bag,
    "lie": Every,
    "mock": lambda: Mock(spec=dict),
    "bag": lambda: Bag([2, 1]),
    "near": lambda: Near(5),
    "approx": pytest.approx,
}


def holds(asserted: str, *, strict: bool = False) -> bool:
    """Whether the assertion holds where it compares content."""
    text = f"def test_it(self):\n    {asserted}\n".encode()
    probes = reader_of(PATH).liveness.contents({PATH: text}, [f"{PATH}::test_it"], strict=strict)
    changed = changed_texts({PATH: text}, [Try(probe, probe.changes[0]) for probe in probes])[PATH]
    assert changed != text
    names: dict[str, Any] = dict(GIVEN)
    exec(compile(changed, PATH, "exec"), names)
    try:
        names["test_it"](TestCase())
    except (AssertionError, TypeError):
        return False
    return True


@pytest.mark.quick
@pytest.mark.parametrize(
    "asserted",
    [
        "assert bag() == [1, 2]",
        "assert [1, 2] == bag() == [2, 1]",
        "assert near() == approx(3)",
        "self.assertEqual(bag(), [1, 2])",
        "assert isinstance(lie(), dict)",
        "self.assertAlmostEqual(near(), 3)",
    ],
)
def test_what_only_says_that_it_is_equal_is_not(asserted: str) -> None:
    assert not holds(asserted)


@pytest.mark.quick
@pytest.mark.parametrize(
    "asserted",
    [
        "assert bag() == [2, 1]",
        "assert 1 == 1.0 == True",
        "assert 0.1 + 0.2 == approx(0.3)",
        "assert {'a': [0.1 + 0.2]}['a'] == approx([0.3])",
        "self.assertAlmostEqual(0.1 + 0.2, 0.3)",
        "self.assertAlmostEqual(2, 2.04, delta=0.1)",
        "self.assertListEqual([1], list(range(1, 2)))",
        "assert isinstance(1, (int, str)) and isinstance(mock(), dict)",
    ],
)
def test_equal_content_is_equal(asserted: str) -> None:
    assert holds(asserted)


@pytest.mark.quick
def test_a_class_that_the_test_names_is_trusted_unless_it_is_asked_strictly() -> None:
    asserted = "assert bag() == [1, 2] and 'Bag' in repr(Bag)"
    assert holds(asserted)
    assert not holds(asserted, strict=True)
