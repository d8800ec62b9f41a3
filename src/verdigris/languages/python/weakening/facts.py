"""Lists all facts that a suite asserts, test by test and row by row."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.languages.assertions import Assertion, AssertionChange, Fact
from verdigris.languages.python.stubs.forms import Function, last_name, owner_name, parametrized_names
from verdigris.languages.python.syntax import nodes_in
from verdigris.languages.python.tests import (
    Shape,
    asserting_contexts,
    branches,
    failing_condition,
    is_assertion,
    walk_statements,
)
from verdigris.languages.python.tests.code import owners_of
from verdigris.languages.python.weakening.names import TestNames, arguments, bind_row
from verdigris.languages.python.weakening.strength import compare, conjuncts, negate, normalize, raise_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.languages.python.tests.code import Code, Env, Files, Place

_CALLS = 4
"""How deep calls of helpers are followed."""
_CASES = 400

Guard = tuple[str, ast.expr | None]


@value
class PythonFact(Fact):
    form: ast.expr
    """The asserted expression, with values in place of names."""

    def compare_with(self, other: PythonFact) -> AssertionChange:
        return compare(self.form, other.form)

    def calls(self) -> set[str]:
        return {ast.unparse(node.func) for node in nodes_in(self.form) if isinstance(node, ast.Call)}


@value
class _FactPlace:
    names: TestNames
    test: Place
    running: Place
    """The function of the suite that runs: the test, or a helper."""
    guards: tuple[Guard, ...] = ()
    case: str = ""
    calls: int = 0
    inner: tuple[Function, ...] = ()

    def under(self, *guards: Guard) -> _FactPlace:
        return replace(self, guards=(*self.guards, *guards))

    def after(self, node: ast.stmt) -> _FactPlace:
        if failing_condition(node) is not None:
            return self
        return self.under(("after", node.test if isinstance(node, ast.If) else None))

    def inside(self, block: Sequence[ast.stmt]) -> _FactPlace:
        return replace(self, inner=(*self.inner, *(node for node in block if isinstance(node, Function))))

    def in_row(self, target: ast.expr, row: ast.expr) -> _FactPlace:
        """The place in a loop over a table, while it is at this row."""
        inside = replace(self, case=", ".join(filter(None, [self.case, ast.unparse(row)])))
        env = bind_row(target, row)
        if env is None:
            return inside.under(("for", row))
        return replace(inside, names=self.names.with_rows(env))


def facts(files: Files, code: Code, name: str) -> Iterator[PythonFact]:
    """The facts of one function that is called by the runner, or by a caller that is not in the suite."""
    function = code.functions[name]
    names = TestNames(files, code)
    classes = [code.classes[owner] for owner in owners_of(name) if owner in code.classes]
    tables = [d for node in (function, *classes) for d in node.decorator_list]
    for case, env, guards in _rows(tables, names):
        inner = names.enter(code, function, {}).with_rows(env)
        at = _FactPlace(inner, (code, name), (code, name), guards, case)
        yield from _facts_of_block(function.body, at)


def _rows(decorators: Iterable[ast.expr], names: TestNames) -> Iterator[tuple[str, Env, tuple[Guard, ...]]]:
    tables: list[list[tuple[str, Env]]] = []
    guards: list[Guard] = []
    for decorator in decorators:
        match decorator:
            case ast.Call(func=func, args=[parameters, values, *_]) if last_name(func) == "parametrize":
                table = _table(parameters, values, names)
                if table is None:
                    guards.append(("for", names.inline_names(values)))
                else:
                    tables.append(table)
    for cases in itertools.islice(itertools.product(*tables), _CASES):
        env = {name: value for _, row in cases for name, value in row.items()}
        yield ", ".join(text for text, _ in cases), env, tuple(guards)


def _table(parameters: ast.expr, values: ast.expr, names: TestNames) -> list[tuple[str, Env]] | None:
    wanted = parametrized_names(parameters)
    rows = names.rows(values)
    if rows is None:
        return None
    table = []
    for row in map(_without_param, rows):
        parts = row.elts if len(wanted) > 1 and isinstance(row, ast.Tuple | ast.List) else [row]
        table.append((ast.unparse(row), dict(zip(wanted, parts, strict=False))))
    return table


def _without_param(row: ast.expr) -> ast.expr:
    match row:
        case ast.Call(func=func, args=args) if last_name(func).rpartition(".")[2] == "param":
            return args[0] if len(args) == 1 else ast.Tuple(args, ast.Load())
        case _:
            return row


def _facts_of_block(body: Sequence[ast.stmt], at: _FactPlace) -> Iterator[PythonFact]:
    for node, where in walk_statements(body, at.inside(body), _blocks):
        yield from _facts_of_statement(node, where)


def _blocks(node: ast.stmt, at: _FactPlace) -> Iterator[tuple[Sequence[ast.stmt], _FactPlace]]:
    """The blocks of a statement; that of a loop over a table once for each row."""
    places: list[tuple[Sequence[ast.stmt], _FactPlace]]
    match node:
        case ast.With() | ast.AsyncWith():
            guards = [(last_name(check.func), None) for check in asserting_contexts(node)]
            places = [(node.body, at.under(*guards))]
        case ast.For(target=target, iter=table, body=body) if (rows := at.names.rows(table)) is not None:
            places = [(body, at.in_row(target, row)) for row in rows]
        case _:
            places = [(block, at.under(*_guards(guard))) for block, guard in branches(node)]
    return ((block, inside.inside(block)) for block, inside in places)


def _facts_of_statement(node: ast.stmt, at: _FactPlace) -> Iterator[PythonFact]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return
        case ast.Assert(test=test):
            yield from _facts(node, f"assert {ast.unparse(test)}", conjuncts(test), at)
        case ast.Expr(value=value) if is_assertion(node):
            yield from [*_facts_of_calls(value, at)] or _facts(node, ast.unparse(value), conjuncts(value), at)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            for check in asserting_contexts(node):
                if last_name(check.func) != "suppress":
                    yield from _facts(node, f"with {ast.unparse(check)}", [raise_form(check, body)], at)
        case ast.If() if (failing := failing_condition(node)) is not None:
            asserted = negate(failing)
            yield from _facts(node, f"assert {ast.unparse(asserted)}", conjuncts(asserted), at)
        case _ if not any(True for _ in branches(node)):
            yield from _facts_of_calls(node, at)


def _guards(guard: tuple[object, ...]) -> list[Guard]:
    """The guards of a branch: a word, then the expressions that decide whether it runs."""
    if not guard or guard in {("try",), ("try-else",)}:
        return []
    word, *rest = guard
    parts = [part for part in rest if isinstance(part, ast.expr)]
    return [(str(word), ast.Tuple(parts, ast.Load()) if parts else None)]


def _facts_of_calls(node: ast.AST, at: _FactPlace) -> Iterator[PythonFact]:
    """The facts of the suite's functions that a statement calls or passes on."""
    if at.calls >= _CALLS:
        return
    inner = {function.name: function for function in reversed(at.inner)}
    for part in nodes_in(node):
        match part:
            case ast.Call(func=ast.Name(id=name)) if name in inner:
                yield from _facts_of_inner(inner[name], part, at)
            case ast.Call():
                yield from _facts_of_helper(part, at)
            case ast.Name(id=name, ctx=ast.Load()) if name in inner:
                yield from _facts_of_inner(inner[name], ast.Call(part, [], []), at)


def _facts_of_helper(call: ast.Call, at: _FactPlace) -> Iterator[PythonFact]:
    names = at.names
    helper = names.files.called(at.running, call, within=at.test)
    place = None if helper is None else names.files.function(*helper)
    if place is None:
        return
    code, name = place
    function = code.functions[name]
    if not function.name.startswith("test"):
        is_bound = "::" in name and owner_name(call.func) in {"self", "cls", ""}
        entered = names.enter(code, function, arguments(function, call, names, method=is_bound))
        inside = replace(at, names=entered, running=place, calls=at.calls + 1)
        yield from _facts_of_block(function.body, inside)


def _facts_of_inner(function: Function, call: ast.Call, at: _FactPlace) -> Iterator[PythonFact]:
    """The facts of a function that is defined in the running one, and sees its names."""
    outer = at.names
    entered = outer.enter(outer.code, function, arguments(function, call, outer, method=False))
    names = replace(entered, env={**outer.env, **entered.env}, local=entered.local | outer.local)
    yield from _facts_of_block(function.body, replace(at, names=names, calls=at.calls + 1))


def _facts(node: ast.stmt, what: str, tests: Iterable[ast.expr], at: _FactPlace) -> Iterator[PythonFact]:
    guards = [(word, None if test is None else at.names.inline_names(test)) for word, test in at.guards]
    for test in tests:
        for form in conjuncts(at.names.inline_names(test)):
            # With the values of a row, both sides may be tuples, which are asserted part by part.
            whole = normalize(form)
            shape = Shape(at.names.local, loose=False)
            text = shape.write([*guards, whole])
            shown = tuple(word if test is None else f"{word} {ast.unparse(test)}" for word, test in guards)
            yield PythonFact(
                at.names.code.path,
                node.lineno,
                what,
                at.test[1],
                shown,
                Assertion(node.lineno, what, at.test[1], text, tuple(shape.names)),
                at.case,
                whole,
            )
