"""Lists all facts that a suite asserts, test by test and row by row; and the marks that skip tests."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertions import Assertion, AssertionChange, Mark, Name
from verdigris.languages.python.stubs.forms import Function, last_name, parametrized_names
from verdigris.languages.python.syntax import nodes_in
from verdigris.languages.python.tests import (
    BLOCKS,
    LEAVES,
    asserting_context,
    branches,
    is_assert_call,
    skip_owners,
    skips,
    visible_statements,
)
from verdigris.languages.python.weakening.names import TestNames, arguments, bind_row, rename
from verdigris.languages.python.weakening.strength import compare, conjuncts, normalize, raise_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.languages.python.weakening.names import Env, File, SuiteFiles

_CALLS = 4
"""How deep calls of helpers are followed."""
_CASES = 400
_PLACE = ast.Name("$", ast.Load())

Guard = tuple[str, ast.expr | None]


@value
class Fact:
    path: str
    line: int
    what: str
    """The assertion as it is written."""
    scope: str
    """The test (`Class::name`) that makes it."""
    case: str
    """The row of a table for which it is asserted; else empty."""
    form: ast.expr
    """The asserted expression, with values in place of names."""
    guards: tuple[str, ...]
    match: Assertion

    def compare_with(self, other: Fact) -> AssertionChange:
        return compare(self.form, other.form)

    def calls(self) -> set[str]:
        return {ast.unparse(node.func) for node in nodes_in(self.form) if isinstance(node, ast.Call)}


@dataclass(frozen=True, slots=True)
class _FactPlace:
    names: TestNames
    scope: str
    owner: str = ""
    guards: tuple[Guard, ...] = ()
    case: str = ""
    calls: int = 0
    inner: tuple[Function, ...] = ()

    def under(self, *guards: Guard) -> _FactPlace:
        return replace(self, guards=(*self.guards, *guards))


def facts(suite: SuiteFiles, file: File, name: str) -> Iterator[Fact]:
    """The facts of one function that is called by the runner, or by a caller that is not in the suite."""
    function = file.functions[name]
    owner = name.rpartition("::")[0]
    names = TestNames(suite, file)
    tables = [*function.decorator_list, *_class_decorators(file.tree, owner)]
    for case, env, guards in _rows(tables, names):
        inner = names.enter(file, function, {})
        yield from _facts_of_block(function.body, _FactPlace(inner.with_rows(env), name, owner, guards, case))


def _class_decorators(tree: ast.Module, owner: str) -> list[ast.expr]:
    wanted = owner.split("::")
    if not owner:
        return []
    return [
        d
        for n in nodes_in(tree)
        if isinstance(n, ast.ClassDef) and n.name in wanted
        for d in n.decorator_list
    ]


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
    found = []
    for row in map(_without_param, rows):
        parts = row.elts if len(wanted) > 1 and isinstance(row, ast.Tuple | ast.List) else [row]
        found.append((ast.unparse(row), dict(zip(wanted, parts, strict=False))))
    return found


def _without_param(row: ast.expr) -> ast.expr:
    match row:
        case ast.Call(func=func, args=args) if last_name(func).rpartition(".")[2] == "param":
            return args[0] if len(args) == 1 else ast.Tuple(args, ast.Load())
        case _:
            return row


def _facts_of_block(body: Sequence[ast.stmt], at: _FactPlace) -> Iterator[Fact]:
    at = replace(at, inner=(*at.inner, *(node for node in body if isinstance(node, Function))))
    for node in visible_statements(body):
        yield from _facts_of_statement(node, at)
        if isinstance(node, LEAVES):
            return
        if isinstance(node, BLOCKS) and any(isinstance(part, LEAVES) for part in nodes_in(node)):
            at = at.under(("after", node.test if isinstance(node, ast.If) else None))


def _facts_of_statement(node: ast.stmt, at: _FactPlace) -> Iterator[Fact]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return
        case ast.Assert(test=test):
            yield from _facts(node, f"assert {ast.unparse(test)}", conjuncts(test), at)
        case ast.Expr(value=value) if any(map(is_assert_call, nodes_in(value))):
            helped = [*_facts_of_calls(value, at)]
            yield from helped or _facts(node, ast.unparse(value), conjuncts(value), at)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            checks = [call for item in items if (call := asserting_context(item.context_expr)) is not None]
            for check in checks:
                if last_name(check.func) != "suppress":
                    what = f"with {ast.unparse(check)}"
                    yield from _facts(node, what, [raise_form(check, body)], at)
            yield from _facts_of_block(body, at.under(*((last_name(check.func), None) for check in checks)))
        case ast.For(target=target, iter=table, body=body) if (rows := at.names.rows(table)) is not None:
            yield from _facts_of_loop(target, rows, body, at)
        case ast.stmt() if inner := list(branches(node)):
            for block, guard in inner:
                yield from _facts_of_block(block, at.under(*_guards(guard)))
        case _:
            yield from _facts_of_calls(node, at)


def _facts_of_loop(
    target: ast.expr, rows: list[ast.expr], body: Sequence[ast.stmt], at: _FactPlace
) -> Iterator[Fact]:
    for row in rows:
        env = bind_row(target, row)
        case = ", ".join(filter(None, [at.case, ast.unparse(row)]))
        if env is None:
            yield from _facts_of_block(body, replace(at, case=case).under(("for", row)))
        else:
            yield from _facts_of_block(body, replace(at, case=case, names=at.names.with_rows(env)))


def _guards(guard: tuple[object, ...]) -> list[Guard]:
    """The guards of a branch: a word, then the expressions that decide whether it runs."""
    if not guard or guard in {("try",), ("try-else",)}:
        return []
    word, *rest = guard
    parts = [part for part in rest if isinstance(part, ast.expr)]
    return [(str(word), ast.Tuple(parts, ast.Load()) if parts else None)]


def _facts_of_calls(node: ast.AST, at: _FactPlace) -> Iterator[Fact]:
    """The facts of the suite's functions that a statement calls or passes on."""
    if at.calls >= _CALLS:
        return
    for part in nodes_in(node):
        match part:
            case ast.Call(func=ast.Name(id=name)):
                yield from _facts_of_helper(name, part, at)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name)):
                yield from _facts_of_helper(f"{at.owner}::{name}", part, at)
            case ast.Call(func=ast.Attribute() as func):
                yield from _facts_of_helper(ast.unparse(func), part, at)
            case ast.Name(id=name, ctx=ast.Load()) if any(f.name == name for f in at.inner):
                yield from _facts_of_helper(name, ast.Call(part, [], []), at)


def _facts_of_helper(name: str, call: ast.Call, at: _FactPlace) -> Iterator[Fact]:
    names = at.names
    nested = next((f for f in at.inner if f.name == name), None)
    file, known = names.suite.helper(names.file, name) or (names.file, "")
    function = nested or file.functions.get(known)
    if function is None or function.name.startswith("test"):
        return
    given = arguments(function, call, names, method="::" in known)
    entered = names.enter(file, function, given)
    if nested is not None:
        entered.env = {**names.env, **entered.env}
        entered.local |= names.local
    yield from _facts_of_block(function.body, replace(at, names=entered, calls=at.calls + 1))


def _facts(node: ast.stmt, what: str, tests: Iterable[ast.expr], at: _FactPlace) -> Iterator[Fact]:
    guards = [(word, None if test is None else at.names.inline_names(test)) for word, test in at.guards]
    for test in tests:
        for form in conjuncts(at.names.inline_names(test)):
            # With the values of a row, both sides may be tuples, which are asserted part by part.
            whole = normalize(form)
            places: list[Name] = []
            local = at.names.local
            shape = "|".join(
                [
                    *(f"{word}:{_shape(test, local, places)}" for word, test in guards),
                    _shape(whole, local, places),
                ]
            )
            shown = tuple(word if test is None else f"{word} {ast.unparse(test)}" for word, test in guards)
            yield Fact(
                at.names.file.path,
                node.lineno,
                what,
                at.scope,
                at.case,
                whole,
                shown,
                Assertion(node.lineno, what, at.scope, shape, tuple(places)),
            )


def _shape(node: ast.expr | None, local: frozenset[str], places: list[Name]) -> str:
    if node is None:
        return ""
    here = [
        Name(part.id, local=True)
        for part in nodes_in(node)
        if isinstance(part, ast.Name) and part.id in local
    ]
    places += here
    return ast.unparse(rename(node, lambda name: _PLACE if name.id in local else name) if here else node)


_DESELECTING = frozenset({"collect_ignore", "collect_ignore_glob", "__test__"})
_COLLECTING = ("pytest_collection", "pytest_ignore_collect", "pytest_collect", "pytest_itemcollected")
_RUNNING = (
    *(
        "pytest_runtest",
        "pytest_pyfunc_call",
        "pytest_pycollect",
        "pytest_make_collect",
        "pytest_sessionfinish",
    ),
    *(
        "pytest_report_teststatus",
        "pytest_cmdline",
        "pytest_load_initial",
        "pytest_assertion",
        "pytest_exception",
    ),
    *("pytest_fixture_setup", "pytest_configure", "pytest_generate_tests"),
)


@lru_cache(maxsize=16)
def marks(tree: ast.Module) -> tuple[Mark, ...]:
    """The marks of a file. The last ones are cached, like the trees."""
    return tuple(_marks(tree.body, "", skip_owners(tree)))


def _marks(body: list[ast.stmt], scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                inside = f"{scope}{name}"
                for decorator in node.decorator_list:
                    yield from _find_skips(decorator, inside, owners)
                yield from _marks(inner, f"{inside}::", owners)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _find_skips(node, f"{scope}{name}", owners)
                yield from _find_hooks(node)
            case _:
                yield from _find_skips(node, scope.removesuffix("::"), owners)
                yield from _find_assignments(node, scope.removesuffix("::"))


def _find_skips(node: ast.AST, scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    yield from (Mark("skipped", mark.line, mark.what, scope) for mark in skips(node, owners))


def _find_hooks(node: Function) -> Iterator[Mark]:
    if node.name.startswith(_COLLECTING):
        yield Mark("deselected", node.lineno, ast.unparse(node), "")
    elif node.name.startswith(_RUNNING):
        yield Mark("hook", node.lineno, ast.unparse(node), "")


def _find_assignments(node: ast.stmt, scope: str) -> Iterator[Mark]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            names = {last_name(target) for target in targets}
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            names = {last_name(target)}
        case _:
            return
    if names & _DESELECTING and ast.unparse(node) != "__test__ = True":
        yield Mark("deselected", node.lineno, ast.unparse(node), scope)
    elif "pytest_plugins" in names:
        yield Mark("hook", node.lineno, ast.unparse(node), scope)
