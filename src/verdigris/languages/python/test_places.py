"""Finds the tests in the text of a Python file, reads their facts, and marks one as skipped."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertions import is_in_scope, skip_of
from verdigris.languages.findings import TestFacts, WrittenTest
from verdigris.languages.literals import quote_line
from verdigris.languages.python.same_code import declares_encoding, foreign_encoding
from verdigris.languages.python.stubs.forms import Function, is_docstring, last_name
from verdigris.languages.python.syntax import (
    Source,
    first_line,
    parse_or_none,
)
from verdigris.languages.python.tests import collected_tests, is_fixture, read
from verdigris.languages.python.tests.code import Files
from verdigris.languages.python.tests.reached import reached_assertions
from verdigris.languages.python.weakening.facts import marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from verdigris.languages.python.syntax import TextEdit


def written_tests(text: str, known: Collection[str]) -> Iterator[WrittenTest]:
    """Finds tests. `known`: names that runs reported, since a project may collect tests of other names."""
    if (tree := parse_or_none(text)) is None:
        return
    names = {*(name for name, _ in collected_tests(tree)), *known}
    stack: list[tuple[ast.stmt, str]] = [(node, "") for node in tree.body]
    while stack:
        node, scope = stack.pop()
        match node:
            case ast.ClassDef(name=name, body=body):
                stack += ((child, f"{scope}{name}::") for child in body)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if f"{scope}{node.name}" in names:
                    yield _written_test(f"{scope}{node.name}", node)
            case ast.If(body=body, orelse=rest) | ast.Try(body=body, orelse=rest):
                stack += ((child, scope) for child in (*body, *rest))


def _written_test(name: str, node: Function) -> WrittenTest:
    return WrittenTest(name, first_line(node), node.end_lineno or node.lineno)


def stands(text: str, function: str) -> bool:
    """Whether the text defines a test of this qualified name."""
    module = parse_or_none(text)
    return module is not None and any(True for _ in _spans(module.body, function.split("::")))


def cut_test(text: str, name: str) -> str:
    """Removes a test from a text; a text that does not parse stays as it is."""
    if (module := parse_or_none(text)) is None:
        return text
    lines = text.splitlines(keepends=True)
    for first, last in sorted(_spans(module.body, name.split("::")), reverse=True):
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first - 1 : last] = [f"{indent}pass\n"]
    return "".join(lines)


def _spans(body: list[ast.stmt], names: list[str]) -> Iterator[tuple[int, int]]:
    for node in body:
        if not isinstance(node, Function | ast.ClassDef) or node.name != names[0]:
            continue
        if len(names) > 1 and isinstance(node, ast.ClassDef):
            yield from _spans(node.body, names[1:])
        elif len(names) == 1:
            yield first_line(node), node.end_lineno or node.lineno


def expressions(text: str, lines: Collection[int]) -> list[str]:
    """The expressions that begin on the given lines."""
    if (tree := parse_or_none(text)) is None:
        return []
    return [
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and node.lineno in lines
    ]


def read_test_facts(path: str, text: str, name: str) -> TestFacts | None:
    """The facts of the named function, which is a test by any name; None if it is missing or a fixture."""
    files = Files({path: text})
    code = files.code(path)
    function = None if code is None else code.functions.get(name)
    if code is None or function is None or is_fixture(function):
        return None
    rows = sum(
        one.what.startswith("parametrize ") for one in read(text).assertions if is_in_scope(one.scope, name)
    )
    asserted = sum(1 for _ in reached_assertions(files, code, name))
    return TestFacts(asserted, rows, skip_of(name, marks(code.tree)))


@value
class _FunctionPlace:
    function: Function
    has_bases: bool
    """True if its class has a base: it may be a `TestCase`, which only knows unittest's decorators."""


def mark_skipped(text: str, name: str, why: str) -> str | None:
    """See `Language.with_skip`."""
    try:
        source = Source(text)
    except SyntaxError:
        return None
    places = [*_find_places(source.tree.body, name.partition("[")[0].split("::"))]
    if not places or foreign_encoding(text) is not None:
        return None
    running = [place for place in places if not any(map(_skips, place.function.decorator_list))]
    module = "unittest" if places[0].has_bases else "pytest"
    if not running:
        return text
    alias = _alias(source.tree, module, min(place.function.lineno for place in places))
    reason = quote_line(why)
    if declares_encoding(text):
        reason = reason.encode("ascii", "backslashreplace").decode()
    mark = f"skip({reason})" if module == "unittest" else f"mark.skip(reason={reason})"
    edits = [source.line_above(place.function, f"@{alias or module}.{mark}") for place in running]
    return source.apply([*([] if alias else [_import(source, module)]), *edits])


def _find_places(
    body: Sequence[ast.stmt], names: Sequence[str], *, has_bases: bool = False
) -> Iterator[_FunctionPlace]:
    for node in body:
        match node:
            case ast.ClassDef(name=name, bases=bases) if len(names) > 1 and name == names[0]:
                derives = any(last_name(base) != "object" for base in bases)
                yield from _find_places(node.body, names[1:], has_bases=derives)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if [name] == [*names]:
                yield _FunctionPlace(node, has_bases)
            case ast.If(body=inner, orelse=rest) | ast.Try(body=inner, orelse=rest):
                yield from _find_places([*inner, *rest], names, has_bases=has_bases)


def _skips(decorator: ast.expr) -> bool:
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "skip"


def _alias(tree: ast.Module, module: str, line: int) -> str | None:
    """The name of a module above this line; None if it is not imported, or only under a condition."""
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import) and node.lineno < line else ():
            if alias.name == module:
                return alias.asname or module
    return None


def _import(source: Source, module: str) -> TextEdit:
    """Adds an import in its place: before third-party imports, else after the last import, else on top."""
    new, blank = f"import {module}", source.line_end
    heads = [node for node in source.tree.body[:1] if is_docstring(node)]
    rest = source.tree.body[len(heads) :]
    while rest and isinstance(rest[0], ast.ImportFrom) and rest[0].module == "__future__":
        heads.append(rest.pop(0))
    imports: list[ast.stmt] = []
    while rest and isinstance(rest[0], ast.Import | ast.ImportFrom):
        imports.append(rest.pop(0))
    behind = [node for node in imports if module in sys.stdlib_module_names or not _is_standard(node)]
    if behind:
        return source.line_above(behind[0], new)
    if imports or heads:
        return source.line_below((imports or heads)[-1], f"{blank}{new}")
    return source.line_on_top(f"{new}{blank}{blank}")


def _is_standard(node: ast.stmt) -> bool:
    match node:
        case ast.ImportFrom(level=0, module=str(name)):
            return name.partition(".")[0] in sys.stdlib_module_names
        case ast.Import(names=names):
            return all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in names)
        case _:
            return False
