"""Whether an edit leaves the syntax tree as it was: comments, docstrings and layout are free to change."""

from __future__ import annotations

import ast
import re
import warnings

_CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]*)")
_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN = re.compile(r"(?i)utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-?8859-\d+|(cp|windows-)125\d")
"""Encodings in which a comment is a comment. In others, such as UTF-7, it may hold the end of its line."""
_EXAMPLE = ">>>"
"""What a docstring holds that is a test."""


def same_python_tree(before: str, after: str) -> bool:
    """False where either text does not parse: then nothing is known about the edit."""
    if foreign_encoding(after) is not None or _encodings(before) != _encodings(after):
        return False
    old, new = _outline(before), _outline(after)
    return old is not None and old == new


def foreign_encoding(text: str) -> str | None:
    """The encoding that a comment declares, where text read as UTF-8 does not show what Python reads."""
    return next((name for name in _encodings(text) if not _PLAIN.fullmatch(name)), None)


def _encodings(text: str) -> list[str]:
    """As the first two lines declare them; Python ends a line at fewer signs than `splitlines` does."""
    found = map(_CODING.match, _LINE_END.split(text.removeprefix("\ufeff"), maxsplit=2)[:2])
    return [match[1] for match in found if match]


def _outline(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text.removeprefix("\ufeff"))
        return ast.dump(_drop_layout(module))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _drop_layout(module: ast.Module) -> ast.Module:
    """Without docstrings, and without the `u` before a string, which formatters take away."""
    for node in ast.walk(module):
        if isinstance(node, ast.Constant):
            node.kind = None
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
