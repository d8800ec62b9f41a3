"""Parses Python, and aligns the lines of two texts."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from verdigris.languages.pairing import pair_up

if TYPE_CHECKING:
    from collections.abc import Mapping


def parse(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"it cannot be read: {type(error).__name__}") from None


def parse_or_none(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except SyntaxError:
        return None


_WITHOUT_NODES = frozenset({"ctx", "id", "attr", "kind", "type_comment", "type_ignores"})
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}
"""By kind of node: the fields that may contain nodes."""


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """Like `ast.walk`, but without `Load` and `Store`, and in a third of the time."""
    nodes = [node]
    for one in nodes:  # the list grows during the loop
        kind = one.__class__
        if kind not in _FIELDS:
            _FIELDS[kind] = tuple(name for name in kind._fields if name not in _WITHOUT_NODES)
        for name in _FIELDS[kind]:
            part = getattr(one, name, None)
            if part.__class__ is list:
                nodes += [each for each in part if isinstance(each, ast.AST)]
            elif isinstance(part, ast.AST):
                nodes.append(part)
    return nodes


@lru_cache(maxsize=12)
def shared_tree(text: str) -> ast.Module | None:
    """The tree of a text, which all callers share: nobody may change it."""
    return parse_or_none(text)


StatementText = tuple[str, int]
"""The lines of a top-level statement, and its column. If both are equal, so are the statements."""


def split_statements(text: str, tree: ast.Module) -> dict[ast.stmt, StatementText]:
    lines = split_lines(text.removeprefix("\ufeff"))
    return {
        node: ("".join(lines[first_line(node) - 1 : node.end_lineno]), node.col_offset) for node in tree.body
    }


def find_untouched(
    before: Mapping[ast.stmt, StatementText], after: Mapping[ast.stmt, StatementText]
) -> frozenset[ast.stmt]:
    """The statements of both sides that have an equal one on the other side, paired one to one."""
    old, new = list(before.items()), list(after.items())
    pairs = pair_up(old, new, lambda item: item[1])
    return frozenset(node for at, was in pairs.items() for node in (new[at][0], old[was][0]))


def first_line(node: ast.stmt) -> int:
    """The line of the first decorator, or of the statement itself."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def lines_of(node: ast.stmt) -> tuple[int, int]:
    """The first line, of a decorator if there is one, and the last line."""
    return first_line(node), node.end_lineno or node.lineno


CODING_LINE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]*)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """The lines with their ends, as Python counts them: `str.splitlines` splits at more signs."""
    return _LINE.findall(text)


class _Nameless(ast.NodeTransformer):
    """Replaces the names of a statement by placeholders; literals and operators stay."""

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


class _Statement:
    """A statement of a file; what it is compared by is computed when it is needed."""

    def __init__(self, path: str, node: ast.stmt | None, stayed: Mapping[int, int], text: str = "") -> None:
        """`stayed`: maps the lines that the change leaves alone to their new numbers.

        `text`: the whole text of a file that does not parse, which has no node.
        """
        self.path, self.node, self._stayed, self._text = path, node, stayed, text
        self.line = 1 if node is None else node.lineno

    @property
    def place(self) -> object:
        """Where it stands now; only itself if its lines did not stay together."""
        if self.node is None:
            return self
        moved = [self._stayed.get(n, 0) for n in range(self.line, (self.node.end_lineno or self.line) + 1)]
        if not moved[0] or moved != list(range(moved[0], moved[0] + len(moved))):
            return self
        return self.path, type(self.node), *moved, self.node.col_offset, self.node.end_col_offset

    @property
    def head(self) -> object:
        """Where it begins now, with its text: some lines inside of its blocks changed."""
        return (self.path, self._stayed[self.line], self.text) if self.line in self._stayed else self

    @cached_property
    def text(self) -> str:
        """A dump of the statement without its blocks."""
        return self._text if self.node is None else ast.dump(head_of(self.node))

    @property
    def shape(self) -> str:
        """A dump of the statement without its blocks and without names."""
        from copy import deepcopy

        return self._text if self.node is None else ast.dump(_Nameless().visit(deepcopy(head_of(self.node))))


def added_lines(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, frozenset[int]]:
    """Lists by path the first lines of executable statements in `after` without a counterpart in `before`.

    Lines that a diff of the file leaves alone are never new. Of the rest, a statement that stood
    anywhere before has moved, and one of the same shape was renamed. A file that does not parse counts as
    new from its first line.
    """
    stayed = {path: _align_lines(before[path], after[path]) for path in before.keys() & after.keys()}
    there = {path: {number: number for number in lines.values()} for path, lines in stayed.items()}
    old = [one for path, text in before.items() for one in _statements(path, text, stayed.get(path, {}))]
    new = [one for path, text in after.items() for one in _statements(path, text, there.get(path, {}))]
    keys = (attrgetter(key) for key in ("place", "head", "text", "shape"))
    pairs = pair_up(old, new, *keys)
    added: dict[str, set[int]] = {}
    for one in (one for at, one in enumerate(new) if at not in pairs):
        added.setdefault(one.path, set()).add(one.line)
    return {path: frozenset(lines) for path, lines in added.items()}


def _align_lines(before: str, after: str) -> dict[int, int]:
    """Maps the old number of each line that a diff leaves alone to its new number."""
    from difflib import SequenceMatcher

    old, new = before.splitlines(), after.splitlines()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.a + n + 1: block.b + n + 1 for block in blocks for n in range(block.size)}


def _statements(path: str, text: str, stayed: Mapping[int, int]) -> list[_Statement]:
    """Lists statements in the order of the text."""
    if (module := shared_tree(text)) is None:
        return [_Statement(path, None, stayed, text)]
    nodes = [node for node in nodes_in(module) if isinstance(node, ast.stmt) and not _is_inert(node)]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    return [_Statement(path, node, stayed) for node in nodes]


def _is_inert(node: ast.stmt) -> bool:
    """Whether no test has to run a statement: declarations run on import, and docstrings never run."""
    declares = isinstance(
        node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    )
    declares = declares or isinstance(node, (ast.Global, ast.Nonlocal))
    declares = declares or (isinstance(node, ast.AnnAssign) and node.value is None)
    return declares or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def head_of(node: ast.stmt) -> ast.stmt:
    """The statement without its blocks, since the statements in a block count for themselves."""
    from copy import copy

    head = copy(node)
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        if getattr(head, block, None):
            setattr(head, block, [])
    return head


def is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
