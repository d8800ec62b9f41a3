from __future__ import annotations

import pytest

from verdigris.languages.python.layout import lay_out_anew, without_asserts

SOURCE = b'''\
"""Words."""
# not sum(
def f(a,
      b=1):  # a comment
    """Adds. # no comment"""
    assert a, "why"
    return f"{a!r:>{b}}" + "#"
'''


def test_comments_go_and_code_and_docstrings_stay() -> None:
    text = lay_out_anew(SOURCE)
    assert text is not None
    assert b"sum(" not in text
    assert b"a comment" not in text
    assert b'"""Adds. # no comment"""' in text
    assert b"def f(a, b=1):" in text
    assert text.endswith(b"\n")


def test_asserts_go_and_debug_is_false() -> None:
    text = without_asserts(b"if __debug__:\n    assert x()\nelse:\n    y()\n")
    assert text == b"if False:\n    pass\nelse:\n    y()\n"


@pytest.mark.parametrize("source", [b"x = 1\n", b"def (:\n", b"# coding: latin-1\nassert x\n", b"\xff"])
def test_what_has_no_assert_or_cannot_be_read_is_left(source: bytes) -> None:
    assert without_asserts(source) is None


@pytest.mark.parametrize("source", [b"def (:\n", b"# coding: latin-1\nx = 1\n", b"\xff"])
def test_what_cannot_be_read_is_not_laid_out(source: bytes) -> None:
    assert lay_out_anew(source) is None
