"""Where the tests of a Python file stand in its text, and what each tells: assertions, cases, skips."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.assertions import holds, skip_of
from verdigris.languages.findings import TestFacts, WrittenTest
from verdigris.languages.python.syntax import parse
from verdigris.languages.python.tests.code import Tests
from verdigris.languages.python.tests.file import collected_tests, is_fixture, read
from verdigris.languages.python.weakening.losses import marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from verdigris.languages.python.stubs.forms import Function


def written_tests(text: str, known: Collection[str]) -> Iterator[WrittenTest]:
    """Also those that only a project's own settings make tests, where a run has reported them."""
    try:
        tree = parse(text)
    except SyntaxError:
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
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return WrittenTest(name, first, node.end_lineno or node.lineno)


def stands(text: str, function: str) -> bool:
    """Whether a test of this qualified name is still written in its file."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(True for _ in _spans(module.body, function.split("::")))


def cut_test(text: str, name: str) -> str:
    """The text without this test; as it is where it does not parse."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    lines = text.splitlines(keepends=True)
    for first, last in sorted(_spans(module.body, name.split("::")), reverse=True):
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first - 1 : last] = [f"{indent}pass\n"]
    return "".join(lines)


def _spans(body: list[ast.stmt], names: list[str]) -> Iterator[tuple[int, int]]:
    for node in body:
        if (
            not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            or node.name != names[0]
        ):
            continue
        if len(names) > 1 and isinstance(node, ast.ClassDef):
            yield from _spans(node.body, names[1:])
        elif len(names) == 1:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield first, node.end_lineno or node.lineno


def expressions(text: str, lines: Collection[int]) -> list[str]:
    """Those that begin on the given lines."""
    try:
        tree = parse(text)
    except SyntaxError:
        return []
    return [
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and node.lineno in lines
    ]


def read_test_facts(path: str, text: str, name: str) -> TestFacts | None:
    """None for a fixture, and for what is not written there. A project may call its tests as it likes."""
    tests = Tests({path: text})
    code = tests.code(path)
    function = None if code is None else code.functions.get(name)
    if code is None or function is None or is_fixture(function):
        return None
    rows = sum(one.what.startswith("parametrize ") for one in read(text).assertions if holds(name, one.scope))
    return TestFacts(
        sum(1 for _ in tests.assertions(code, name)), rows, skip_of(name, marks(code.source.tree))
    )
