"""How an existing statement may grow without a change of what it does: imports, exports, parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.stubforms import Function, constant, exported, is_type_checking, plain
from verdigris.languages.python.stubmarks import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable

_WIDTH = 40


def describe(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return f"`{name}`"
        case ast.AnnAssign(target=ast.Name(id=name)):
            return f"`{name}`"
        case _:
            line = ast.unparse(node).splitlines()[0]
            return f"`{line if len(line) <= _WIDTH else line[: _WIDTH - 1] + '…'}`"


def grows(old: ast.stmt, new: ast.stmt) -> bool:
    """Whether a new statement is an old one's successor, to be compared in detail."""
    match old, new:
        case ast.FunctionDef() | ast.AsyncFunctionDef(), ast.FunctionDef() | ast.AsyncFunctionDef():
            return (
                type(old) is type(new)
                and old.name == new.name
                and _same(old.decorator_list, new.decorator_list)
            )
        case ast.ClassDef(), ast.ClassDef():
            headers = ((n.bases, n.keywords, n.decorator_list, _type_params(n)) for n in (old, new))
            return old.name == new.name and all(map(_same, *headers))
        case ast.Import(), ast.Import():
            return _aliases(old) <= _aliases(new)
        case ast.ImportFrom(), ast.ImportFrom():
            return (old.module, old.level) == (new.module, new.level)
        case ast.If(), ast.If():
            return is_type_checking(old) and is_type_checking(new) and _same(old.orelse, new.orelse)
        case _:
            return exported(old) is not None and exported(new) is not None


def grown(old: ast.stmt, new: ast.stmt, *, marked: bool) -> tuple[str | None, tuple[str, ...]]:
    """What is wrong with a successor, and the names it adds to the scope."""
    match old, new:
        case ast.FunctionDef() | ast.AsyncFunctionDef(), ast.FunctionDef() | ast.AsyncFunctionDef():
            return _signature_fault(old, new, marked=marked), ()
        case ast.Import() | ast.ImportFrom(), ast.Import() | ast.ImportFrom():
            gone = sorted(name for name, _ in _aliases(old) - _aliases(new))
            added = tuple(asname or name for name, asname in sorted(_aliases(new) - _aliases(old), key=str))
            if "*" in added:
                return "`import *` hides what it brings", ()
            return (f"`{gone[0]}` is imported no more" if gone else None), added
        case _:
            lost = sorted((exported(old) or frozenset()) - (exported(new) or frozenset()))
            return (f"`{lost[0]}` is gone from `__all__`" if lost else None), ()


def _signature_fault(old: Function, new: Function, *, marked: bool) -> str | None:
    name = f"`{new.name}`"
    if not _same(old.body, new.body):
        return f"the body of {name} was changed; existing code stays as it is until a red test is claimed"
    if not marked:
        return f"the signature of {name} was changed, and it is not marked {MARK}"
    more = _more_parameters(old.args, new.args) if _same(_type_params(old), _type_params(new)) else None
    same_result = _same([old.returns], [new.returns]) or (old.returns is None and plain(new.returns))
    if more is None or not same_result:
        return f"the parameters of {name} may only be added to, at the end"
    used = {node.id for statement in new.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    for parameter, default in more:
        if parameter.arg in used:
            return f"a parameter `{parameter.arg}` would hide what the body of {name} uses"
        if default is None or not constant(default, mutable=False) or not plain(parameter.annotation):
            return f"the new parameter `{parameter.arg}` of {name} needs a default that is a constant"
    return None


def _more_parameters(old: ast.arguments, new: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]] | None:
    """The added parameters with their defaults; None when the old ones are not all there as they were."""
    count = len(old.args)
    kept = _same(old.posonlyargs, new.posonlyargs) and _same(old.args, new.args[:count])
    extra = new.args[count:]
    if not kept or not _same([old.vararg, old.kwarg], [new.vararg, new.kwarg]) or (extra and old.vararg):
        return None
    if not _same(old.defaults, new.defaults[: len(old.defaults)]):
        return None
    defaults = new.defaults[len(old.defaults) :]
    if len(defaults) != len(extra):
        return None
    known = {
        ast.dump(parameter): default
        for parameter, default in zip(old.kwonlyargs, old.kw_defaults, strict=True)
    }
    named = list(zip(new.kwonlyargs, new.kw_defaults, strict=True))
    unchanged = [(p, d) for p, d in named if ast.dump(p) in known and _same([known[ast.dump(p)]], [d])]
    if len(unchanged) != len(known):
        return None
    return [*zip(extra, defaults, strict=True), *(pair for pair in named if pair not in unchanged)]


def _type_params(node: ast.stmt) -> list[ast.AST]:
    return getattr(node, "type_params", [])


def _aliases(node: ast.Import | ast.ImportFrom) -> frozenset[tuple[str, str | None]]:
    return frozenset((alias.name, alias.asname) for alias in node.names)


def _same(old: Iterable[ast.AST | None], new: Iterable[ast.AST | None]) -> bool:
    def dumps(nodes: Iterable[ast.AST | None]) -> list[str | None]:
        return [None if node is None else ast.dump(node) for node in nodes]

    return dumps(old) == dumps(new)
