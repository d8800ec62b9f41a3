"""Which names a change may have renamed or moved, and whether two expressions are the same up to these."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.literals import RenamedWords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Trees = Mapping[str, ast.Module]


@value
class Renaming:
    words: RenamedWords
    moved: frozenset[str]
    """Names that one file defined before, and another one now."""

    def keeps(self, old: ast.expr, new: ast.expr) -> bool:
        """Whether two expressions differ in nothing but names that were renamed or moved."""
        before, after = (_WithoutNames(self.moved) for _ in range(2))
        if before.shape(old) != after.shape(new):
            return False
        return all(self.words.has(*pair) for pair in zip(before.names, after.names, strict=True))


def read_renaming(old: Trees, new: Trees) -> Renaming:
    had, has = _definitions(old), _definitions(new)
    moved = {name for name in had.keys() & has.keys() if len(had[name]) == len(has[name]) == 1}
    return Renaming(
        RenamedWords.of(_bound_names(old), _bound_names(new)),
        frozenset(name for name in moved if had[name] != has[name]),
    )


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


def _definitions(trees: Trees) -> dict[str, set[str]]:
    """Maps each name to the files that define such a function or class at their top."""
    found: dict[str, set[str]] = {}
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.setdefault(node.name, set()).add(path)
    return found


def _bound_names(trees: Trees) -> dict[str, frozenset[str]]:
    """Maps each file, its top level and each of its classes to the names that they bind."""
    found: dict[str, frozenset[str]] = {}
    for path, tree in trees.items():
        names = {name for node in ast.walk(tree) for name in _names_bound_by(node)}
        found[path] = frozenset(names.union(PurePosixPath(path).with_suffix("").parts))
        found[f"{path}::"] = _names_of_block(tree.body)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[f"{path}::{node.name}"] = _names_of_block(node.body)
    return found


def _names_of_block(block: Iterable[ast.stmt]) -> frozenset[str]:
    """What its statements bind, without what functions and classes in it bind inside."""
    found: set[str] = set()
    left: list[ast.AST] = [*block]
    while left:
        node = left.pop()
        found.update(_names_bound_by(node))
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            left += ast.iter_child_nodes(node)
    return frozenset(found)


def _names_bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.arg(arg=name) | ast.alias(asname=str() as name):
            yield name
        case ast.alias(name=name):
            yield name.partition(".")[0]
