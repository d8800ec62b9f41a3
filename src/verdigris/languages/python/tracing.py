"""`PythonTracing`: reads lines and assertions of Python files, whose runs our reporter traces."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from verdigris.core.value import value
from verdigris.languages.protocol import lazy_modules
from verdigris.languages.python.syntax import shared_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.languages.python import imports, module_delta, syntax
    from verdigris.languages.python.stubs import forms
    from verdigris.languages.python.tests import shared_oracle
    from verdigris.languages.python.validation import vacuity
    from verdigris.languages.python.weakening import shared_losses

_FOLDER = "verdigris.languages.python"
P = ParamSpec("P")
R = TypeVar("R")

if not TYPE_CHECKING:
    imports, module_delta, syntax = lazy_modules(_FOLDER, "imports module_delta syntax")
    (forms,) = lazy_modules(f"{_FOLDER}.stubs", "forms")
    (shared_oracle,) = lazy_modules(f"{_FOLDER}.tests", "shared_oracle")
    (vacuity,) = lazy_modules(f"{_FOLDER}.validation", "vacuity")
    (shared_losses,) = lazy_modules(f"{_FOLDER}.weakening", "shared_losses")


def _forward(meant: Callable[[], Callable[P, R]]) -> staticmethod[P, R]:
    """A function of a module that is loaded when it is first called."""

    def call(*args: P.args, **named: P.kwargs) -> R:
        return meant()(*args, **named)

    return staticmethod(call)


class PythonTracing:
    """`Tracing`: each member is the function of another module, or stands below."""

    added_lines = _forward(lambda: syntax.added_lines)
    idle_lines = _forward(lambda: find_idle_lines)
    failing_at = _forward(lambda: failing_at)
    without_statement = _forward(lambda: without_statement)
    function_lines = _forward(lambda: function_lines)
    origin_of = _forward(lambda: origin_of)
    assertion_lines = _forward(lambda: vacuity.assertion_lines)
    compare_modules = _forward(lambda: module_delta.compare_modules)
    module_words = _forward(lambda: module_delta.module_words)
    name_lines = _forward(lambda: module_delta.name_lines)
    affected_tests = _forward(lambda: imports.list_affected)
    find_shared = _forward(lambda: shared_oracle.find_shared)
    judge_shared = _forward(lambda: shared_losses.judge_shared)
    idle_assertions = _forward(lambda: shared_losses.idle_assertions)


def failing_at(text: str, line: int) -> str | None:
    lines = text.splitlines(keepends=True)
    indent = lines[line - 1][: -len(lines[line - 1].lstrip())]
    lines.insert(line - 1, f"{indent}raise RuntimeError('made to fail')\n")
    failing = "".join(lines)
    return failing if syntax.parse_or_none(failing) is not None else None


def without_statement(text: str, line: int) -> str | None:
    tree = syntax.parse_or_none(text)
    nodes = () if tree is None else ast.walk(tree)
    found = [n for n in nodes if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or 0)]
    if not found:
        return None
    node = max(found, key=lambda one: one.lineno)
    lines = text.splitlines(keepends=True)
    indent = " " * node.col_offset
    changed = [*lines[: node.lineno - 1], f"{indent}pass\n", *lines[node.end_lineno :]]
    left = "".join(changed)
    return left if syntax.parse_or_none(left) is not None else None


def function_lines(text: str) -> frozenset[int]:
    tree = shared_tree(text)
    return frozenset(
        line
        for node in (() if tree is None else ast.walk(tree))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    )


def origin_of(text: str, name: str) -> Literal["own", "imported", "nothing"]:
    tree = shared_tree(text)
    if tree is None:
        return "own"
    empty = [node for node in ast.walk(tree) if _assigns_none(node)]
    unset = {id(target) for node in empty for target in ast.walk(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                if any((alias.asname or alias.name.split(".")[0]) in {name, "*"} for alias in aliases):
                    return "imported"
            case ast.FunctionDef(name=own) | ast.AsyncFunctionDef(name=own) | ast.ClassDef(name=own):
                if own == name:
                    return "own"
            case ast.Name(id=own, ctx=ast.Store()) if own == name and id(node) not in unset:
                return "own"
    return "nothing"


def _assigns_none(node: ast.AST) -> bool:
    match node:
        case (
            ast.Assign(value=ast.Constant(value=None)) | ast.AnnAssign(value=ast.Constant(value=None) | None)
        ):
            return True
        case _:
            return False


@value
class _StatementLines:
    first: int
    last: int
    """The last of its own lines, before the first line of its block."""
    end: int
    """The last line with its blocks."""
    asked: bool
    """True if a test should run it: it is no part for type checkers or programs, and no missing code."""


def find_idle_lines(text: str, added: frozenset[int], executed: frozenset[int]) -> Iterator[tuple[int, int]]:
    """The added lines that did not run, as pairs of first and last line; neighbours are joined."""
    run: tuple[int, int] | None = None
    for one in sorted(_statements(text), key=lambda one: one.first):
        ran = not executed.isdisjoint(range(one.first, one.end + 1))
        if one.asked and one.first in added and not ran:
            run = (one.first if run is None else run[0], one.last)
        elif run is not None and one.first > run[1]:
            yield run
            run = None
    if run is not None:
        yield run


def _statements(text: str) -> Iterator[_StatementLines]:
    if (tree := shared_tree(text)) is None:
        yield _StatementLines(1, 1, 1, asked=True)
        return
    stack: list[tuple[ast.AST, bool]] = [(node, True) for node in tree.body]
    while stack:
        node, asked = stack.pop()
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or node.lineno
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            head = max(node.lineno, _line(body[0]) - 1) if body else end
            yield _StatementLines(node.lineno, head, end, asked and not _says_it_is_missing(node))
            asked = asked and not (isinstance(node, ast.If) and forms.is_elsewhere(node.test))
        stack.extend((child, asked) for child in ast.iter_child_nodes(node))


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0) or getattr(getattr(node, "pattern", None), "lineno", 0))


def _says_it_is_missing(node: ast.stmt) -> bool:
    match node:
        case ast.Raise(exc=ast.Call(func=raised) | (ast.Name() | ast.Attribute() as raised)):
            return forms.last_name(raised) == "NotImplementedError"
        case _:
            return False
