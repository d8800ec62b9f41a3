"""Docstrings are sentences: each module says what it does, and none begins in the middle of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2] / "src" / "verdigris"


CUT = tuple(f"{word} " for word in ("Of", "As", "By", "With", "Without", "For", "Until", "And", "Or", "But"))
SAYS = re.compile(r'(?:#.*\n|\n)*"""[^\s"]')
"""How a module begins that says what it does: only others are read as a whole."""
QUOTED = re.compile(rf'["\']\s*(?:{"|".join(word.strip() for word in CUT)})\s')
"""Without it, no docstring of a text begins with one of these words."""


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield str(path.relative_to(ROOT)), path.read_text()


def test_each_module_says_what_it_does() -> None:
    doubted = ((name, ast.parse(text)) for name, text in _texts() if not SAYS.match(text))
    silent = [name for name, module in doubted if not (ast.get_docstring(module) or "").strip()]
    assert silent == []


def test_no_docstring_begins_in_the_middle_of_a_sentence() -> None:
    """`Of one run.` and `As git does.` leave it to the reader what is meant: write the noun, or the verb."""
    cut = [
        f"{name}:{node.lineno} {node.name}"
        for name, text in _texts()
        if QUOTED.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and (ast.get_docstring(node) or "").startswith(CUT)
    ]
    assert cut == []
