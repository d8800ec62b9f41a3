"""Finds source that tests assert with, or from which they take expected values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from verdigris.core.test_ids import function_of, split_id
from verdigris.languages.python.modules import files_of_module, without_suffix
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import is_literal, nodes_in, parse_or_none
from verdigris.languages.python.tests import collected_tests
from verdigris.languages.python.tests.code import Code
from verdigris.languages.tracing import SharedOracle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SAYS_SO = ("assert", "check", "verify", "expect", "ensure", "must", "should", "require")
"""Beginnings of the names of functions that tests assert with."""
_EXPECTING = frozenset({"raises", "warns", "assertRaises", "assertWarns", "deprecated_call"})
_DEPTH = 8
"""How many imports are followed from one module to the next."""
Place = tuple[Code, str]


def find_shared(
    tests: Mapping[str, str], sources: Mapping[str, str], claimed: Iterable[str] | None
) -> tuple[SharedOracle, ...]:
    """Finds such source; only the modules that tests name are read from `sources`.

    `claimed`: native ids of the tests to read; None for all tests.
    """
    if claimed is None:
        claimed = [f"{path}::{name}" for path, text in tests.items() for name in _test_names(text)]
    files = ParsedFiles(tests, sources)
    found: dict[tuple[str, str], SharedOracle] = {}
    for test_id in dict.fromkeys(map(function_of, claimed)):
        where = split_id(test_id)
        code = files.code(where.path)
        place = None if code is None else files.resolve(code, where.function.replace("::", "."))
        for kind, (there, name) in files.used_by(place) if place is not None else ():
            line = files.line(there, name)
            found.setdefault((there.path, name), SharedOracle(there.path, name, line, kind, test_id))
    return tuple(found.values())


def _test_names(text: str) -> list[str]:
    tree = parse_or_none(text)
    try:
        return [] if tree is None else [name for name, _ in collected_tests(tree)]
    except RecursionError:
        return []


class ParsedFiles:
    """Tests and source, each file parsed when it is first needed."""

    def __init__(self, tests: Mapping[str, str], sources: Mapping[str, str]) -> None:
        self.tests = tests
        self._sides = (tests, sources)
        self._codes: dict[str, Code | None] = {}
        self._by_end: dict[str, list[str]] = {}
        for path in (*tests, *sources):
            self._by_end.setdefault(without_suffix(path).rpartition("/")[2], []).append(path)

    def code(self, path: str) -> Code | None:
        if path not in self._codes:
            side = next((side for side in self._sides if path in side), None)
            try:
                self._codes[path] = None if side is None else Code(path, side[path])
            except (SyntaxError, ValueError, RecursionError):
                self._codes[path] = None
        return self._codes[path]

    def line(self, code: Code, name: str) -> int:
        node = code.functions.get(name) or code.constants.get(name)
        return 1 if node is None else node.lineno

    def resolve(self, code: Code, dotted: str, depth: int = _DEPTH) -> Place | None:
        """The function, class or constant that a name means here, also if it is inherited or re-exported."""
        if depth == 0:
            return None
        name = dotted.replace(".", "::")
        if name in code.functions or name in code.classes or name in code.constants:
            return code, name
        owner, _, method = name.rpartition("::")
        for base in code.bases.get(owner, ()):
            if found := self.resolve(code, f"{base}.{method}", depth - 1):
                return found
        for there, rest in self._find_imported(code, dotted):
            if found := self.resolve(there, rest, depth - 1):
                return found
        return None

    def _find_imported(self, code: Code, dotted: str) -> Iterator[tuple[Code, str]]:
        words = dotted.split(".")
        for count in range(len(words), 0, -1):
            module, name = code.imports.get(".".join(words[:count]), ("", ""))
            rest = words[count:]
            if name and (inner := self._module(code, f"{module}.{name}".strip("."))) and rest:
                yield inner, ".".join(rest)
            if (module or name) and (outer := self._module(code, module or name)):
                yield outer, ".".join(filter(None, (name, *rest)))
        for star in code.stars:
            if there := self._module(code, star):
                yield there, dotted

    def _module(self, code: Code, module: str) -> Code | None:
        """The only file that the module's name can mean; see `files_of_module`."""
        paths = files_of_module(module, code.path, self._by_end.get(module.rpartition(".")[2], ()))
        return self.code(paths[0]) if len(paths) == 1 else None

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
            if table is not None and self._in_source(table) and table[1] in table[0].constants:
                yield "expectation", table

    def _in_source(self, place: Place | None) -> bool:
        return place is not None and place[0].path not in self.tests

    def _find_called(self, place: Place, node: Function, call: ast.Call) -> Place | None:
        code, name = place
        match call.func:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=method):
                return self.resolve(code, f"{name.rpartition('::')[0].replace('::', '.')}.{method}")
            case ast.Attribute(value=ast.Call(func=made), attr=method):
                return self.resolve(code, f"{ast.unparse(made)}.{method}")
            case ast.Attribute(value=ast.Name(id=local), attr=method) if local in (
                made_here := _makers_of_names(node)
            ):
                return self.resolve(code, f"{made_here[local]}.{method}")
            case ast.Name() | ast.Attribute():
                return self.resolve(code, ast.unparse(call.func))
            case _:
                return None

    def asserting_functions(
        self, place: Place, seen: frozenset[object] = frozenset()
    ) -> frozenset[tuple[str, str]]:
        """The functions, this one and those that it calls, that contain an assertion."""
        code, name = place
        node = code.functions.get(name)
        if node is None or (code.path, name) in seen:
            return frozenset()
        seen |= {(code.path, name)}
        found = frozenset({(code.path, name)}) if any(map(fails, nodes_in(node))) else frozenset()
        for call in _calls(node):
            meant = self._find_called(place, node, call)
            if meant is not None and self._in_source(meant):
                found |= self.asserting_functions(meant, seen)
        return found


def _calls(node: Function) -> list[ast.Call]:
    return [inner for part in node.body for inner in nodes_in(part) if isinstance(inner, ast.Call)]


def _statements(node: Function) -> frozenset[int]:
    """The ids of calls whose result is not used."""
    alone = (inner.value for inner in nodes_in(node) if isinstance(inner, ast.Expr))
    return frozenset(id(one.value if isinstance(one, ast.Await) else one) for one in alone)


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
        target.id: ast.unparse(made)
        for inner in nodes_in(node)
        if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Call)
        for target, made in [(inner.targets[0], inner.value.func)]
        if isinstance(target, ast.Name)
    }


def fails(node: ast.AST) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError")) | ast.Name(id="AssertionError")):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.startswith("assert") or ast.unparse(node.func) == "pytest.fail"
        case _:
            return False


def _expected_names(node: Function) -> Iterator[str]:
    """The names in comparisons without a literal, in loops over cases, and in decorators with cases."""
    parts: list[ast.expr] = [part for one in node.decorator_list for part in _arguments(one)]
    for inner in nodes_in(node):
        match inner:
            case ast.Compare() if not any(is_literal(side) for side in (inner.left, *inner.comparators)):
                parts += (inner.left, *inner.comparators)
            case ast.For(iter=cases) | ast.comprehension(iter=cases):
                parts.append(cases)
    for part in parts:
        called = {id(one.func) for one in nodes_in(part) if isinstance(one, ast.Call)}
        for name in nodes_in(part):
            if isinstance(name, ast.Name | ast.Attribute) and id(name) not in called:
                yield ast.unparse(name)
            elif isinstance(name, ast.Attribute):
                yield ast.unparse(name.value)


def _arguments(decorator: ast.expr) -> list[ast.expr]:
    return [*decorator.args] if isinstance(decorator, ast.Call) else []
