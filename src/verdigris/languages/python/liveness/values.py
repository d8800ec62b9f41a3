"""Finds other plausible values for a literal: of its type, near it, never equal to it."""

from __future__ import annotations

import ast
import contextlib
import re
import string
from typing import TYPE_CHECKING

from verdigris.languages.python.liveness.near_values import (
    _ANY_SIZE,
    _RELATIVE,
    ValueSource,
    _is_member,
    _other_digit,
    _other_texts,
    _other_values,
)
from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.syntax import is_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.languages.python.syntax import Source, TextEdit

DRAWS = 3
"""The most other values for one literal."""
_SETS = frozenset({"set", "frozenset"})
_NUMBERS = frozenset({"Decimal", "Fraction"})
_MAKERS = frozenset({"approx", "list", "tuple", "dict", "bytearray", "deque", "OrderedDict", "array"})
"""Calls whose results are equal exactly if their arguments are; of other calls this is not known."""


def other_value_edits(
    node: ast.expr, source: Source, draw: ValueSource, slack: float = 0, apart: Iterable[object] = ()
) -> list[TextEdit]:
    """Edits that each make another value; none if no literal decides what the node equals.

    `slack`: the tolerance. `apart`: other values that one object may rightly equal.
    """
    new = list(_texts(node, source, draw, slack, frozenset(map(repr, apart))))
    kept = dict.fromkeys(text for text in new if text != source.segment(node))
    return [source.replace_node(node, text) for text in list(kept)[:DRAWS]]


def _texts(
    node: ast.expr, source: Source, draw: ValueSource, slack: float, apart: frozenset[str]
) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() | bytes() as old):
            yield from (_spell_as(old, new, source.segment(node)) for new in _other_texts(old, draw, apart))
        case ast.Constant(value=old):
            yield from map(repr, _other_values(old, draw, slack, apart))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as old)):
            yield from map(repr, _other_values(-old, draw, slack, apart))
        case ast.JoinedStr():
            letter = draw.random.choice(string.ascii_lowercase)
            yield f"({source.segment(node)} {letter!r})"
        case ast.Attribute(value=ast.Name(id=owner), attr=member) if _is_member(owner, member):
            yield from (f"{owner}.{other}" for other in draw.members(owner, member))
        case ast.BinOp() if not slack and _computes_with_integers(node):
            yield from (f"({source.segment(node)} {sign} 1)" for sign in draw.random.sample(["+", "-"], 2))
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            yield from _other_items(node, parts, source, draw, slack)
        case ast.Dict(keys=keys, values=values):
            yield from _other_entries(node, keys, values, source, draw, slack)
        case ast.Call(func=func, args=args, keywords=keywords):
            yield from _other_calls(node, last_name(func), args, keywords, source, draw)


def _computes_with_integers(node: ast.BinOp) -> bool:
    """Whether an expression computes with integers, as far as its text shows: then plus one changes it."""
    within = [part for part in ast.walk(node) if isinstance(part, ast.BinOp)]
    sides = [side for part in within for side in (part.left, part.right)]
    written = [side.value for side in sides if isinstance(side, ast.Constant)]
    made = any(isinstance(side, ast.List | ast.Tuple | ast.JoinedStr | ast.Set | ast.Dict) for side in sides)
    whole = all(isinstance(part.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod) for part in within)
    return whole and not made and bool(written) and all(type(value) is int for value in written)


def _other_items(
    node: ast.expr, parts: Sequence[ast.expr], source: Source, draw: ValueSource, slack: float
) -> Iterator[str]:
    if not parts:
        opening, closing = source.segment(node)[0], source.segment(node)[-1]
        item = repr((draw.any_values() or [draw.random.randint(1, 9)])[0])
        yield f"{opening}{item}{',' if opening == '(' else ''}{closing}"
        return
    known = {source.segment(part) for part in parts}
    yield from _with_part_changed(node, parts, source, draw, slack, known)
    spellings = [source.segment(part) for part in parts]
    # Two items that are made by calls may be equal, so only literal items are dropped.
    known_items = all(map(is_literal, parts))
    droppable = [n for n, spelt in enumerate(spellings) if known_items and spellings.count(spelt) == 1]
    if len(parts) > 1 and droppable:
        yield _without_part(node, parts, draw.random.choice(droppable), source)


def _other_entries(
    node: ast.expr,
    keys: Sequence[ast.expr | None],
    values: Sequence[ast.expr],
    source: Source,
    draw: ValueSource,
    slack: float,
) -> Iterator[str]:
    """Changes values and keys of a dict. It drops no entry: a counter equals one without its zeros."""
    if not values:
        yield "{" + repr((draw.values(str) or ["a"])[0]) + ": " + repr(draw.random.randint(1, 9)) + "}"
        return
    made = list(_with_part_changed(node, values, source, draw, slack, set()))
    known = {source.segment(key) for key in keys if key is not None}
    made += _with_part_changed(node, [key for key in keys if key is not None], source, draw, 0, known)
    yield from made


def _with_part_changed(
    node: ast.expr,
    parts: Sequence[ast.expr],
    source: Source,
    draw: ValueSource,
    slack: float,
    known: set[str],
) -> Iterator[str]:
    """The text of the node with one of its parts changed; `known`: parts that it must not become."""
    base, _ = _span(node, source)
    text = source.segment(node)
    found: list[list[str]] = []
    for part in draw.random.sample(list(parts), len(parts)):
        edits = [
            edit for edit in other_value_edits(part, source, draw, slack) if edit.new.strip() not in known
        ]
        found.append([text[: e.start - base] + e.new + text[e.end - base :] for e in edits])
    for number in range(DRAWS):
        yield from (texts[number] for texts in found if number < len(texts))


def _without_part(node: ast.expr, parts: Sequence[ast.expr], number: int, source: Source) -> str:
    """The text of the node without one part and its separator."""
    base, _ = _span(node, source)
    text = source.segment(node)
    if number + 1 < len(parts):
        start, end = _span(parts[number], source)[0], _span(parts[number + 1], source)[0]
    else:
        start, end = _span(parts[number - 1], source)[1], _span(parts[number], source)[1]
    kept = text[: start - base] + text[end - base :]
    return kept if not isinstance(node, ast.Tuple) or len(parts) > 2 else _as_tuple(kept)  # noqa: PLR2004


def _as_tuple(text: str) -> str:
    inner = text.strip().removeprefix("(").removesuffix(")").strip().rstrip(",")
    return f"({inner},)"


def _other_calls(
    node: ast.Call,
    maker: str,
    args: list[ast.expr],
    keywords: list[ast.keyword],
    source: Source,
    draw: ValueSource,
) -> Iterator[str]:
    if maker == "set" and not args:
        yield f"{{{draw.random.randint(1, 9)}}}"
        return
    base, _ = _span(node, source)
    text = source.segment(node)
    for edit in _call_edits(maker, args, keywords, source, draw):
        yield text[: edit.start - base] + edit.new + text[edit.end - base :]


def _call_edits(
    maker: str, args: list[ast.expr], keywords: list[ast.keyword], source: Source, draw: ValueSource
) -> list[TextEdit]:
    if maker == "approx":
        slack = _tolerance_of_approx(args, keywords)
        return [] if slack is None else other_value_edits(args[0], source, draw, slack) if args else []
    if maker in _SETS | _MAKERS:
        parts = [*args[:1], *(keyword.value for keyword in keywords)]
        return [edit for part in parts for edit in other_value_edits(part, source, draw)]
    if maker in _NUMBERS and len(args) == 1 and not keywords:
        match args[0]:
            case ast.Constant(value=str(old)) if re.fullmatch(r"-?\d+(\.\d+)?", old):
                return [source.replace_node(args[0], repr(_other_digit(old, draw)))]
            case ast.Constant(value=int()):
                return other_value_edits(args[0], source, draw)
    return []


def _tolerance_of_approx(args: list[ast.expr], keywords: list[ast.keyword]) -> float | None:
    """The tolerance of `approx`; None if the text does not show it, or if it is too large."""
    given = dict(zip(("rel", "abs"), args[1:], strict=False)) | {k.arg: k.value for k in keywords if k.arg}
    relative, absolute = (_size(given.get(name)) for name in ("rel", "abs"))
    if relative is None or absolute is None or relative >= _ANY_SIZE:
        return None
    constants = (n.value for a in args[:1] for n in ast.walk(a) if isinstance(n, ast.Constant))
    largest = max((abs(n) for n in constants if isinstance(n, int | float)), default=0.0)
    return max(absolute, (relative or _RELATIVE) * float(largest) * 2)


def _size(node: ast.expr | None) -> float | None:
    match node:
        case None | ast.Constant(value=None):
            return 0.0
        case ast.Constant(value=int() | float() as size):
            return size
        case _:
            return None


def _spell_as(old: str | bytes, new: str | bytes, written: str) -> str:
    """Writes the new value with the quotes of the old one, if that is one literal without escapes."""
    plain, other = (text if isinstance(text, str) else text.decode("latin-1") for text in (old, new))
    if plain and written.count(plain) == 1:
        spelt = written.replace(plain, other)
        with contextlib.suppress(SyntaxError, ValueError):
            if ast.literal_eval(spelt) == new:
                return spelt
    return ascii(new)


def _span(node: ast.expr, source: Source) -> tuple[int, int]:
    edit = source.replace_node(node, "")
    return edit.start, edit.end
