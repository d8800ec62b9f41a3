"""What an assertion that is a statement, a call or a context becomes so that honest code fails it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.core.opposite import Change, deaf, negated, opposites, other_literal, shown
from verdigris.core.perturb import MARK, changed
from verdigris.core.stubforms import last_name
from verdigris.core.testcode import leaves
from verdigris.core.textedit import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.testcode import Standing

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
_PAIRS: dict[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertIn": ast.In,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
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
    **dict.fromkeys(("raises", "assertRaises", "assertRaisesRegex"), "BufferError"),
    **dict.fromkeys(("warns", "assertWarns", "assertWarnsRegex"), "BytesWarning"),
}
_TYPES = frozenset({"expected_exception", "expected_warning", "exception", "warning"})
_TOLERANCES = frozenset({"delta", "places", "rtol", "atol", "decimal"})


def changes(at: Standing) -> Iterator[Change]:
    """Each stands for itself; none where failing is all that the statement can do."""
    match at.node:
        case ast.Assert(test=test):
            yield from opposites(at, test)
        case ast.Expr(value=ast.Await(value=ast.Call() as call)) | ast.Expr(value=ast.Call() as call):
            yield from _call(at, call)
        case ast.Expr():
            yield _never(at)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
            known = [change for call in calls for change in _raising(at, call)]
            yield from known or [_never_after(at, ", ".join(map(ast.unparse, calls)))]


def _call(at: Standing, call: ast.Call) -> Iterator[Change]:
    name = last_name(call.func)
    if name in _UNRELATED:
        yield from _raising(at, call)
    elif name == "assertTrue" and call.args:
        yield from opposites(at, call.args[0])
    elif name == "assertFalse" and call.args:
        yield negated(at, call.args[0])
    elif name in _ARGUMENTS:
        yield _other_arguments(at, call)
    elif name != "fail":
        yield _two_sides(at, call, name) or _contrary(at, call, name) or _never(at)


def _two_sides(at: Standing, call: ast.Call, name: str) -> Change | None:
    if len(call.args) < 2:  # noqa: PLR2004 - two sides
        return None
    left, right = call.args[:2]
    if name in _EQUALITIES:
        slack = _slack(call)
        sides = () if slack is None else (right, left)
        literal = next((c for side in sides if (c := other_literal(at, side, slack or 0))), None)
        if literal is not None:
            return literal
    op = _PAIRS.get(name)
    new = None if op is None else deaf(at, op, left, right)
    if new is None:
        return None
    return Change(f"{shown(at.code.source.segment(call))} → with what equals nothing", (_asserted(at, new),))


def _slack(call: ast.Call) -> float | None:
    """None where the tolerance is not written there."""
    total = 0.0
    for keyword in call.keywords:
        if keyword.arg in _TOLERANCES:
            match keyword.value:
                case ast.Constant(value=int() | float() as size):
                    total += size
                case _:
                    return None
    return total


def _contrary(at: Standing, call: ast.Call, name: str) -> Change | None:
    if name not in _OPPOSITES or not isinstance(call.func, ast.Attribute):
        return None
    end = at.code.source.replaced(call.func, "").end
    return Change(f"{name} → {_OPPOSITES[name]}", (Edit(end - len(name), end, _OPPOSITES[name]),))


def _other_arguments(at: Standing, call: ast.Call) -> Change:
    source = at.code.source
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    for node in given:
        literal = changed(node, source)
        if literal is not None:
            what = f"{shown(source.text[literal.start : literal.end])} → {shown(literal.new)}"
            return Change(what, (literal,))
    start = source.text.index("(", source.replaced(call.func, "").end) + 1
    more = Edit(start, start, f"{MARK!a}, " if given else ascii(MARK))
    return Change(f"{shown(source.segment(call))} → with one more argument", (more,))


def _raising(at: Standing, call: ast.Call) -> Iterator[Change]:
    name, source = last_name(call.func), at.code.source
    if name not in _UNRELATED:
        return
    named = [keyword.value for keyword in call.keywords if keyword.arg in _TYPES]
    for node in [*call.args[:1], *named][:1]:
        edit = source.replaced(node, _UNRELATED[name])
        yield Change(f"{shown(source.segment(node))} → {edit.new}", (edit,))
    matched = [keyword.value for keyword in call.keywords if keyword.arg in {"match", "expected_regex"}]
    for node in [*matched, *(call.args[1:2] if name.endswith("Regex") else ())]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            edit = source.replaced(node, ascii(_other_pattern(node.value)))
            yield Change(f"{shown(source.segment(node))} → {shown(edit.new)}", (edit,))


def _other_pattern(pattern: str) -> str:
    """As plain text where it is that, so that code which echoes it is found out."""
    return pattern + MARK if re.fullmatch(r"[^.^$*+?{}\[\]\\|()]*", pattern) else f"(?:{pattern}){MARK}"


def _never(at: Standing) -> Change:
    """Also what no rule knows: it must be reached, and a failure there must count."""
    text = at.code.source.segment(at.node)
    return Change(f"{shown(text)} → its opposite", (_asserted(at, f"(({text}), False)[1]"),))


def _never_after(at: Standing, what: str) -> Change:
    edit = at.code.source.after(at.node, "assert False")
    return Change(f"with {shown(what)} → its opposite", (edit,), guarded=leaves(at.node))


def _asserted(at: Standing, test: str) -> Edit:
    return at.code.source.replaced(at.node, f"assert {test}")
