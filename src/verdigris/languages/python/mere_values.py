"""Finds expressions that only make a value, without any effect: patterns, frozen sets, types, containers."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUILTIN = frozenset({"frozenset", "set", "tuple", "list", "dict"})
_PATTERN = "re.compile"
_WRAPPERS = frozenset({"classmethod", "staticmethod", "property"})
"""Builtins that only hold their argument and call nothing on it."""
_OF_TYPES = frozenset({"typing", "collections.abc"})
_OF_CLASSES = {
    "dataclasses": frozenset({"dataclass"}),
    "functools": frozenset({"total_ordering"}),
    "enum": frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "unique"}),
    "typing": frozenset({"NamedTuple", "TypedDict", "Protocol", "Generic", "final", "runtime_checkable"}),
    "abc": frozenset({"ABC"}),
}
"""Decorators and bases, by module, that build a class and register it nowhere."""


def find_makers(tree: ast.Module) -> frozenset[str]:
    """The names of the library that only make a value in this module.

    A name that the module binds itself is left out. There are none if the module has an `import *`.
    """
    bound = Counter(_bound_names(tree))
    if "*" in bound:
        return frozenset()
    found = {name for name in _BUILTIN | _WRAPPERS if name not in bound}
    for node in tree.body:
        match node:
            case ast.Import(names=names):
                found |= {f"{one.name}." for one in names if _is_library(one) and bound[one.name] == 1}
            case ast.ImportFrom(module=str() as module, level=0, names=names):
                known = _OF_CLASSES.get(module, frozenset())
                own = {one.asname or one.name for one in names if one.name in known}
                found |= {f"class {name}" for name in own if bound[name] == 1}
        match node:
            case ast.Import(names=[ast.alias(name="re", asname=None)]) if bound["re"] == 1:
                found.add(_PATTERN)
            case ast.ImportFrom(module=str() as module, level=0, names=names) if module in _OF_TYPES:
                found |= {one.name for one in names if one.asname is None and bound[one.name] == 1}
    return frozenset(found)


def _is_library(one: ast.alias) -> bool:
    return one.asname is None and one.name in sys.stdlib_module_names


def makes_class(node: ast.expr, makers: frozenset[str]) -> bool:
    """Whether a decorator or base is one of the library's that has no effect besides the class."""
    match node:
        case ast.Name(id=name):
            return f"class {name}" in makers
        case ast.Subscript(value=made, slice=inside):
            return makes_class(made, makers) and is_mere_value(inside, makers, named=True)
        case ast.Call(func=made, args=[], keywords=given):
            return makes_class(made, makers) and all(isinstance(one.value, ast.Constant) for one in given)
        case _:
            return False


def _bound_names(tree: ast.Module) -> Iterator[str]:
    for node in nodes_in(tree):
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
    """Whether an expression only makes a value. `named`: it may also be a name, which is only read."""
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
        case ast.Attribute(value=ast.Name(id=module)):
            return f"{module}." in makers
        case ast.Call(func=ast.Name() | ast.Attribute() as made, args=parts, keywords=[]):
            name = ast.unparse(made)
            return name in makers & {*_BUILTIN, *_WRAPPERS, _PATTERN} and all(
                is_mere_value(part, makers, named=name not in _BUILTIN) for part in parts
            )
        case ast.Subscript(value=ast.Name(id=name), slice=inside):
            return name in makers and is_mere_value(inside, makers, named=True)
        case _:
            return False
