"""Where the nodes of a Python text stand in it, and the text with some of them replaced."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BLOCKS = (ast.With, ast.AsyncWith)


@value
class Edit:
    start: int
    end: int
    new: str


class Source:
    """Raise SyntaxError when the text is no Python."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._shift = len(text) - len(text.removeprefix("\ufeff"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text[self._shift :])
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from None
        self._lines = [(m.start(), m.group()) for m in _LINE.finditer(text, self._shift)]

    def segment(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self.text[start:end]

    def replaced(self, node: ast.expr | ast.stmt, new: str) -> Edit:
        return Edit(*self._span(node), new)

    def before(self, node: ast.stmt, new: str) -> Edit:
        """One more statement ahead of this one, in the same block."""
        start = self._at(*_beginning(node))
        if hasattr(node, "body") or hasattr(node, "cases"):
            return Edit(start, start, f"{new}\n{self._indent(node)}")
        return Edit(start, start, f"{new}; ")

    def after(self, node: ast.stmt, new: str) -> Edit:
        """One more statement behind this one, under the same conditions."""
        _, end = self._span(node)
        if not isinstance(node, _BLOCKS):
            return Edit(end, end, f"; {new}")
        start, line = self._lines[(node.end_lineno or node.lineno) - 1]
        end = start + len(line)
        newline = "" if line.endswith(("\n", "\r")) else "\n"
        return Edit(end, end, f"{newline}{self._indent(node)}{new}\n")

    def apply(self, edits: Iterable[Edit]) -> str:
        parts, done = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            parts += [self.text[done : edit.start], edit.new]
            done = edit.end
        return "".join([*parts, self.text[done:]])

    def lines(self, node: ast.stmt, edits: Iterable[Edit]) -> tuple[int, int]:
        """First and last line of a statement, with what was put behind a block, once the edits are made."""
        start, _ = self._span(node)
        grown = sum(
            edit.new.count("\n") - self.text.count("\n", edit.start, edit.end)
            for edit in edits
            if edit.end <= start
        )
        height = (node.end_lineno or node.lineno) - node.lineno + isinstance(node, _BLOCKS)
        return node.lineno + grown, node.lineno + grown + height

    def _indent(self, node: ast.stmt) -> str:
        line, column = _beginning(node)
        start, _ = self._lines[line - 1]
        return self.text[start : self._at(line, column)]

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        start = self._at(node.lineno, node.col_offset)
        return start, self._at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _at(self, line: int, column: int) -> int:
        """Columns count bytes of UTF-8."""
        start, text = self._lines[line - 1]
        return start + (column if text.isascii() else len(text.encode()[:column].decode()))


def _beginning(node: ast.stmt) -> tuple[int, int]:
    """Line and column, with its decorators."""
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]), node.col_offset
