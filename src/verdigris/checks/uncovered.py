"""Which new lines of source no test was seen to run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.lines import added_lines
from verdigris.languages.python.parsed import parse
from verdigris.languages.python.stubforms import last_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

UNASKED = "no test was seen to run "
"""Before a place, where that refuses a verdict."""


@value
class _Statement:
    first: int
    last: int
    """Of its own lines: a block's begin after its head."""
    end: int
    """With its blocks."""
    asked: bool
    """A test could run it, and would."""


def uncovered(
    before: Mapping[str, str | None], after: Mapping[str, str], executed: Mapping[str, Collection[int]]
) -> tuple[str, ...]:
    """As `src/x.py:12-14`. `executed`: by path of each file that was watched, the lines that ran."""
    added = added_lines({path: text for path, text in before.items() if text is not None}, after)
    return tuple(
        f"{path}:{first}" if first == last else f"{path}:{first}-{last}"
        for path, lines in added.items()
        if path in executed
        for first, last in _idle(after[path], lines, frozenset(executed[path]))
    )


def _idle(text: str, added: frozenset[int], executed: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Neighbours are told together, with what stands between them."""
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


def _statements(text: str) -> Iterator[_Statement]:
    try:
        tree = parse(text)
    except SyntaxError:
        yield _Statement(1, 1, 1, asked=True)
        return
    stack: list[tuple[ast.AST, bool]] = [(node, True) for node in tree.body]
    while stack:
        node, asked = stack.pop()
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or node.lineno
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            head = max(node.lineno, _line(body[0]) - 1) if body else end
            yield _Statement(node.lineno, head, end, asked and not _says_it_is_missing(node))
            asked = asked and not (isinstance(node, ast.If) and _is_elsewhere(node.test))
        stack.extend((child, asked) for child in ast.iter_child_nodes(node))


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0) or getattr(getattr(node, "pattern", None), "lineno", 0))


def _says_it_is_missing(node: ast.stmt) -> bool:
    match node:
        case ast.Raise(exc=ast.Call(func=raised) | (ast.Name() | ast.Attribute() as raised)):
            return last_name(raised) == "NotImplementedError"
        case _:
            return False


def _is_elsewhere(test: ast.expr) -> bool:
    """What runs only for a type checker, or where the module is the program."""
    return "__main__" in ast.unparse(test) or last_name(test) == "TYPE_CHECKING"
