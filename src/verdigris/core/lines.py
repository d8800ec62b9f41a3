"""Which lines of a change are new code: renamed, moved or reflowed statements are not."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Nameless(ast.NodeTransformer):
    """The shape of a statement: names give way, literals and operators stay."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name("_", node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = "_"
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        node.arg = node.arg and "_"
        return node


def added_lines(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, frozenset[int]]:
    """By path: first lines of executable statements in `after` that have no counterpart anywhere in `before`.

    A file that does not parse counts as new from its first line.
    """
    had = Counter(shape for text in before.values() for _, shape in _statements(text))
    added: dict[str, set[int]] = {}
    for path, text in after.items():
        for line, shape in _statements(text):
            if had[shape] > 0:
                had[shape] -= 1
            else:
                added.setdefault(path, set()).add(line)
    return {path: frozenset(lines) for path, lines in added.items()}


def _statements(text: str) -> Iterator[tuple[int, str]]:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        yield 1, text
        return
    for node in ast.walk(module):
        if isinstance(node, ast.stmt) and not _inert(node):
            yield node.lineno, _shape(node)


def _inert(node: ast.stmt) -> bool:
    """Declarations run when the module is imported, docstrings never."""
    declares = isinstance(
        node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    )
    declares = declares or isinstance(node, (ast.Global, ast.Nonlocal))
    declares = declares or (isinstance(node, ast.AnnAssign) and node.value is None)
    return declares or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _shape(node: ast.stmt) -> str:
    """A compound statement counts by its header alone: its body's statements count for themselves."""
    copy = ast.parse(ast.unparse(node)).body[0] if not isinstance(node, ast.Return) else _bare_return(node)
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        if getattr(copy, block, None):
            setattr(copy, block, [])
    return ast.dump(_Nameless().visit(copy))


def _bare_return(node: ast.Return) -> ast.Return:
    value = None if node.value is None else ast.parse(ast.unparse(node.value), mode="eval").body
    return ast.Return(value)
