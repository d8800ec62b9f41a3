"""Declares in a module what another version of it has: signatures as they are there, without their work."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.stubs.origins import MARK
from verdigris.languages.python.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_KEPT = frozenset({"staticmethod", "classmethod", "property"})
"""Decorators that say how a member is reached."""


def declare_missing(before: str, other: str) -> str:
    """`before` with stubs of what `other` binds at its top level and it does not; as it is where that is
    nothing. May raise SyntaxError.
    """
    known = {name for node in parse(before).body for name in _names(node)}
    added = [stub for node in parse(other).body for stub in _stub(node, known)]
    if not added:
        return before
    text = "\n\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in added)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{gap}# {MARK}\n{text}\n"


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.If() | ast.Try():
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.stmt):
                    yield from _names(inner)
        case _:
            return


def _stub(node: ast.stmt, known: set[str]) -> Iterator[ast.stmt]:
    missing = [name for name in _names(node) if name not in known and name != "__all__"]
    if not missing:
        return
    known.update(missing)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _function(node)
        case ast.ClassDef():
            yield _class(node, known)
        case ast.ImportFrom(level=level) if level:  # of the project itself: a name that is handed on
            aliases = [alias for alias in node.names if (alias.asname or alias.name) in missing]
            yield ast.ImportFrom(module=node.module, names=aliases, level=level)
        case ast.Assign() | ast.AnnAssign():
            yield from (_nothing(name) for name in missing)
        case ast.If() | ast.Try():
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.stmt):
                    yield from _stub(inner, known.difference(missing))
        case _:
            return


def _nothing(name: str) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=ast.Constant(None), lineno=1)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, *, kept: Collection[str] = ()) -> ast.stmt:
    """Its parameters with their defaults where those are plain; it raises."""
    given = node.args
    arguments = ast.arguments(
        posonlyargs=[ast.arg(one.arg) for one in given.posonlyargs],
        args=[ast.arg(one.arg) for one in given.args],
        vararg=given.vararg and ast.arg(given.vararg.arg),
        kwonlyargs=[ast.arg(one.arg) for one in given.kwonlyargs],
        kw_defaults=[one and _plain(one) for one in given.kw_defaults],
        kwarg=given.kwarg and ast.arg(given.kwarg.arg),
        defaults=[_plain(one) for one in given.defaults],
    )
    raised = ast.Call(ast.Name("NotImplementedError", ast.Load()), [ast.Constant(MARK)], [])
    kind = type(node)
    return kind(
        name=node.name,
        args=arguments,
        body=[ast.Raise(raised)],
        decorator_list=[one for one in node.decorator_list if last_name(one) in kept],
        lineno=1,
    )


def _plain(default: ast.expr) -> ast.expr:
    return default if isinstance(default, ast.Constant) else ast.Constant(None)


def _class(node: ast.ClassDef, known: Collection[str]) -> ast.ClassDef:
    """With the bases that are there; members raise, and what it holds is None."""
    bases: list[ast.expr] = [
        base
        for base in node.bases
        if isinstance(base, ast.Name)
        and (base.id in known or hasattr(builtins, base.id))
        and base.id != node.name
    ]
    body: list[ast.stmt] = []
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            body.append(_function(member, kept=_KEPT))
        elif isinstance(member, ast.Assign | ast.AnnAssign):
            body += [_nothing(name) for name in _names(member)]
    return ast.ClassDef(
        name=node.name, bases=bases, keywords=[], body=body or [ast.Pass()], decorator_list=[], lineno=1
    )
