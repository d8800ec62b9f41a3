"""Which lines of a change are new code: renamed, moved or reflowed statements are not."""

from __future__ import annotations

import ast
import copy
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


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


@value
class _Statement:
    path: str
    line: int
    text: str
    """With its names, without its blocks."""
    shape: str
    """Without its names."""


def added_lines(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, frozenset[int]]:
    """By path: first lines of executable statements in `after` that have no counterpart in `before`.

    Lines that a diff of the file leaves alone are never new. Of the rest, a statement that stood
    anywhere before has moved, and one of the same shape was renamed. A file that does not parse counts as
    new from its first line.
    """
    had = {path: _statements(path, text) for path, text in before.items()}
    has = {path: _statements(path, text) for path, text in after.items()}
    old = [one for statements in had.values() for one in statements]
    new = [one for statements in has.values() for one in statements]
    for path in had.keys() & has.keys():
        untouched = _untouched(had[path], has[path], _aligned(before[path], after[path]))
        old = [one for one in old if one not in untouched]
        new = [one for one in new if one not in untouched.values()]
    for key in (lambda one: one.text), (lambda one: one.shape):
        old, new = _unpaired(old, new, key)
    added: dict[str, set[int]] = {}
    for one in new:
        added.setdefault(one.path, set()).add(one.line)
    return {path: frozenset(lines) for path, lines in added.items()}


def _aligned(before: str, after: str) -> dict[int, int]:
    """Lines of one file that a diff leaves alone, old number to new number."""
    old, new = before.splitlines(), after.splitlines()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.a + n + 1: block.b + n + 1 for block in blocks for n in range(block.size)}


def _untouched(
    had: Iterable[_Statement], has: Iterable[_Statement], lines: Mapping[int, int]
) -> dict[_Statement, _Statement]:
    """Statements whose line stayed and which say the same, old to new; `lines` as `_aligned` gives them."""
    found = {(one.line, one.text): one for one in has}
    pairs = ((one, found.get((lines.get(one.line, 0), one.text))) for one in had)
    return {one: same for one, same in pairs if same is not None}


def _unpaired(
    old: Iterable[_Statement], new: Iterable[_Statement], key: Callable[[_Statement], str]
) -> tuple[list[_Statement], list[_Statement]]:
    """What is left on both sides when each new statement has taken an old one that is alike."""
    left: dict[str, list[_Statement]] = {}
    for one in old:
        left.setdefault(key(one), []).append(one)
    rest: list[_Statement] = []
    for one in new:
        if left.get(key(one)):
            left[key(one)].pop()
        else:
            rest.append(one)
    return [one for ones in left.values() for one in ones], rest


def _statements(path: str, text: str) -> list[_Statement]:
    """In the order of the text."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return [_Statement(path, 1, text, text)]
    nodes = [node for node in ast.walk(module) if isinstance(node, ast.stmt) and not _inert(node)]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    return [_Statement(path, node.lineno, *_texts(node)) for node in nodes]


def _inert(node: ast.stmt) -> bool:
    """Declarations run when the module is imported, docstrings never."""
    declares = isinstance(
        node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    )
    declares = declares or isinstance(node, (ast.Global, ast.Nonlocal))
    declares = declares or (isinstance(node, ast.AnnAssign) and node.value is None)
    return declares or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _texts(node: ast.stmt) -> tuple[str, str]:
    """A compound statement counts by its header alone: its body's statements count for themselves."""
    head = copy.copy(node)
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        if getattr(head, block, None):
            setattr(head, block, [])
    return ast.dump(head), ast.dump(_Nameless().visit(copy.deepcopy(head)))
