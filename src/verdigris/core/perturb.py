"""Another literal in place of one, such that honest code is not equal to it."""

from __future__ import annotations

import ast
import cmath
import contextlib
from typing import TYPE_CHECKING

from verdigris.core.stubforms import last_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.textedit import Edit, Source

FAR = 1_000_003
MARK = "~x"
"""Plain enough to be written into any literal, so that whoever reads the text is deceived like the code."""
_ANY_SIZE = 0.5
"""A relative tolerance from which on three times a number may still be equal to it."""
_EMPTY = {"[": ascii([MARK]), "(": ascii((MARK,)), "{": ascii({MARK: None})}
_MAKERS = frozenset(
    {"approx", "set", "frozenset", "list", "tuple", "dict", "bytearray", "deque", "OrderedDict", "array"}
)
"""Calls that are equal exactly when their arguments are; of any other call we cannot know."""


def changed(node: ast.expr, source: Source, slack: float = 0) -> Edit | None:
    """None where no literal decides what the expression equals. `slack`: how near may count as equal."""
    match node:
        case ast.Constant(value=str() | bytes() as old):
            return source.replaced(node, _longer(old, source.segment(node)))
        case ast.Constant(value=old):
            return source.replaced(node, _other(old, slack))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as old)):
            return source.replaced(node, _other(-old, slack))
        case ast.JoinedStr():
            return source.replaced(node, f"({source.segment(node)} {MARK!a})")
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return source.replaced(node, _EMPTY[source.segment(node)[0]])
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return _first(parts, source, slack)
        case ast.Dict(keys=keys, values=values):
            return _first([*values, *filter(None, keys)], source, slack)
        case ast.Call(func=func, args=args, keywords=keywords) if last_name(func) in _MAKERS:
            return _made(node, last_name(func), args, keywords, source)
        case _:
            return None


def _first(parts: Iterable[ast.expr], source: Source, slack: float) -> Edit | None:
    return next((edit for part in parts if (edit := changed(part, source, slack)) is not None), None)


def _made(
    node: ast.Call, maker: str, args: list[ast.expr], keywords: list[ast.keyword], source: Source
) -> Edit | None:
    if maker == "approx":
        slack = _slack(args[1:], keywords)
        return None if slack is None else _first(args[:1], source, slack)
    if maker == "set" and not args:
        return source.replaced(node, ascii({MARK}))
    return _first([*args[:1], *(keyword.value for keyword in keywords)], source, 0)


def _slack(args: list[ast.expr], keywords: list[ast.keyword]) -> float | None:
    """The absolute tolerance; None where it is not written there, or where a relative one has no far side."""
    given = dict(zip(("rel", "abs"), args, strict=False)) | {k.arg: k.value for k in keywords if k.arg}
    relative, absolute = (_size(given.get(name)) for name in ("rel", "abs"))
    return None if relative is None or relative >= _ANY_SIZE else absolute


def _size(node: ast.expr | None) -> float | None:
    match node:
        case None | ast.Constant(value=None):
            return 0.0
        case ast.Constant(value=int() | float() as size):
            return size
        case _:
            return None


def _longer(old: str | bytes, written: str) -> str:
    """In the quotes that it has, where it is one literal."""
    new = old + MARK if isinstance(old, str) else old + MARK.encode()
    quotes = written[-3:] if written.endswith(('"""', "'''")) else written[-1:]
    longer = f"{written.removesuffix(quotes)}{MARK}{quotes}"
    with contextlib.suppress(SyntaxError, ValueError):
        if ast.literal_eval(longer) == new:
            return longer
    return ascii(new)


def _other(old: object, slack: float) -> str:
    match old:
        case bool():
            return repr(not old)
        case int() | float():
            return _number(old, slack)
        case complex():
            return repr(old + FAR)
        case None:
            return "True"
        case _:
            return "None"


def _number(old: float, slack: float) -> str:
    """Far away on its own side of zero, farther than a relative or absolute tolerance reaches."""
    far = FAR + int(10 * slack)
    new = 3 * old + (-far if old < 0 else far)
    return repr(new) if cmath.isfinite(new) else "0.0"
