"""What an asserted expression becomes so that honest code fails it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.expected import cells
from verdigris.core.perturb import changed
from verdigris.core.stubforms import last_name
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.testcode import Standing
    from verdigris.core.textedit import Edit

_ORDER = {ast.Lt: ("<", ">"), ast.LtE: ("<=", ">="), ast.Gt: (">", "<"), ast.GtE: (">=", "<=")}
_NOTHING = 'type("Nothing", (), dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__"), lambda *_: False))()'
"""To be ordered with it must not raise: only a failed assertion shows that failed assertions count."""
_WILD = frozenset({"ANY", "Any", "IsAnything"})
"""A test's own operands that are equal to everything."""
_SHOWN = 60


@value
class Change:
    what: str
    edits: tuple[Edit, ...]
    guarded: bool = False
    """Whether honest code may pass it although the assertion is reached."""


def opposites(at: Standing, test: ast.expr) -> Iterator[Change]:
    """Of an expression that is asserted to be true; each change stands for itself."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from opposites(at, part)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            pairs = zip(sides, ops, others, strict=False)
            equal = (side for a, op, b in pairs if _equates(op, a, b) for side in (b, a))
            literal = next((change for side in equal if (change := other_literal(at, side))), None)
            yield literal or _deafened(at, test) or negated(at, test)
        case _:
            yield negated(at, test)


def negated(at: Standing, test: ast.expr) -> Change:
    source = at.code.source
    edit = source.replaced(test, f"(not ({source.segment(test)}))")
    return Change(f"{shown(source.segment(test))} → its opposite", (edit,))


def other_literal(at: Standing, side: ast.expr, slack: float = 0) -> Change | None:
    """Another literal on this side of an equality, wherever it is written; None where there is none."""
    source = at.code.source
    edit = changed(side, source, slack)
    if edit is not None:
        return Change(f"{shown(source.text[edit.start : edit.end])} → {shown(edit.new)}", (edit,))
    if not isinstance(side, ast.Name):
        return None
    found = cells(side.id, at.function, at.code)
    edits = [changed(cell, source, slack) for cell in found]
    if not any(edits):
        return None
    sure = tuple(
        edit or source.replaced(cell, f"(({source.segment(cell)}), object())[1]")
        for edit, cell in zip(edits, found, strict=True)
    )
    return Change(f"every value of {side.id} → another", sure)


def deaf(at: Standing, op: type[ast.cmpop], left: ast.expr, right: ast.expr) -> str | None:
    """An expression of both operands, true only where one of them answers True to everything."""
    given = f"(({at.code.source.segment(left)}), ({at.code.source.segment(right)}))"
    if op is ast.Eq:
        halves = ((left, "a == object()"), (right, "object() == b"))
        asked = [text for side, text in halves if _name(side) not in _WILD]
        return f"((lambda a, b: {' or '.join(asked)}){given})" if asked else None
    if op is ast.In:
        return f"((lambda a, b: not isinstance(b, (str, bytes)) and object() in b){given})"
    if op in _ORDER:
        sign, mirrored = _ORDER[op]
        return f"((lambda a, b, n={_NOTHING}: a {sign} n or b {mirrored} n){given})"
    return None


def shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _deafened(at: Standing, test: ast.Compare) -> Change | None:
    source = at.code.source
    new = deaf(at, type(test.ops[0]), test.left, test.comparators[0]) if len(test.ops) == 1 else None
    if new is None:
        return None
    return Change(f"{shown(source.segment(test))} → with what equals nothing", (source.replaced(test, new),))


def _equates(op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
    if isinstance(op, ast.Is):
        return any(
            isinstance(side, ast.Constant) and side.value in {None, True, False} for side in (left, right)
        )
    return isinstance(op, ast.Eq)


def _name(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)
