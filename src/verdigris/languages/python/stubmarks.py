"""Where a Python text carries the marker of a stub: in comments, docstrings and raised messages."""

from __future__ import annotations

import ast
import tokenize

from verdigris.core.languages import STUB_MARK
from verdigris.core.value import value

MARK = STUB_MARK

Declaration = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@value
class Marks:
    marked: frozenset[int]
    """Lines with a marked comment."""
    standalone: frozenset[int]
    """Lines that hold a comment alone."""
    whole: bool = False
    """One marker at the top of a new module covers it."""

    @classmethod
    def of(cls, text: str, tree: ast.Module, *, new: bool) -> Marks:
        # `str.splitlines` would also split at form feeds and the like, where Python sees no new line.
        lines = [line + "\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        tokens = tokenize.generate_tokens(iter(lines).__next__)
        comments = [token for token in tokens if token.type == tokenize.COMMENT]
        marked = frozenset(token.start[0] for token in comments if MARK in token.string)
        alone = frozenset(token.start[0] for token in comments if not token.line[: token.start[1]].strip())
        first = first_line(tree.body[0]) if tree.body else len(lines) + 1
        top = _marked_docstring(tree) or any(line < first for line in marked)
        return cls(marked, alone, new and top)

    def on(self, node: ast.stmt) -> bool:
        """Whether a declaration is marked in or right above it: a comment, a docstring, a raised message.

        One marker covers a new class: its members are read one by one all the same.
        """
        if self.whole:
            return True
        start, last = first_line(node), node.end_lineno or node.lineno
        above = start - 1
        while above in self.standalone:
            above -= 1
        if any(above < line <= last for line in self.marked):
            return True
        return any(_marked_docstring(one) or _marked_raise(one) for one in ast.walk(node))


def first_line(node: ast.stmt) -> int:
    """The line of the first decorator, or of the statement itself."""
    decorators = node.decorator_list if isinstance(node, Declaration) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _marked_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Module | Declaration):
        return False
    return MARK in (ast.get_docstring(node, clean=False) or "")


def _marked_raise(node: ast.AST) -> bool:
    """A function that says it when it is called."""
    if not isinstance(node, ast.Raise):
        return False
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
    return any(isinstance(part.value, str) and MARK in part.value for part in parts)
