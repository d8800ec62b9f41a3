"""Docstrings are sentences: each module says what it does, and none begins in the middle of one."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2] / "src" / "verdigris"


CUT = tuple(f"{word} " for word in ("Of", "As", "By", "With", "Without", "For", "Until", "And", "Or", "But"))


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def test_each_module_says_what_it_does() -> None:
    silent = [name for name, module in _modules() if not (ast.get_docstring(module) or "").strip()]
    assert silent == []


def test_no_docstring_begins_in_the_middle_of_a_sentence() -> None:
    """`Of one run.` and `As git does.` leave it to the reader what is meant: write the noun, or the verb."""
    cut = [
        f"{name}:{node.lineno} {node.name}"
        for name, module in _modules()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and (ast.get_docstring(node) or "").startswith(CUT)
    ]
    assert cut == []
