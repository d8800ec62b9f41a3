"""Decides whether a change of Python source adds only stubs."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from verdigris.core.value import field, replace, value
from verdigris.languages.findings import StubFinding
from verdigris.languages.python.same_code import foreign_encoding
from verdigris.languages.python.stubs.forms import (
    Function,
    class_header_fault,
    describe,
    field_fault,
    function_fault,
    is_constant,
    is_docstring,
    is_successor,
    is_type_checking,
    judge_growth,
    last_name,
    makes_type,
    read_exports,
)
from verdigris.languages.python.stubs.origins import MARK, Origins, PythonStubMarks
from verdigris.languages.python.syntax import first_line, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@value
class _Scope:
    marks: PythonStubMarks
    taken: frozenset[str]
    """Names that existing code binds or uses."""
    modules: frozenset[str] = frozenset()
    """Top-level modules that existing code imports: an import of another part of one takes no new name."""
    existing: bool = True
    """True if there is existing code that a new special method could change."""
    imports_only: bool = False
    origins: Origins = field(default_factory=Origins)
    added: set[str] = field(default_factory=set)


def only_stubs(before: str | None, after: str) -> StubFinding | None:
    """The first place where a change adds more than stubs.

    None if every old statement is there, unchanged and in order, and every new one is a stub.
    """
    if (encoding := foreign_encoding(after)) is not None:
        return StubFinding(1, f"it declares the encoding {encoding}, in which a comment may hold code")
    try:
        new = parse(after)
    except SyntaxError as error:
        return StubFinding(error.lineno or 1, f"syntax error: {error.msg}")
    try:
        old = parse(before or "")
    except SyntaxError as error:
        return StubFinding(error.lineno or 1, "the file as it was does not parse, so nothing can be compared")
    try:
        marks = PythonStubMarks.of(after.removeprefix("\ufeff"), new, new=not old.body)
    except SyntaxError as error:
        return StubFinding(1, error.msg)
    scope = _Scope(
        marks,
        _names_bound_in(old) | _used_builtins(old),
        _modules(old),
        existing=bool(old.body),
        origins=Origins.of(new),
    )
    return next(_compare_bodies(old.body, new.body, scope), None)


def _compare_bodies(old: Sequence[ast.stmt], new: Sequence[ast.stmt], scope: _Scope) -> Iterator[StubFinding]:
    # Docstrings may change in every phase, so a rewritten file may leave out an old one.
    rest = [(node, ast.dump(node)) for node in old if not _is_filler(node) and not is_docstring(node)]
    for node in new:
        at = _counterpart(rest, node)
        if at is None:
            yield from _judge_addition(node, scope)
            continue
        if at > 0:
            yield StubFinding(first_line(node), f"{describe(rest[0][0])} was changed, removed or moved")
        yield from _judge_growth(rest[at][0], node, scope)
        rest = rest[at + 1 :]
    if rest:
        line = new[-1].end_lineno if new else 1
        yield StubFinding(line or 1, f"{describe(rest[0][0])} was changed, removed or moved")


def _counterpart(rest: list[tuple[ast.stmt, str]], node: ast.stmt) -> int | None:
    same = ast.dump(node)
    exact = next((at for at, (_, dump) in enumerate(rest) if dump == same), None)
    return (
        exact
        if exact is not None
        else next((at for at, (old, _) in enumerate(rest) if is_successor(old, node)), None)
    )


def _judge_growth(old: ast.stmt, new: ast.stmt, scope: _Scope) -> Iterator[StubFinding]:
    if ast.dump(old) == ast.dump(new):
        return
    match old, new:
        case ast.ClassDef(), ast.ClassDef():
            inner = _Scope(scope.marks, _names_bound_in(*old.body), origins=scope.origins)
            for found in _compare_bodies(old.body, new.body, inner):
                yield StubFinding(found.line, f"in `{new.name}`: {found.why}")
        case ast.If(), ast.If():
            yield from _compare_bodies(old.body, new.body, replace(scope, imports_only=True))
        case _:
            fault, names = judge_growth(old, new, marked=scope.marks.on(new))
            if fault is not None:
                yield StubFinding(first_line(new), fault)
            yield from _check_names(new, names, scope)


def _judge_addition(node: ast.stmt, scope: _Scope) -> Iterator[StubFinding]:
    fault = _fault(node, scope)
    if fault is not None:
        yield StubFinding(first_line(node), fault)
        return
    if is_type_checking(node) and isinstance(node, ast.If):
        yield from _compare_bodies((), node.body, replace(scope, imports_only=True))
    elif isinstance(node, ast.ClassDef):
        yield from _judge_class(node, scope.origins)
    yield from _check_names(node, _declared_names(node, scope), scope)


def _fault(node: ast.stmt, scope: _Scope) -> str | None:
    """Why a new statement by itself is no stub; None if it is one."""
    if scope.imports_only and not isinstance(node, ast.Import | ast.ImportFrom):
        return "only imports may be added under TYPE_CHECKING"
    match node:
        case ast.Import():
            return None
        case ast.ImportFrom(names=names):
            return "`import *` hides which names it imports" if names[0].name == "*" else None
        case _ if is_docstring(node) or _is_filler(node) or read_exports(node) is not None:
            return None
        case ast.If(orelse=[]) if is_type_checking(node):
            return None
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _why_unmarked(node, scope) or _with_name(node, function_fault(node, scope.origins))
        case ast.ClassDef():
            return _why_unmarked(node, scope) or _with_name(node, class_header_fault(node, scope.origins))
        case ast.AnnAssign():
            return _why_unmarked(node, scope) or field_fault(node, scope.origins)
        case _ if makes_type(node, scope.origins):
            return _why_unmarked(node, scope)
        case ast.Assign(targets=[ast.Name()], value=value) if _is_member_value(value, scope.origins):
            return _why_unmarked(node, scope)
        case _:
            return f"the statement {describe(node)} does work"


def _why_unmarked(node: ast.stmt, scope: _Scope) -> str | None:
    return None if scope.marks.on(node) else f"{describe(node)} is not marked {MARK}"


def _with_name(node: ast.stmt, fault: str | None) -> str | None:
    return None if fault is None else f"{describe(node)}: {fault}"


def _judge_class(node: ast.ClassDef, origins: Origins) -> Iterator[StubFinding]:
    for member in node.body:
        match member:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                fault = function_fault(member, origins)
            case ast.ClassDef():
                fault = class_header_fault(member, origins)
                yield from _judge_class(member, origins)
            case ast.AnnAssign():
                fault = field_fault(member, origins)
            case ast.Assign(targets=[ast.Name()], value=value):
                fault = None if _is_member_value(value, origins) else "the value is not a constant"
            case _:
                fault = None if is_docstring(member) or _is_filler(member) else "the statement does work"
        if fault is not None:
            yield StubFinding(first_line(member), f"in `{node.name}`: {fault}")


def _is_member_value(value: ast.expr, origins: Origins) -> bool:
    return is_constant(value) or (
        isinstance(value, ast.Call) and origins.origin(value.func) == "enum.auto" and not value.args
    )


def _check_names(node: ast.stmt, names: Sequence[str], scope: _Scope) -> Iterator[StubFinding]:
    """Checks that no new name replaces one that existing code uses."""
    decorators = node.decorator_list if isinstance(node, Function) else []
    if any(last_name(decorator) in {"setter", "getter", "deleter"} for decorator in decorators):
        names = ()
    for name in names:
        if name in scope.taken or name in scope.added:
            yield StubFinding(first_line(node), f"`{name}` exists already, and would be replaced")
        special = name.startswith("__") and name.endswith("__")
        if scope.existing and special and isinstance(node, Function | ast.Assign | ast.AnnAssign):
            yield StubFinding(first_line(node), f"`{name}` would change how existing code behaves")
    if not any(last_name(decorator) == "overload" for decorator in decorators):
        scope.added.update(names)


def _declared_names(node: ast.stmt, scope: _Scope) -> tuple[str, ...]:
    match node:
        case ast.If():
            return ()
        case ast.Import():
            return tuple(_names_bound_in(node) - (_modules(node) & scope.modules))
        case _:
            return tuple(_names_bound_in(node))


def _names_bound_in(*nodes: ast.AST) -> frozenset[str]:
    return frozenset(name for node in nodes for name in bound_names(node))


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in its own scope."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case _:
            for child in ast.iter_child_nodes(node):
                yield from bound_names(child)


def _modules(tree: ast.AST) -> frozenset[str]:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return frozenset(a.name.partition(".")[0] for node in imports for a in node.names if a.asname is None)


def _used_builtins(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and hasattr(builtins, node.id)
    )


def _is_filler(node: ast.stmt) -> bool:
    """Whether a statement is `pass` or `...`, which only fill a body."""
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
    )
