"""Tells expressions that make a value and do nothing else: patterns, frozen sets, types, containers."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUILTIN = frozenset({"frozenset", "set", "tuple", "list", "dict"})
_PATTERN = "re.compile"
_OF_TYPES = frozenset({"typing", "collections.abc"})


def find_makers(tree: ast.Module) -> frozenset[str]:
    """What makes values in this module by the names that it has in the library: nothing where the module
    binds the name itself, or takes all names of another.
    """
    bound = Counter(_bound_names(tree))
    if "*" in bound:
        return frozenset()
    found = {name for name in _BUILTIN if name not in bound}
    for node in tree.body:
        match node:
            case ast.Import(names=[ast.alias(name="re", asname=None)]) if bound["re"] == 1:
                found.add(_PATTERN)
            case ast.ImportFrom(module=str() as module, level=0, names=names) if module in _OF_TYPES:
                found |= {one.name for one in names if one.asname is None and bound[one.name] == 1}
    return frozenset(found)


def _bound_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name  # `re.compile = ...`
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                yield name


def is_mere_value(node: ast.expr, makers: frozenset[str], *, named: bool = False) -> bool:
    """`named`: it may be what a name stands for already, which is read and not asked to do anything."""
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            return named
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return all(is_mere_value(part, makers, named=True) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and is_mere_value(key, makers, named=True) for key in keys) and all(
                is_mere_value(part, makers, named=True) for part in values
            )
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.BitOr() | ast.Mod(), right=right):
            return is_mere_value(left, makers) and is_mere_value(right, makers)
        case ast.Attribute(value=ast.Name(id="re"), attr=flag):
            return _PATTERN in makers and flag.isupper()
        case ast.Call(func=ast.Name() | ast.Attribute() as made, args=parts, keywords=[]):
            name = ast.unparse(made)
            return name in makers & {*_BUILTIN, _PATTERN} and all(
                is_mere_value(part, makers, named=name == _PATTERN) for part in parts
            )
        case ast.Subscript(value=ast.Name(id=name), slice=inside):
            return name in makers and is_mere_value(inside, makers, named=True)
        case _:
            return False
