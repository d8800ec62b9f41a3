"""Finds source that tests assert with, or from which they take expected values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from verdigris.core.test_ids import function_of, split_id
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import is_literal, nodes_in, parse_or_none
from verdigris.languages.python.tests import collected_tests, fails
from verdigris.languages.python.tests.code import Files
from verdigris.languages.tracing import SharedOracle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.languages.python.tests.code import Code, Place

_SAYS_SO = ("assert", "check", "verify", "expect", "ensure", "must", "should", "require")
"""Beginnings of the names of functions that tests assert with."""
_EXPECTING = frozenset({"raises", "warns", "assertRaises", "assertWarns", "deprecated_call"})


def find_shared(
    tests: Mapping[str, str], sources: Mapping[str, str], claimed: Iterable[str] | None
) -> tuple[SharedOracle, ...]:
    """Finds such source; only the modules that tests name are read from `sources`.

    `claimed`: native ids of the tests to read; None for all tests.
    """
    if claimed is None:
        claimed = [f"{path}::{name}" for path, text in tests.items() for name in _test_names(text)]
    files = OracleFiles(tests, sources)
    shared: dict[tuple[str, str], SharedOracle] = {}
    for test_id in dict.fromkeys(map(function_of, claimed)):
        where = split_id(test_id)
        code = files.code(where.path)
        place = None if code is None else files.resolve(code, where.function)
        for kind, (there, name) in files.used_by(place) if place is not None else ():
            line = _line_of(there, name)
            shared.setdefault((there.path, name), SharedOracle(there.path, name, line, kind, test_id))
    return tuple(shared.values())


def _test_names(text: str) -> list[str]:
    tree = parse_or_none(text)
    try:
        return [] if tree is None else [name for name, _ in collected_tests(tree)]
    except RecursionError:
        return []


def _line_of(code: Code, name: str) -> int:
    """The line of a function or a value."""
    nodes = [code.functions[name]] if name in code.functions else code.values.get(name, [])[-1:]
    return nodes[0].lineno if nodes else 1


class OracleFiles(Files):
    """Tests and source."""

    def __init__(self, tests: Mapping[str, str], sources: Mapping[str, str]) -> None:
        super().__init__({**tests, **{path: text for path, text in sources.items() if path not in tests}})
        self.tests = tests

    def used_by(
        self, place: Place, seen: frozenset[object] = frozenset()
    ) -> Iterator[tuple[Literal["assertion", "expectation"], Place]]:
        """The source that a test function uses, directly or through helpers, and what it uses it for."""
        code, name = place
        node = code.functions.get(name)
        if node is None or (code.path, name) in seen:
            return
        seen |= {(code.path, name)}
        calls = [(call, self._find_called(place, node, call)) for call in _calls(node)]
        own = _own_assertions(node, [call for call, meant in calls if self._in_source(meant)])
        expected_to_fail = _under_raises(node)
        for call, meant in calls:
            if meant is None:
                continue
            if not self._in_source(meant):
                yield from self.used_by(meant, seen)
            elif id(call) in _statements(node) and id(call) not in expected_to_fail:
                says_so = meant[1].rpartition("::")[2].lstrip("_").lower().startswith(_SAYS_SO)
                if (says_so or not own) and self.asserting_functions(meant):
                    yield "assertion", meant
        for dotted in _expected_names(node):
            table = self.resolve(code, dotted)
            if table is not None and self._in_source(table) and table[1] in table[0].values:
                yield "expectation", table

    def _in_source(self, place: Place | None) -> bool:
        return place is not None and place[0].path not in self.tests

    def _find_called(self, place: Place, node: Function, call: ast.Call) -> Place | None:
        """The function that a call means, also one of an object that the function makes."""
        match call.func:
            case ast.Attribute(value=ast.Call(func=maker), attr=method):
                meant = self.resolve(place[0], f"{ast.unparse(maker)}.{method}")
            case ast.Attribute(value=ast.Name(id=local), attr=method) if local in (
                made_here := _makers_of_names(node)
            ):
                meant = self.resolve(place[0], f"{made_here[local]}.{method}")
            case _:
                meant = None
        called = meant or self.called(place, call)
        return None if called is None else self.function(*called)

    def asserting_functions(
        self, place: Place, seen: frozenset[object] = frozenset()
    ) -> frozenset[tuple[str, str]]:
        """The functions, this one and those that it calls, that contain an assertion."""
        code, name = place
        node = code.functions.get(name)
        if node is None or (code.path, name) in seen:
            return frozenset()
        seen |= {(code.path, name)}
        asserting = frozenset({(code.path, name)}) if any(map(fails, nodes_in(node))) else frozenset()
        for call in _calls(node):
            meant = self._find_called(place, node, call)
            if meant is not None and self._in_source(meant):
                asserting |= self.asserting_functions(meant, seen)
        return asserting


def _calls(node: Function) -> list[ast.Call]:
    return [inner for part in node.body for inner in nodes_in(part) if isinstance(inner, ast.Call)]


def _statements(node: Function) -> frozenset[int]:
    """The ids of calls whose result is not used."""
    alone = (inner.value for inner in nodes_in(node) if isinstance(inner, ast.Expr))
    return frozenset(id(value.value if isinstance(value, ast.Await) else value) for value in alone)


def _own_assertions(node: Function, of_source: Iterable[ast.Call]) -> bool:
    others = {id(call) for call in of_source}
    for inner in nodes_in(node):
        if isinstance(inner, ast.Assert):
            return True
        if isinstance(inner, ast.Call) and id(inner) not in others:
            name = last_name(inner.func)
            if name in _EXPECTING or name.lower().startswith("assert"):
                return True
    return False


def _under_raises(node: Function) -> frozenset[int]:
    blocks = (
        inner
        for inner in nodes_in(node)
        if isinstance(inner, ast.With | ast.AsyncWith)
        and any(
            isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) in _EXPECTING
            for item in inner.items
        )
    )
    return frozenset(id(part) for block in blocks for stmt in block.body for part in nodes_in(stmt))


def _makers_of_names(node: Function) -> dict[str, str]:
    """Maps each local name that one call made to the called function."""
    return {
        target.id: ast.unparse(maker)
        for inner in nodes_in(node)
        if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Call)
        for target, maker in [(inner.targets[0], inner.value.func)]
        if isinstance(target, ast.Name)
    }


def _expected_names(node: Function) -> Iterator[str]:
    """The names in comparisons without a literal, in loops over cases, and in decorators with cases."""
    parts: list[ast.expr] = [part for decorator in node.decorator_list for part in _arguments(decorator)]
    for inner in nodes_in(node):
        match inner:
            case ast.Compare() if not any(is_literal(side) for side in (inner.left, *inner.comparators)):
                parts += (inner.left, *inner.comparators)
            case ast.For(iter=cases) | ast.comprehension(iter=cases):
                parts.append(cases)
    for part in parts:
        called = {id(inner.func) for inner in nodes_in(part) if isinstance(inner, ast.Call)}
        for name in nodes_in(part):
            if isinstance(name, ast.Name | ast.Attribute) and id(name) not in called:
                yield ast.unparse(name)
            elif isinstance(name, ast.Attribute):
                yield ast.unparse(name.value)


def _arguments(decorator: ast.expr) -> list[ast.expr]:
    return [*decorator.args] if isinstance(decorator, ast.Call) else []
