"""Where an expected value that an assertion only names is written: parameters, tables, constants."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.stubforms import Function, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.testtext import Code


def cells(name: str, function: Function, code: Code) -> tuple[ast.expr, ...]:
    """All that the name may stand for; nothing where it is used for more than this one comparison."""
    if _count(name, function, ast.Load) != 1:
        return ()
    if name in _parameters(function):
        return _parametrized(name, function, code)
    match _bindings(name, function):
        case []:
            constant = code.constants.get(name)
            return () if constant is None or code.loads[name] != 1 else (constant,)
        case [ast.Assign(targets=[ast.Name()], value=value)] | [
            ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ]:
            return (value,)
        case [ast.For(target=ast.Name(), iter=table)]:
            return _column(_rows(table, code), None)
        case [ast.For(target=ast.Tuple(elts=targets), iter=table)]:
            place = next((i for i, t in enumerate(targets) if isinstance(t, ast.Name) and t.id == name), None)
            return () if place is None else _column(_rows(table, code), place)
        case _:
            return ()


def _parametrized(name: str, function: Function, code: Code) -> tuple[ast.expr, ...]:
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=func, args=[names, table], keywords=more) if last_name(func) == "parametrize":
                known = _names(names)
                if name in known and not any(keyword.arg == "indirect" for keyword in more):
                    single = len(known) == 1 and not isinstance(names, ast.List | ast.Tuple)
                    return _column(_rows(table, code), None if single else known.index(name))
    return ()


def _names(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [name.strip() for name in text.split(",") if name.strip()]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [str(part.value) for part in parts if isinstance(part, ast.Constant)]
        case _:
            return []


def _rows(table: ast.expr, code: Code) -> list[ast.expr] | None:
    match table:
        case ast.List(elts=rows) | ast.Tuple(elts=rows):
            return rows
        case ast.Name(id=name) if name in code.constants and code.loads[name] == 1:
            return _rows(code.constants[name], code)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items"), args=[]) if (
            code.loads[name] == 1
        ):
            match code.constants.get(name):
                case ast.Dict(keys=keys, values=values) if all(keys):
                    return [ast.Tuple([*filter(None, pair)]) for pair in zip(keys, values, strict=True)]
    return None


def _column(rows: list[ast.expr] | None, place: int | None) -> tuple[ast.expr, ...]:
    """One cell of each row, all or none."""
    found = [_cell(row, place) for row in rows or ()]
    kept = [cell for cell in found if cell is not None]
    return tuple(kept) if len(kept) == len(found) else ()


def _cell(row: ast.expr, place: int | None) -> ast.expr | None:
    match row:
        case ast.Call(func=func, args=parts) if last_name(func) == "param":
            place = place or 0
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if place is not None:
            pass
        case ast.Starred():
            return None
        case _:
            return row if place is None else None
    if place >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
        return None
    return parts[place]


def _parameters(function: Function) -> set[str]:
    spec = function.args
    return {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}


def _bindings(name: str, function: Function) -> list[ast.AST]:
    """The statements that give the name its value; more than one where it is bound in another way too."""
    bound = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and name in _targets(node)]
    return [*bound, function] if _count(name, function, ast.Store) != len(bound) else [*bound]


def _targets(node: ast.stmt) -> Iterator[str]:
    heads = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
    return (
        part.id
        for head in heads
        for part in ast.walk(head)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )


def _count(name: str, function: Function, context: type[ast.expr_context]) -> int:
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return sum(node.id == name and isinstance(node.ctx, context) for node in names)
