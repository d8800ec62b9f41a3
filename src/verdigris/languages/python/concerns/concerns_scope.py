"""`walk`: every node of a source file, with what the names around it mean."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.concerns_names import Names
from verdigris.languages.python.stubforms import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

_PASSES = 3
"""Rounds after which names that are made of names that are made of names are known."""

_Own = tuple[ast.AST, ast.stmt, bool]


@dataclass(slots=True)
class Seen:
    """A node of a source file, with what the names around it mean."""

    node: ast.AST
    names: Names
    function: Function | None
    statement: ast.stmt
    main: bool
    """It runs only where the module is the program."""


def walk(tree: ast.Module, path: str) -> Iterator[Seen]:
    yield from _scope(tree, Names(), None, module_of(path).split(".")[:-1])


def module_of(path: str) -> str:
    """The dotted name of a module, counted from the source root; of a package, with `__init__`."""
    return path.removesuffix(".py").removeprefix("src/").replace("/", ".")


def _scope(
    owner: ast.Module | Function, outer: Names, function: Function | None, package: list[str]
) -> Iterator[Seen]:
    own = list(_own(owner))
    names = _bound(own, owner, outer, package)
    for node, statement, main in own:
        yield Seen(node, names, function, statement, main)
        if isinstance(node, Function):
            yield from _scope(node, names, node, package)


def _own(owner: ast.Module | Function) -> Iterator[_Own]:
    """Every node of a scope; of a function inside it only the head."""
    stack: list[_Own] = [(node, node, False) for node in reversed(owner.body)]
    while stack:
        node, statement, main = stack.pop()
        yield node, statement, main
        main = main or (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test))
        inside = (
            [*node.decorator_list, node.args] if isinstance(node, Function) else ast.iter_child_nodes(node)
        )
        stack.extend(
            (child, child if isinstance(child, ast.stmt) else statement, main)
            for child in reversed(list(inside))
        )


def _bound(own: list[_Own], owner: ast.Module | Function, outer: Names, package: list[str]) -> Names:
    names = Names(
        dict(outer.meanings), dict(outer.texts), dict(outer.origins), dict(outer.paths), set(outer.hashes)
    )
    stored = {n.id for n, *_ in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if isinstance(owner, Function):
        stored |= {part.arg for part in ast.walk(owner.args) if isinstance(part, ast.arg)}
    for name in stored:
        names.meanings[name] = ""
        names.texts.pop(name, None)
        names.origins.pop(name, None)
        names.paths.pop(name, None)
        names.hashes.discard(name)
    for _ in range(_PASSES):
        for node, *_ in own:
            _bind(node, names, package)
    return names


def _bind(node: ast.AST, names: Names, package: list[str]) -> None:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                top = alias.name.partition(".")[0]
                names.meanings[alias.asname or top] = alias.name if alias.asname else top
        case ast.ImportFrom(names=aliases):
            base = imported_from(node, package)
            for alias in aliases:
                names.meanings[alias.asname or alias.name] = f"{base}.{alias.name}"
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _assign(target, value, names)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            _assign(target, value, names)
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            _hold(target, names.origin(value), names)
        case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
            _hold(target, names.origin(value), names)
        case ast.FunctionDef(name=name):
            returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
            origins = frozenset[str]().union(*map(names.origin, returned))
            names.meanings[name] = ""
            if origins:
                names.origins[name] = origins


def imported_from(node: ast.ImportFrom, package: list[str]) -> str:
    if not node.level:
        return node.module or ""
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, *filter(None, [node.module])])


def _assign(target: ast.expr, value: ast.expr, names: Names) -> None:
    if isinstance(target, ast.Name):
        names.meanings[target.id] = names.dotted(value)
        text = names.text(value)
        if text is not None:
            names.texts[target.id] = text
        elif (texts := names.path_texts(value)) is not None:
            names.paths[target.id] = texts
        if names.is_hash(value):
            names.hashes.add(target.id)
    _hold(target, names.origin(value), names)


def _hold(target: ast.expr, origins: frozenset[str], names: Names) -> None:
    for part in ast.walk(target):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and origins:
            names.origins[part.id] = names.origins.get(part.id, frozenset()) | origins
