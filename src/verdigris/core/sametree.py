"""Whether an edit leaves the syntax tree as it was: comments, docstrings and layout are free to change."""

from __future__ import annotations

import ast
import re
import warnings

_CODING = re.compile(r"[ \t\f]*#.*?coding[:=]")
_EXAMPLE = ">>>"
"""What a docstring holds that is a test."""


def same_python_tree(before: str, after: str) -> bool:
    """False where either text does not parse: then nothing is known about the edit."""
    old, new = _outline(before), _outline(after)
    return old is not None and old == new and _encoding(before) == _encoding(after)


def _encoding(text: str) -> list[str]:
    """Comments that say how the bytes are read."""
    return [line for line in text.splitlines()[:2] if _CODING.match(line)]


def _outline(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text.removeprefix("\ufeff"))
        return ast.dump(_drop_docstrings(module))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _drop_docstrings(module: ast.Module) -> ast.Module:
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = _without_docstring(node.body)
    return module


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body that was a docstring alone is as good as `pass`."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str() as text)), *rest] if _EXAMPLE not in text:
            return rest or [ast.Pass()]
        case _:
            return body
