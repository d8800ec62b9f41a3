"""The assertions that a test reaches: its own, and those of the helpers and bases that it calls."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import nodes_in
from verdigris.languages.python.tests import is_assertion, walk_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.languages.python.tests.code import Code, Files

_CATCHING = frozenset({"suppress", "raises", "assertRaises"})
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
BROAD = frozenset({"Exception", "BaseException", "AssertionError"})


@value
class AssertionPlace:
    code: Code
    function: Function
    node: ast.stmt
    guarded: bool
    """True if the test may rightly pass without it: it is in a branch, a loop, or inside a `try`."""


@value
class _Where:
    guarded: bool

    def after(self, node: ast.stmt) -> _Where:  # noqa: ARG002 - each statement that may leave guards alike
        return _GUARDED


_GUARDED = _Where(guarded=True)


def reached_assertions(
    files: Files, code: Code, function: str, *, guarded: bool = False, seen: frozenset[object] = frozenset()
) -> Iterator[AssertionPlace]:
    """The assertions that a call of a function runs; inherited ones are those of the given class."""
    place = files.function(code, function)
    if place is None or place in seen:
        return
    there, name = place
    node = there.functions[name]
    for stmt, where in walk_statements(node.body, _Where(guarded), _blocks):
        helpers = []
        for call, direct in _calls(stmt):
            helper = files.called(place, call, within=(code, function))
            if helper is not None:
                unsure = where.guarded or not direct
                reached = [*reached_assertions(files, *helper, guarded=unsure, seen=seen | {place})]
                yield from reached
                helpers += [call] if reached else []
        if is_assertion(stmt) and not _is_call_of(stmt, helpers):
            yield AssertionPlace(there, node, stmt, where.guarded)


def _blocks(node: ast.stmt, where: _Where) -> Iterator[tuple[Sequence[ast.stmt], _Where]]:
    match node:
        case ast.With(body=body, items=items) | ast.AsyncWith(body=body, items=items):
            contexts = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
            inside = _GUARDED if any(map(_swallows, contexts)) else where
            if any(last_name(context.func) in _RAISING for context in contexts):
                # The last statement is expected to raise, so its changed form may raise as well: guarded.
                yield from ((body[:-1], inside), (body[-1:], _GUARDED))
            else:
                yield body, inside
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            yield body, _GUARDED if handlers else where
            yield from ((block, _GUARDED) for block in (*(handler.body for handler in handlers), orelse))
            yield finalbody, where
        case ast.Match(cases=cases):
            yield from ((case.body, _GUARDED) for case in cases)
        case _:
            yield from ((getattr(node, part, []), _GUARDED) for part in ("body", "orelse"))


def _swallows(context: ast.Call) -> bool:
    """Whether this context may catch a failed assertion in its block."""
    parts = (part for arg in context.args for part in nodes_in(arg))
    named = {last_name(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)}
    return last_name(context.func) in _CATCHING and bool(named & BROAD)


def _calls(stmt: ast.stmt) -> Iterator[tuple[ast.Call, bool]]:
    """The calls in a statement, not in its blocks; and whether each is made whenever the statement runs."""
    if isinstance(stmt, Function | ast.ClassDef):
        return
    direct = getattr(stmt, "value", None)
    direct = direct.value if isinstance(direct, ast.Await) else direct
    own = (child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.expr | ast.withitem))
    for child in own:
        yield from ((node, node is direct) for node in nodes_in(child) if isinstance(node, ast.Call))


def _is_call_of(stmt: ast.stmt, helpers: list[ast.Call]) -> bool:
    """Whether a statement only calls a helper whose own assertions were found."""
    value = getattr(stmt, "value", None)
    return any(value is call or getattr(value, "value", None) is call for call in helpers)
