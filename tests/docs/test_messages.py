"""The page of messages has every rule of a denial, reason why a test is no red, and kind of concern."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from verdigris.core.verdict import Kind
from verdigris.core.verdict.redness import WHY_NOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()


def _first_words(*functions: str) -> Iterator[str]:
    """The text that each call of one of these functions is given first."""
    for path in (ROOT / "src" / "verdigris").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(word)), *_]):
                    if name in functions:
                        yield word


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("rules of denials", {*_first_words("Deny"), "red-first", "red-…"}),
        ("reasons why a test is no red", set(WHY_NOT)),
        ("verdicts", {kind.value for kind in Kind}),
        ("kinds of concerns", set(_first_words("Concern", "Hit", "rule"))),
    ],
)
def test_the_page_of_messages_has_all(what: str, words: set[str]) -> None:
    assert {word for word in words if f"`{word}`" not in PAGE} == set(), (
        f"docs/troubleshooting.md lacks {what}"
    )
