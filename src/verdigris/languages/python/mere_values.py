"""Finds expressions that only make a value, without any effect: patterns, frozen sets, types, containers."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.languages.python.modules import imported_names
from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Library = Mapping[str, str]
    """What a module calls parts of the standard library, each with its dotted name."""

_CONTAINERS = frozenset(f"builtins.{name}" for name in ("frozenset", "set", "tuple", "list", "dict"))
_HOLDERS = frozenset({"builtins.classmethod", "builtins.staticmethod", "builtins.property", "re.compile"})
"""These only hold their argument, and call nothing on it."""
_TYPES = ("typing.", "collections.abc.")
_CLASSES = frozenset(
    {
        *("dataclasses.dataclass", "functools.total_ordering", "abc.ABC", "enum.unique"),
        *("enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"),
        *("typing.NamedTuple", "typing.TypedDict", "typing.Protocol", "typing.Generic"),
        *("typing.final", "typing.runtime_checkable"),
    }
)
"""Decorators and bases that build a class and register it nowhere."""


def library_names(tree: ast.Module) -> dict[str, str]:
    """The names that mean a part of the standard library wherever the module uses them.

    A name that the module binds itself is left out. There are none if the module has an `import *`.
    """
    bound = Counter(_bound_names(tree))
    if "*" in bound:
        return {}
    builtin = (dotted.rpartition(".") for dotted in _CONTAINERS | _HOLDERS)
    names = {name: f"{owner}.{name}" for owner, _, name in builtin if owner == "builtins" and not bound[name]}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported = imported_names(node).items()
            names |= {name: dotted for name, dotted in imported if bound[name] == 1}
    return {name: of for name, of in names.items() if of.partition(".")[0] in sys.stdlib_module_names}


def _dotted(node: ast.expr, library: Library) -> str:
    """What a name, or a member of a module, means; empty if it is no part of the library."""
    match node:
        case ast.Name(id=name):
            return library.get(name, "")
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in library:
            return f"{library[module]}.{name}"
        case _:
            return ""


def makes_class(node: ast.expr, library: Library) -> bool:
    """Whether a decorator or base is one of the library's that has no effect besides the class."""
    match node:
        case ast.Name():
            return _dotted(node, library) in _CLASSES
        case ast.Subscript(value=made, slice=inside):
            return makes_class(made, library) and is_mere_value(inside, library, named=True)
        case ast.Call(func=made, args=[], keywords=given):
            return makes_class(made, library) and all(isinstance(one.value, ast.Constant) for one in given)
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


def is_mere_value(node: ast.expr, library: Library, *, named: bool = False) -> bool:
    """Whether an expression only makes a value. `named`: it may also be a name, which is only read."""
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            return named
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return all(is_mere_value(part, library, named=True) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and is_mere_value(key, library, named=True) for key in keys) and all(
                is_mere_value(part, library, named=True) for part in values
            )
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.BitOr() | ast.Mod(), right=right):
            return is_mere_value(left, library) and is_mere_value(right, library)
        case ast.Attribute(value=ast.Name(id=module)):
            return library.get(module) in sys.stdlib_module_names
        case ast.Call(func=made, args=parts, keywords=[]):
            name = _dotted(made, library)
            return name in _CONTAINERS | _HOLDERS and all(
                is_mere_value(part, library, named=name not in _CONTAINERS) for part in parts
            )
        case ast.Subscript(value=ast.Name(id=name), slice=inside):
            generic = library.get(name, "")
            known = generic in _CONTAINERS | _HOLDERS or generic.startswith(_TYPES)
            return known and is_mere_value(inside, library, named=True)
        case _:
            return False
