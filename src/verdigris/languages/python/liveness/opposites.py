"""Changes asserted expressions so that honest code fails them, wherever the expected value is written."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.liveness.values import DRAWS, other_value_edits
from verdigris.languages.python.stubs.forms import Function, count_names, last_name, parametrized_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.liveness.near_values import ValueSource
    from verdigris.languages.python.syntax import TextEdit
    from verdigris.languages.python.tests.code import AssertionPlace, Code


def values_of_name(name: str, function: Function, code: Code) -> tuple[ast.expr, ...]:
    """The expressions that a name may stand for; none if it is used for more than this one comparison."""
    if count_names(function, name, ast.Load) != 1:
        return ()
    if name in _parameters(function):
        return _parametrized_values(name, function, code)
    match _bindings(name, function):
        case []:
            constant = code.constants.get(name)
            return () if constant is None or code.loads[name] != 1 else (constant,)
        case [ast.Assign(targets=[ast.Name()], value=value)] | [
            ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ]:
            return (value,)
        case [ast.For(target=ast.Name(), iter=table)]:
            return _column(_rows(table, code), None)
        case [ast.For(target=ast.Tuple(elts=targets), iter=table)]:
            place = next((i for i, t in enumerate(targets) if isinstance(t, ast.Name) and t.id == name), None)
            return () if place is None else _column(_rows(table, code), place)
        case _:
            return ()


def _parametrized_values(name: str, function: Function, code: Code) -> tuple[ast.expr, ...]:
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=func, args=[names, table], keywords=more) if last_name(func) == "parametrize":
                known = parametrized_names(names)
                if name in known and not any(keyword.arg == "indirect" for keyword in more):
                    single = len(known) == 1 and not isinstance(names, ast.List | ast.Tuple)
                    return _column(_rows(table, code), None if single else known.index(name))
    return ()


def _rows(table: ast.expr, code: Code) -> list[ast.expr] | None:
    match table:
        case ast.List(elts=rows) | ast.Tuple(elts=rows):
            return rows
        case ast.Name(id=name) if name in code.constants and code.loads[name] == 1:
            return _rows(code.constants[name], code)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items"), args=[]) if (
            code.loads[name] == 1
        ):
            match code.constants.get(name):
                case ast.Dict(keys=keys, values=values) if all(keys):
                    return [ast.Tuple([*filter(None, pair)]) for pair in zip(keys, values, strict=True)]
    return None


def _column(rows: list[ast.expr] | None, place: int | None) -> tuple[ast.expr, ...]:
    """One cell of each row; empty if some row has none."""
    found = [_cell(row, place) for row in rows or ()]
    kept = [cell for cell in found if cell is not None]
    return tuple(kept) if len(kept) == len(found) else ()


def _cell(row: ast.expr, place: int | None) -> ast.expr | None:
    match row:
        case ast.Call(func=func, args=parts) if last_name(func) == "param":
            place = place or 0
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if place is not None:
            pass
        case ast.Starred():
            return None
        case _:
            return row if place is None else None
    if place >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
        return None
    return parts[place]


def _parameters(function: Function) -> set[str]:
    spec = function.args
    return {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}


def _bindings(name: str, function: Function) -> list[ast.AST]:
    """The statements that bind a name, with the function itself if the name is bound in another way, too."""
    bound = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and name in _targets(node)]
    return [*bound, function] if count_names(function, name, ast.Store) != len(bound) else [*bound]


def _targets(node: ast.stmt) -> Iterator[str]:
    heads = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
    return (
        part.id
        for head in heads
        for part in ast.walk(head)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )


_WILD = frozenset({"ANY", "Any", "IsAnything"})
"""Names of operands that are equal to everything."""
_CONTRARY: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_SHOWN = 60
_TWO = 2


@value
class ExpressionChange:
    what: str
    edits: tuple[TextEdit, ...]
    guarded: bool = False
    """True if honest code may pass with this change although the assertion is reached."""


@value
class Choice:
    """Changes of one part of an assertion; each of them shows by itself whether that part is live."""

    options: tuple[ExpressionChange, ...]
    joint: bool = False
    """True if honest code may pass one of them by chance, but never all of them."""


def opposites(at: AssertionPlace, test: ast.expr, draw: ValueSource) -> Iterator[Choice]:
    """Changes an expression that is asserted to be true, so that honest code fails it."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from opposites(at, part, draw)
        case ast.Compare(left=left, ops=ops, comparators=others_):
            sides = [left, *others_]
            pairs = zip(sides, ops, others_, strict=False)
            equal = (side for a, op, b in pairs if _equates(op, a, b) for side in (b, a))
            literal = next((choice for side in equal if (choice := other_literal(at, side, draw))), None)
            yield literal or _change_comparison(at, test, draw) or negate(at, test)
        case _:
            yield negate(at, test)


def negate(at: AssertionPlace, test: ast.expr) -> Choice:
    source = at.code.source
    text = source.segment(test)
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            new = f"({source.segment(operand)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            new = f"({source.segment(left)}) {_CONTRARY[type(op)]} ({source.segment(right)})"
        case _:
            new = f"not ({text})"
    edit = source.replace_node(test, f"({new})" if "\n" in text else new)
    return Choice((ExpressionChange(f"{shorten(text)} → its opposite", (edit,)),))


def other_literal(at: AssertionPlace, side: ast.expr, draw: ValueSource, slack: float = 0) -> Choice | None:
    """Changes the literal on this side of an equality, wherever it is written; None if there is none."""
    source = at.code.source
    edits = other_value_edits(side, source, draw, slack, _other_compared_constants(at, side))
    if edits:
        return Choice(
            tuple(
                ExpressionChange(f"{shorten(source.segment(side))} → {shorten(e.new)}", (e,)) for e in edits
            )
        )
    if not isinstance(side, ast.Name):
        return None
    found = values_of_name(side.id, at.function, at.code)
    drawn = [other_value_edits(cell, source, draw, slack) for cell in found]
    if not any(drawn):
        return None
    options = []
    for number in range(min(DRAWS, max(map(len, drawn)))):
        # A cell without another value becomes a tuple, which is at least not equal to the old value.
        new = (
            edits[number % len(edits)] if edits else source.replace_node(cell, f"({source.segment(cell)}, 0)")
            for edits, cell in zip(drawn, found, strict=True)
        )
        options.append(ExpressionChange(f"every value of {side.id} → another", tuple(new)))
    return Choice(tuple(options))


def replace_side(at: AssertionPlace, left: ast.expr, right: ast.expr, draw: ValueSource) -> Choice | None:
    """Replaces a side without a literal by two different values in turn: nothing equals both."""
    source = at.code.source
    known = [repr(value) for value in draw.any_values()]
    pair = [*known, "0", "'a'"][:_TWO] if known[:1] != ["0"] else [*known, "'a'"][:_TWO]
    side = next((side for side in (right, left) if _name(side) not in _WILD and _is_plain(side)), None)
    asked = left if side is right else right
    if side is None or _name(asked) in _WILD:
        return None
    edits = [source.replace_node(side, text) for text in pair]
    text = shorten(source.segment(side))
    return Choice(
        tuple(ExpressionChange(f"{text} → {shorten(edit.new)}", (edit,)) for edit in edits), joint=True
    )


def expectations(at: AssertionPlace) -> Iterator[ast.expr]:
    """Both sides of the equalities in an assertion, with the cells behind a name; calls are left out."""
    for node in ast.walk(at.node):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=rest) if isinstance(ops[0], ast.Eq | ast.Is):
                sides = [left, *rest]
            case ast.Call(func=func, args=[first, second, *_]) if last_name(func).startswith("assert"):
                sides = [first, second]
            case _:
                continue
        for side in sides:
            if isinstance(side, ast.Name):
                yield from values_of_name(side.id, at.function, at.code)
            elif not isinstance(side, ast.Call | ast.Await):
                yield side


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _change_comparison(at: AssertionPlace, test: ast.Compare, draw: ValueSource) -> Choice | None:
    if len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    match test.ops[0]:
        case ast.Eq():
            return replace_side(at, left, right, draw)
        case ast.In():
            return other_items(at, right, draw)
        case _:
            return None


def other_items(at: AssertionPlace, container: ast.expr, draw: ValueSource) -> Choice | None:
    """Changes every item of a collection literal; None for any other container, whose items are unknown."""
    source = at.code.source
    match container:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) if parts:
            known = {source.segment(part) for part in parts}
            drawn = [
                next((e for e in other_value_edits(part, source, draw) if e.new not in known), None)
                for part in parts
            ]
            edits = tuple(edit for edit in drawn if edit is not None)
            if len(edits) < len(parts):
                return None
            return Choice((ExpressionChange(f"{shorten(source.segment(container))} → other items", edits),))
        case _:
            return None


def _other_compared_constants(at: AssertionPlace, side: ast.expr) -> list[object]:
    """Other constants that the same test compares with: one object may rightly equal several spellings."""
    asked = (node for node in ast.walk(at.function) if isinstance(node, ast.Compare))
    sides = (other for node in asked for other in (node.left, *node.comparators) if other is not side)
    return [other.value for other in sides if isinstance(other, ast.Constant)]


def _equates(op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
    if isinstance(op, ast.Is):
        return any(isinstance(side, ast.Constant) and side.value in {True, False} for side in (left, right))
    return isinstance(op, ast.Eq)


def _is_plain(node: ast.expr) -> bool:
    """Whether the expression binds and awaits nothing, so that the test works without it."""
    parts = ast.walk(node)
    return not any(isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for part in parts)


def _name(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)
