"""`PythonTracing`: reads lines and assertions of Python files, whose runs our reporter traces."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from verdigris.core.value import value
from verdigris.languages.protocol import lazy_modules
from verdigris.languages.python.syntax import nodes_in, shared_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from verdigris.languages.python import elsewhere, imports, module_delta, syntax
    from verdigris.languages.python.tests import shared_oracle
    from verdigris.languages.python.validation import vacuity
    from verdigris.languages.python.weakening import shared_losses

_FOLDER = "verdigris.languages.python"
P = ParamSpec("P")
R = TypeVar("R")

if not TYPE_CHECKING:
    elsewhere, imports, module_delta, syntax = lazy_modules(_FOLDER, "elsewhere imports module_delta syntax")
    (shared_oracle,) = lazy_modules(f"{_FOLDER}.tests", "shared_oracle")
    (vacuity,) = lazy_modules(f"{_FOLDER}.validation", "vacuity")
    (shared_losses,) = lazy_modules(f"{_FOLDER}.weakening", "shared_losses")


_FAIL = "raise RuntimeError('made to fail')"


def _forward(meant: Callable[[], Callable[P, R]]) -> staticmethod[P, R]:
    """A function of a module that is loaded when it is first called."""

    def call(*args: P.args, **named: P.kwargs) -> R:
        return meant()(*args, **named)

    return staticmethod(call)


class PythonTracing:
    """`Tracing`: each member is the function of another module, or stands below."""

    added_lines = _forward(lambda: find_added_lines)
    foreign_lines = _forward(lambda: find_foreign_lines)
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
    """Puts a statement that fails before the line, or into it: after `else:`, or as condition of `elif`."""
    lines = text.splitlines(keepends=True)
    indent = lines[line - 1][: -len(lines[line - 1].lstrip())]
    above = [*lines[: line - 1], f"{indent}{_FAIL}\n", *lines[line - 1 :]]
    texts = ("".join(above), *_failing_within(text, line))
    return next((failing for failing in texts if syntax.parse_or_none(failing) is not None), None)


def _failing_within(text: str, line: int) -> Iterator[str]:
    tree = shared_tree(text)
    for node in (one for one in nodes_in(tree or ast.Module([], [])) if getattr(one, "lineno", 0) == line):
        if isinstance(node, ast.stmt):
            yield _replace_span(text, (line, node.col_offset), (line, node.col_offset), f"{_FAIL}; ")
        if isinstance(node, ast.If):
            end = node.test.end_lineno or line, node.test.end_col_offset or 0
            yield _replace_span(text, (node.test.lineno, node.test.col_offset), end, f'exec("{_FAIL}")')


def _replace_span(text: str, start: tuple[int, int], end: tuple[int, int], new: str) -> str:
    """`start`, `end`: line, and column in bytes, as the tree of the text has them."""
    lines = [line.encode("utf-8", "surrogateescape") for line in syntax.split_lines(text)]
    head = [*lines[: start[0] - 1], lines[start[0] - 1][: start[1]]]
    tail = [lines[end[0] - 1][end[1] :], *lines[end[0] :]]
    return b"".join((*head, new.encode(), *tail)).decode("utf-8", "surrogateescape")


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


def find_added_lines(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, frozenset[int]]:
    """First lines of new statements that a test could run here."""
    return {
        path: lines - unasked.never - unasked.elsewhere
        for path, lines in syntax.added_lines(before, after).items()
        for unasked in [_unasked_lines(after[path])]
    }


def find_foreign_lines(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, frozenset[int]]:
    """First lines of new statements that run only on other machines."""
    added = syntax.added_lines(before, after)
    return {path: lines & _unasked_lines(after[path]).elsewhere for path, lines in added.items()}


def _unasked_lines(text: str) -> elsewhere.UnaskedLines:
    tree = shared_tree(text)
    return elsewhere.find_unasked_lines(ast.Module([], []) if tree is None else tree)


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


def find_idle_lines(text: str, added: frozenset[int], executed: frozenset[int]) -> Iterator[tuple[int, int]]:
    """The added lines that did not run, as pairs of first and last line; neighbours are joined."""
    run: tuple[int, int] | None = None
    for one in sorted(_statements(text), key=lambda one: one.first):
        ran = not executed.isdisjoint(range(one.first, one.end + 1))
        if one.first in added and not ran:
            run = (one.first if run is None else run[0], one.last)
        elif run is not None and one.first > run[1]:
            yield run
            run = None
    if run is not None:
        yield run


def _statements(text: str) -> Iterator[_StatementLines]:
    if (tree := shared_tree(text)) is None:
        yield _StatementLines(1, 1, 1)
        return
    for node in nodes_in(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or node.lineno
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            head = max(node.lineno, _line(body[0]) - 1) if body else end
            yield _StatementLines(node.lineno, head, end)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0) or getattr(getattr(node, "pattern", None), "lineno", 0))
