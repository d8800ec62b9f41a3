"""Changes assertions that are statements, calls or contexts, so that honest code fails them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.languages.python.liveness.near_values import ValueSource
from verdigris.languages.python.liveness.opposites import (
    Choice,
    ExpressionChange,
    negate,
    opposites,
    other_items,
    other_literal,
    replace_side,
    shorten,
)
from verdigris.languages.python.liveness.values import other_value_edits
from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.syntax import TextEdit
from verdigris.languages.python.tests.code import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.tests.code import AssertionPlace

_CONTRARY = (
    ("assertIsNone", "assertIsNotNone"),
    ("assertIs", "assertIsNot"),
    ("assertIn", "assertNotIn"),
    ("assertEqual", "assertNotEqual"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertRegex", "assertNotRegex"),
    ("assert_called", "assert_not_called"),
    ("assert_awaited", "assert_not_awaited"),
)
_OPPOSITES = {
    **dict(_CONTRARY),
    **{other: one for one, other in _CONTRARY},
    "assert_called_once": "assert_not_called",
    "assert_awaited_once": "assert_not_awaited",
}
_EQUALITIES = frozenset(
    {
        *("assertEqual", "assertAlmostEqual", "assertCountEqual", "assertDictEqual", "assertListEqual"),
        *("assertMultiLineEqual", "assertSequenceEqual", "assertSetEqual", "assertTupleEqual"),
        *("assert_equal", "assert_array_equal", "assert_allclose", "assert_almost_equal"),
    }
)
_ARGUMENTS = frozenset(
    {
        *("assert_called_with", "assert_called_once_with", "assert_any_call"),
        *("assert_awaited_with", "assert_awaited_once_with", "assert_any_await"),
    }
)
_UNRELATED = {
    **dict.fromkeys(
        ("raises", "assertRaises", "assertRaisesRegex"),
        ("BufferError", "EOFError", "FloatingPointError", "MemoryError", "ReferenceError"),
    ),
    **dict.fromkeys(
        ("warns", "assertWarns", "assertWarnsRegex"), ("BytesWarning", "UnicodeWarning", "ImportWarning")
    ),
}
"""Exceptions and warnings that a project's own classes do not derive from."""
_TYPES = frozenset({"expected_exception", "expected_warning", "exception", "warning"})
_TOLERANCES = frozenset({"delta", "places", "rtol", "atol", "decimal"})
_PLACES = 1e-6
"""The default tolerance of tools that compare approximately."""
_PLAIN_PATTERN = re.compile(r"[^.^$*+?{}\[\]\\|()]*")
_WORD = "'word'"
"""A pattern must be longer than this to be changed."""


def changes(at: AssertionPlace, draw: ValueSource) -> Iterator[Choice]:
    """The changes of an assertion; none if the statement can only fail."""
    match at.node:
        case ast.Assert(test=test):
            yield from opposites(at, test, draw)
        case ast.Expr(value=ast.Await(value=ast.Call() as call)) | ast.Expr(value=ast.Call() as call):
            yield from _change_call(at, call, draw)
        case ast.Expr():
            yield Choice((add_failure(at),))
        case ast.With(items=items) | ast.AsyncWith(items=items):
            calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
            known = [choice for call in calls for choice in _change_raises(at, call, draw)]
            yield from known or [Choice((add_failure(at),))]


def add_failure(at: AssertionPlace) -> ExpressionChange:
    """Adds a failure after the assertion: a test that reaches it fails, unless the failure is caught."""
    edit = at.code.source.after(at.node, "assert False")
    guarded = isinstance(at.node, ast.With | ast.AsyncWith) and leaves(at.node)
    return ExpressionChange(
        f"{shorten(at.code.source.segment(at.node))} → a failure after it", (edit,), guarded
    )


def _change_call(at: AssertionPlace, call: ast.Call, draw: ValueSource) -> Iterator[Choice]:
    name = last_name(call.func)
    if name in _UNRELATED:
        yield from _change_raises(at, call, draw)
    elif name == "assertTrue" and call.args:
        yield from opposites(at, call.args[0], draw)
    elif name == "assertFalse" and call.args:
        yield negate(at, call.args[0])
    elif name in _ARGUMENTS:
        yield _other_arguments(at, call, draw)
    elif name != "fail":
        yield (
            _change_sides(at, call, name, draw)
            or _change_to_opposite_method(at, call, name)
            or Choice((add_failure(at),))
        )


def _change_sides(at: AssertionPlace, call: ast.Call, name: str, draw: ValueSource) -> Choice | None:
    if len(call.args) < 2:  # noqa: PLR2004 - two sides
        return None
    left, right = call.args[:2]
    if name in _EQUALITIES:
        slack = _tolerance_of_call(call, name)
        sides = () if slack is None else (right, left)
        literal = next((c for side in sides if (c := other_literal(at, side, draw, slack or 0))), None)
        return literal or (replace_side(at, left, right, draw) if name == "assertEqual" else None)
    return other_items(at, right, draw) if name == "assertIn" else None


def _tolerance_of_call(call: ast.Call, name: str) -> float | None:
    """The tolerance of a call that compares numbers; None if the text does not show it."""
    total = _PLACES if "Almost" in name or "almost" in name or "close" in name else 0.0
    for keyword in call.keywords:
        if keyword.arg in _TOLERANCES:
            match keyword.value:
                case ast.Constant(value=int() | float() as size):
                    digits = keyword.arg in {"places", "decimal"}
                    total += 10.0**-size if digits else 100 * size if keyword.arg == "rtol" else size
                case _:
                    return None
    return total


def _change_to_opposite_method(at: AssertionPlace, call: ast.Call, name: str) -> Choice | None:
    if name not in _OPPOSITES or not isinstance(call.func, ast.Attribute):
        return None
    end = at.code.source.replace_node(call.func, "").end
    edit = TextEdit(end - len(name), end, _OPPOSITES[name])
    return Choice((ExpressionChange(f"{name} → {edit.new}", (edit,)),))


def _other_arguments(at: AssertionPlace, call: ast.Call, draw: ValueSource) -> Choice:
    source = at.code.source
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    for node in draw.random.sample(given, len(given)):
        edits = other_value_edits(node, source, draw)
        if edits:
            old = shorten(source.segment(node))
            return Choice(tuple(ExpressionChange(f"{old} → {shorten(edit.new)}", (edit,)) for edit in edits))
    start = source.text.index("(", source.replace_node(call.func, "").end) + 1
    one = repr((draw.any_values() or [draw.random.randint(1, 9)])[0])
    more = TextEdit(start, start, f"{one}, " if given else one)
    return Choice((ExpressionChange(f"{shorten(source.segment(call))} → with one more argument", (more,)),))


def _change_raises(at: AssertionPlace, call: ast.Call, draw: ValueSource) -> Iterator[Choice]:
    name, source = last_name(call.func), at.code.source
    if name not in _UNRELATED:
        return
    named = [keyword.value for keyword in call.keywords if keyword.arg in _TYPES]
    for node in [*call.args[:1], *named][:1]:
        old = source.segment(node)
        new = draw.random.choice([kind for kind in _UNRELATED[name] if kind not in old])
        yield Choice((ExpressionChange(f"{shorten(old)} → {new}", (source.replace_node(node, new),)),))
    matched = [keyword.value for keyword in call.keywords if keyword.arg in {"match", "expected_regex"}]
    for node in [*matched, *(call.args[1:2] if name.endswith("Regex") else ())]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _other_pattern(at, node, node.value, draw)


def _other_pattern(at: AssertionPlace, node: ast.expr, pattern: str, draw: ValueSource) -> Iterator[Choice]:
    """Changes a pattern in two ways: a message may match one misspelling by chance, but not both."""
    if not _PLAIN_PATTERN.fullmatch(pattern):
        return
    edits = [
        edit
        for edit in other_value_edits(node, at.code.source, ValueSource(draw.random))
        if len(edit.new) > len(_WORD)
    ]
    if len(edits) > 1:
        what = shorten(at.code.source.segment(node))
        yield Choice(
            tuple(ExpressionChange(f"{what} → {shorten(e.new)}", (e,)) for e in edits[:2]), joint=True
        )
