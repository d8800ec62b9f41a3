"""Finds what a line of a test looks a key or an item up in, by its syntax tree."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_TAKING = frozenset(("pop", "popitem", "popleft", "remove"))
_DEPTH = 5


def asked_data(filename: str, line: int, function: str) -> Iterator[tuple[str, bool]]:
    """Dotted names of what may have lacked a key on this line.

    With each: whether it is a function that made the data, on this line or for a variable of the function.
    """
    tree = ast.parse("".join(linecache.getlines(filename)))
    scope = next(
        (n for n in ast.walk(tree) if _is_around(n, line) and getattr(n, "name", "") == function), tree
    )
    for node in ast.walk(scope):
        asked = _asked(node)
        if asked is not None and _is_around(node, line):
            yield from _sources(asked, scope, _DEPTH)


def _is_around(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return bool(first and first <= line <= last)


def _asked(node: ast.AST) -> ast.expr | None:
    """What a subscript, or a method that takes an item out, is about."""
    if isinstance(node, ast.Subscript):
        return node.value
    func = node.func if isinstance(node, ast.Call) else None
    return func.value if isinstance(func, ast.Attribute) and func.attr in _TAKING else None


def _sources(node: ast.expr, scope: ast.AST, depth: int) -> Iterator[tuple[str, bool]]:
    """A variable of the function that holds a result counts as what made it."""
    if isinstance(node, (ast.Subscript, ast.Await)):
        yield from _sources(node.value, scope, depth)
    elif isinstance(node, ast.Call):
        yield from ((name, True) for name in _dotted(node.func))
        if isinstance(node.func, ast.Attribute) and depth:
            yield from _sources(node.func.value, scope, depth - 1)
    elif isinstance(node, ast.Name) and depth:
        yield node.id, False
        for value in _values_of(node.id, scope):
            yield from _sources(value, scope, depth - 1)
    elif isinstance(node, ast.Attribute):
        yield from ((name, False) for name in _dotted(node))
        yield from _sources(node.value, scope, depth)


def _dotted(node: ast.expr) -> Iterator[str]:
    """The whole name, if there are only names in it."""
    names: list[str] = []
    at: ast.expr = node
    while isinstance(at, ast.Attribute):
        names.append(at.attr)
        at = at.value
    if isinstance(at, ast.Name):
        yield ".".join([at.id, *reversed(names)])


def _values_of(name: str, scope: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and any(name == getattr(one, "id", "") for one in node.targets):
            yield node.value
