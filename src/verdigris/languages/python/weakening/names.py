"""Writes values in place of the names in a test: of constants, table rows, fixtures and imports."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdigris.languages.python.stubs.forms import Function, is_docstring
from verdigris.languages.python.syntax import nodes_in
from verdigris.languages.python.tests.code import find_single_assignments, own_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verdigris.languages.python.tests.code import Code, Env, Files

_DEPTH = 6
_LARGE = 2_000
"""An expression with more nodes than this keeps its names."""
_ROWS = 300


def _find_local_functions(owner: Function) -> Env:
    """Inner functions that take nothing and only return a value, as lambdas: both say the same."""
    nodes = list(own_nodes(owner))
    bound = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    bound.update(n.name for n in nodes if isinstance(n, Function | ast.ClassDef))
    return {
        node.name: ast.Lambda(node.args, returned)
        for node in nodes
        if isinstance(node, ast.FunctionDef) and bound[node.name] == 1 and not node.decorator_list
        if not any(ast.iter_child_nodes(node.args))
        if (returned := _find_only_value(node)) is not None
    }


def _find_only_value(function: ast.FunctionDef) -> ast.expr | None:
    """The value that a function returns, if it does nothing else."""
    match [node for node in function.body if not is_docstring(node)]:
        case [ast.Return(value=ast.expr() as returned)]:
            pauses = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in nodes_in(returned))
            return None if pauses else returned
        case _:
            return None


@lru_cache(maxsize=512)
def _scope_of(function: Function) -> tuple[frozenset[str], frozenset[str], Env]:
    """The parameters of a function, all its local names, and those with one value. Tests share helpers."""
    parameters = frozenset(part.arg for part in nodes_in(function.args) if isinstance(part, ast.arg))
    stored = (n.id for n in own_nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    named = find_single_assignments(function) | _find_local_functions(function)
    return parameters, parameters.union(stored), named


@dataclass(slots=True)
class TestNames:
    """The meanings of the names in one function, for one call of it."""

    files: Files
    code: Code
    env: Env = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    depth: int = 0

    def enter(self, code: Code, function: Function, given: Mapping[str, ast.expr]) -> TestNames:
        """The names inside a called function. `given`: values of parameters; others may be fixtures."""
        parameters, local, named = _scope_of(function)
        inner = TestNames(self.files, code, dict(given), local, self.depth + 1)
        if self.depth < _DEPTH:
            inner.env |= {
                n: v for n in parameters - given.keys() if (v := inner.fixture_value(n)) is not None
            }
        for name, value in named.items():
            if name not in parameters:
                inner.env[name] = inner.inline_names(value)
        return inner

    def fixture_value(self, name: str) -> ast.expr | None:
        fixture = self.files.fixture(self.code, name)
        if fixture is None:
            return None
        code, function = fixture
        values = [n.value for n in own_nodes(function) if isinstance(n, ast.Return | ast.Yield)]
        if len(values) != 1 or values[0] is None:
            return None
        return self.enter(code, function, {}).inline_names(values[0])

    def with_rows(self, more: Mapping[str, ast.expr]) -> TestNames:
        """Adds the values of a table's row, also to names that were assigned from them."""
        env = {n: _replace_names(v, more) for n, v in self.env.items()} | dict(more)
        return TestNames(self.files, self.code, env, self.local, self.depth)

    def inline_names(self, node: ast.expr) -> ast.expr:
        whole = rename(node, self._resolve_name)
        return whole if sum(1 for _ in itertools.islice(ast.walk(whole), _LARGE)) < _LARGE else node

    def rows(self, node: ast.expr) -> list[ast.expr] | None:
        """The elements of a literal table, in place or behind a name; None if it is none."""
        match self.inline_names(node):
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) if len(parts) <= _ROWS:
                return None if any(isinstance(part, ast.Starred) for part in parts) else parts
            case ast.Call(
                func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items"), args=[]
            ):
                pairs = zip(keys, values, strict=True)
                return [ast.Tuple([k, v], ast.Load()) for k, v in pairs if k is not None]
            case ast.Call(func=ast.Name(id="enumerate"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]):
                return [ast.Tuple([ast.Constant(at), part], ast.Load()) for at, part in enumerate(parts)]
            case _:
                return None

    def _resolve_name(self, name: ast.Name, within: tuple[str, ...] = ()) -> ast.expr:
        if name.id in self.env:
            return self.env[name.id]
        if name.id in self.local or name.id in within:
            return name
        value = self._value_of(name.id)
        if value is None or len(within) >= _DEPTH:
            return ast.Name(self.code.imports.get(name.id, name.id), name.ctx)
        return rename(value, lambda inner: self._resolve_name(inner, (*within, name.id)))

    def _value_of(self, name: str) -> ast.expr | None:
        """The value that a file of the suite assigns once to a name that is known here."""
        place = self.files.resolve(self.code, name)
        return None if place is None else place[0].single_values.get(place[1])


def _replace_names(node: ast.expr, more: Mapping[str, ast.expr]) -> ast.expr:
    if not any(isinstance(part, ast.Name) and part.id in more for part in nodes_in(node)):
        return node
    return rename(node, lambda name: more.get(name.id, name))


def rename(node: ast.expr, meant: Callable[[ast.Name], ast.expr]) -> ast.expr:
    """A new expression in which `meant` replaces each name; the old one does not change."""
    renamed: ast.expr = _rebuild(node, meant)
    return renamed


def _rebuild(node: Any, meant: Callable[[ast.Name], ast.expr]) -> Any:
    match node:
        case ast.Name():
            return meant(node)
        case ast.JoinedStr(values=values):
            # Not every expression is valid inside an f-string.
            flat = [inner for part in values for inner in _pieces(part)]
            return ast.Call(ast.Name("f-string", ast.Load()), _rebuild(flat, meant), [])
        case list():
            return [_rebuild(inner, meant) for inner in node]
        case ast.AST() if node._fields and not isinstance(node, ast.Constant):
            return type(node)(**{name: _rebuild(part, meant) for name, part in ast.iter_fields(node)})
        case _:
            return node


def _pieces(part: ast.expr) -> list[ast.expr]:
    match part:
        case ast.FormattedValue(value=value, format_spec=spec):
            return [value] if spec is None else [value, spec]
        case _:
            return [part]


def bind_row(target: ast.expr, row: ast.expr) -> Env | None:
    """The values of the names of a loop, or of a parametrized test, in one row."""
    match target, row:
        case ast.Name(id=name), _:
            return {name: row}
        case ((ast.Tuple(elts=names) | ast.List(elts=names)), (ast.Tuple(elts=parts) | ast.List(elts=parts))):
            inner = [bind_row(n, p) for n, p in zip(names, parts, strict=False)]
            if len(names) != len(parts) or None in inner:
                return None
            return {name: value for env in inner if env is not None for name, value in env.items()}
        case _:
            return None


def arguments(function: Function, call: ast.Call, names: TestNames, *, method: bool) -> Env:
    """The values of the parameters of a helper in one call."""
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][1 if method else 0 :]
    plain = _until_star(call.args)
    given: Env = {name: names.inline_names(arg) for name, arg in zip(parameters, plain, strict=False)}
    given |= {k.arg: names.inline_names(k.value) for k in call.keywords if k.arg is not None}
    return given


def _until_star(args: Iterable[ast.expr]) -> list[ast.expr]:
    plain = []
    for arg in args:
        if isinstance(arg, ast.Starred):
            break
        plain.append(arg)
    return plain
