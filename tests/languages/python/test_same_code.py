from __future__ import annotations

import pytest

from verdigris.languages.python.same_code import same_python_tree
from verdigris.languages.python.stubs import only_stubs

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


EXAMPLES = BEFORE.replace("Adds.", "Adds.\n\n    >>> total(\n    ...     1, 2)\n    3\n\n    See sums.\n    ")


@pytest.mark.parametrize(
    "after",
    [
        EXAMPLES.replace("Adds.", "Adds two numbers."),
        EXAMPLES.replace("See sums.", "See `sums`, and what follows.\n\n    More."),
        EXAMPLES.replace("    3\n\n", "    3\n\n    Three.\n\n"),
        EXAMPLES.replace("    >>> ", "      >>> ")
        .replace("    ... ", "      ... ")
        .replace("    3", "      3"),
        EXAMPLES.replace('"""Sums."""', '"""Sums, and more."""'),
    ],
)
def test_the_words_around_an_example_are_words(after: str) -> None:
    assert same_python_tree(EXAMPLES, after)


@pytest.mark.parametrize(
    "after",
    [
        EXAMPLES.replace("1, 2)", "1, 3)"),
        EXAMPLES.replace("    3\n", "    4\n"),
        EXAMPLES.replace("    3\n\n", "    3\n"),
        EXAMPLES.replace("1, 2)", "1, 2)  # doctest: +SKIP"),
        EXAMPLES.replace(">>> ", "> "),
        EXAMPLES.replace("See sums.", "See sums.\n\n    >>> total(0, 0)\n    0\n"),
        EXAMPLES.replace("    >>> total(", "    >>> total = min\n    >>> total("),
        BEFORE,
    ],
)
def test_an_example_is_a_test(after: str) -> None:
    assert not same_python_tree(EXAMPLES, after)


def test_an_example_of_a_module_is_a_test() -> None:
    module = '"""Sums.\n\n>>> 1 + 1\n2\n"""\n\nONE = 1\n'
    assert same_python_tree(module, module.replace("Sums.", "More than sums."))
    assert not same_python_tree(module, module.replace("\n2", "\n3"))


@pytest.mark.parametrize(
    "line", ["# coding: utf-7", "#\f\f\x1c coding: utf-7", "\n# vim: fileencoding=rot13"]
)
def test_a_comment_that_python_reads_otherwise_is_more_than_layout(line: str) -> None:
    assert not same_python_tree(BEFORE, f"{line}\n# +AAo-total = print\n{BEFORE}")
    assert not same_python_tree(f"{line}\n{BEFORE}", f"{line}\n# +AAo-total = print\n{BEFORE}")
    finding = only_stubs(None, f"{line}\n# +AAo-total = print\n")
    assert finding is not None
    assert "encoding" in finding.why


def test_the_letter_before_a_string_is_layout() -> None:
    assert same_python_tree("a = u'x'\n", 'a = "x"\n')
    assert not same_python_tree("a = b'x'\n", 'a = "x"\n')


def test_a_text_that_does_not_parse_is_like_nothing() -> None:
    assert not same_python_tree("def (", "def (")
