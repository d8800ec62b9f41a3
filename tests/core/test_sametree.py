from __future__ import annotations

import pytest

from verdigris.core.sametree import same_python_tree

BEFORE = '"""Sums."""\n\n\ndef total(a, b):\n    """Adds."""\n    return a + b\n'


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("Adds.", "Adds two numbers."),
        BEFORE.replace('    """Adds."""\n', ""),
        BEFORE.replace('"""Sums."""', '"""Sums, and more."""'),
        BEFORE.replace("return a + b", "return (  # the sum\n        a + b\n    )"),
        BEFORE + "\n# the end\n",
        BEFORE.replace("\n", "\r\n"),
    ],
)
def test_comments_docstrings_and_layout_leave_the_tree_as_it_was(after: str) -> None:
    assert same_python_tree(BEFORE, after)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("a + b", "a - b"),
        BEFORE.replace("return a + b", "'a string'\n    return a + b"),
        BEFORE.replace("def total(a, b)", "def total(a, b=0)"),
        BEFORE + "total.__doc__ = ''\n",
        "# -*- coding: latin-1 -*-\n" + BEFORE,
        BEFORE.replace("Adds.", "Adds.\n\n    >>> total(1, 2)\n    3\n    "),
        "def (",
    ],
)
def test_anything_else_does_not(after: str) -> None:
    assert not same_python_tree(BEFORE, after)


def test_a_text_that_does_not_parse_is_like_nothing() -> None:
    assert not same_python_tree("def (", "def (")
