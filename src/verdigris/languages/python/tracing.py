"""`PythonTracing`: reads lines and assertions of Python files, whose runs our reporter traces."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.protocol import lazy_modules
from verdigris.languages.python.syntax import shared_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.core.reuse.facts import ModuleDelta, ModuleWords
    from verdigris.languages.findings import TestText
    from verdigris.languages.literals import Chance
    from verdigris.languages.python import imports, module_delta, syntax
    from verdigris.languages.python.stubs import forms
    from verdigris.languages.python.tests import shared_oracle
    from verdigris.languages.python.validation import vacuity
    from verdigris.languages.python.weakening import shared_losses
    from verdigris.languages.tracing import SharedLosses, SharedOracle

_FOLDER = "verdigris.languages.python"

if not TYPE_CHECKING:
    imports, module_delta, syntax = lazy_modules(_FOLDER, "imports module_delta syntax")
    (forms,) = lazy_modules(f"{_FOLDER}.stubs", "forms")
    (shared_oracle,) = lazy_modules(f"{_FOLDER}.tests", "shared_oracle")
    (vacuity,) = lazy_modules(f"{_FOLDER}.validation", "vacuity")
    (shared_losses,) = lazy_modules(f"{_FOLDER}.weakening", "shared_losses")


class PythonTracing:
    def added_lines(
        self, before: Mapping[str, str], after: Mapping[str, str]
    ) -> Mapping[str, frozenset[int]]:
        return syntax.added_lines(before, after)

    def idle_lines(
        self, text: str, added: frozenset[int], executed: frozenset[int]
    ) -> Iterator[tuple[int, int]]:
        return find_idle_lines(text, added, executed)

    def failing_at(self, text: str, line: int) -> str | None:
        lines = text.splitlines(keepends=True)
        indent = lines[line - 1][: -len(lines[line - 1].lstrip())]
        lines.insert(line - 1, f"{indent}raise RuntimeError('made to fail')\n")
        made = "".join(lines)
        return made if syntax.parse_or_none(made) is not None else None

    def function_lines(self, text: str) -> frozenset[int]:
        tree = shared_tree(text)
        return frozenset(
            line
            for node in (() if tree is None else ast.walk(tree))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        )

    def assertion_lines(self, test: TestText) -> tuple[tuple[str, int], ...]:
        return vacuity.assertion_lines(test)

    def compare_modules(self, before: str, after: str) -> ModuleDelta | None:
        return module_delta.compare_modules(before, after)

    def module_words(self, text: str) -> ModuleWords | None:
        return module_delta.module_words(text)

    def name_lines(self, text: str, lines: Iterable[int]) -> dict[int, str] | None:
        return module_delta.name_lines(text, lines)

    def affected_tests(
        self,
        passed: Iterable[str],
        tests: Mapping[str, str],
        before: Mapping[str, str],
        after: Mapping[str, str],
        random: Chance,
    ) -> tuple[str, ...]:
        return imports.list_affected(passed, tests, before, after, random)

    def find_shared(
        self, tests: Mapping[str, str], sources: Mapping[str, str], claimed: Iterable[str] | None
    ) -> tuple[SharedOracle, ...]:
        return shared_oracle.find_shared(tests, sources, claimed)

    def judge_shared(
        self, before: Mapping[str, str], after: Mapping[str, str], shared: Iterable[SharedOracle]
    ) -> SharedLosses:
        return shared_losses.judge_shared(before, after, shared)

    def idle_assertions(
        self, sources: Mapping[str, str], shared: Iterable[SharedOracle], ran: Mapping[str, frozenset[int]]
    ) -> tuple[str, ...]:
        return shared_losses.idle_assertions(sources, shared, ran)


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
