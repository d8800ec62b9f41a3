"""Which names a change may have renamed or moved, and whether two expressions are the same up to these."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar import bindings
from verdigris.languages.grammar.trees import tree_of
from verdigris.languages.literals import RenamedWords
from verdigris.languages.python.syntax import parse_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node


@value
class Renaming:
    words: RenamedWords = RenamedWords(())
    moved: frozenset[str] = frozenset()
    """Names that one file defined before, and another one now."""

    def keeps(self, old: ast.expr, new: ast.expr) -> bool:
        """Whether two expressions differ in nothing but names that were renamed or moved."""
        before, after = (_WithoutNames(self.moved) for _ in range(2))
        if before.shape(old) != after.shape(new):
            return False
        return all(self.words.has(*pair) for pair in zip(before.names, after.names, strict=True))


def read_renaming(before: Mapping[str, str], after: Mapping[str, str]) -> Renaming:
    had, has = _definitions(before), _definitions(after)
    moved = {name for name in had.keys() & has.keys() if len(had[name]) == len(has[name]) == 1}
    return Renaming(
        bindings.read_renaming(_roots(before), _roots(after)),
        frozenset(name for name in moved if had[name] != has[name]),
    )


def _roots(texts: Mapping[str, str]) -> dict[str, Node]:
    return {path: tree_of(path, text.encode("utf-8", "surrogateescape"))[0] for path, text in texts.items()}


class _WithoutNames(ast.NodeTransformer):
    """Takes the names out of an expression; of a dotted name that was moved, only the last part counts."""

    def __init__(self, moved: frozenset[str]) -> None:
        self.moved = moved
        self.names: list[str] = []

    def shape(self, node: ast.expr) -> str:
        return ast.dump(self.visit(ast.parse(ast.unparse(node), mode="eval").body))

    def visit_Name(self, node: ast.Name) -> ast.Name:
        self.names.append(node.id)
        return ast.Name("_", node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr in self.moved and _is_dotted(node.value):
            return self.visit_Name(ast.Name(node.attr, node.ctx))
        self.names.append(node.attr)
        return ast.Attribute(self.visit(node.value), "_", node.ctx)


def _is_dotted(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_dotted(node.value))


def _definitions(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Maps each name to the files that define such a function or class at their top."""
    files: dict[str, set[str]] = {}
    for path, text in texts.items():
        tree = parse_or_none(text)
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                files.setdefault(node.name, set()).add(path)
    return files
