"""The page of messages has every rule of a denial, reason why a test is no red, and kind of concern."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from verdigris.core.verdict import Kind
from verdigris.core.verdict.redness import WHY_NOT

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()


def _first_words(function: str) -> frozenset[str]:
    """The texts that calls of a function are given first."""
    found = set()
    for path in (ROOT / "src" / "verdigris").rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if f"{function}(" in text else ():
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(word)), *_]):
                    if name == function:
                        found.add(word)
    return frozenset(found)


@pytest.mark.parametrize(
    ("what", "known", "functions"),
    [
        ("rules of denials", ("red-first", "red-…"), ("Deny",)),
        ("reasons why a test is no red", tuple(WHY_NOT), ()),
        ("verdicts", tuple(kind.value for kind in Kind), ()),
        ("kinds of concerns", (), ("Concern", "Hit", "rule")),
    ],
)
def test_the_page_of_messages_has_all(what: str, known: Sequence[str], functions: Sequence[str]) -> None:
    called = [_first_words(function) for function in functions]
    assert all(called)
    assert {word for word in frozenset(known).union(*called) if f"`{word}`" not in PAGE} == set(), (
        f"docs/troubleshooting.md lacks {what}"
    )
