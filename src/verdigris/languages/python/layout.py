"""Writes the same code in other texts: laid out anew, or as `python -O` runs it."""

from __future__ import annotations

import ast

from verdigris.languages.python.same_code import declares_encoding


def lay_out_anew(data: bytes) -> bytes | None:
    """Prints the code without comments, and with other line ends."""
    return _print(data, None)


def without_asserts(data: bytes) -> bytes | None:
    """Prints the code without `assert`, and with a false `__debug__`; None if it has neither."""
    return _print(data, _Optimiser())


def _print(data: bytes, change: _Optimiser | None) -> bytes | None:
    """None for what cannot be printed: it does not parse here, or says the same in other words only."""
    try:
        text = data.decode("utf-8")
        if declares_encoding(text):
            return None
        tree = ast.parse(text)
        if change is not None:
            tree = ast.fix_missing_locations(change.visit(tree))
            if not change.changed:
                return None
        printed = ast.unparse(tree)
        same = ast.dump(ast.parse(printed)) == ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return f"{printed}\n".encode() if same else None


class _Optimiser(ast.NodeTransformer):
    def __init__(self) -> None:
        self.changed = False

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.changed = True
        return ast.copy_location(ast.Pass(), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != "__debug__":
            return node
        self.changed = True
        return ast.copy_location(ast.Constant(value=False), node)
