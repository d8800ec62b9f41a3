"""A place in one source file that gives rise to a concern."""

from __future__ import annotations

import ast

from verdigris.core.value import value

_LONG = 100


@value
class Hit:
    kind: str
    node: ast.AST
    what: str
    blocks: bool = False
    literal: str = ""
    """What the tests expect or ask, and source holds."""
    constant: bool = False
    """It is returned with nothing of the tests' questions beside it: a first step may be such a constant."""


def shown(statement: ast.stmt, node: ast.AST) -> str:
    """The statement where it is short, else the part of it that matters."""
    whole = ast.unparse(statement)
    text = whole if "\n" not in whole and len(whole) <= _LONG else ast.unparse(node)
    return f"`{text}`"
