"""Brings conditions into one form: `not (a == b)` becomes `a != b`; a name of a condition is written out."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.languages.python.stubs.forms import Function


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_MIRROR: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_NEGATIVE = (ast.Not, ast.NotEq, ast.NotIn, ast.IsNot)
_EMPTY = {("Eq", 0): True, ("NotEq", 0): False, ("Lt", 1): True, ("LtE", 0): True}
_FILLED = {("Lt", 0): False, ("LtE", 1): False}
"""`_EMPTY` and `_FILLED`: comparisons of a length with a number on its right and on its left; True if the
comparison says that the length is zero."""
_DEEP = 5
"""How deep names and functions are written out inside each other."""


@value
class CanonicalCondition:
    node: ast.expr
    flipped: bool


def canonical(test: ast.expr) -> CanonicalCondition:
    """The form of the condition or of its opposite, whichever has fewer negations."""
    plain, opposite = push_negations(test), push_negations(test, negated=True)
    return (
        CanonicalCondition(opposite, flipped=True)
        if _weight(opposite) < _weight(plain)
        else CanonicalCondition(plain, flipped=False)
    )


def _weight(node: ast.expr) -> tuple[int, str]:
    parts = list(ast.walk(node))
    return sum(isinstance(part, _NEGATIVE) for part in parts), " ".join(type(part).__name__ for part in parts)


def push_negations(node: ast.expr, *, negated: bool = False) -> ast.expr:
    """Pushes negations inward, gives comparisons one direction, and splits chains of comparisons."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return push_negations(inner, negated=not negated)
        case ast.Call(func=ast.Name(id="bool"), args=[inner], keywords=[]):
            return push_negations(inner, negated=negated)
        case ast.BoolOp(op=op, values=parts):
            inner_parts = [push_negations(part, negated=negated) for part in parts]
            return _join_parts(inner_parts, every=isinstance(op, ast.And) != negated)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[held]) if (
            members := _members(held)
        ) and _is_pure(left):
            equal: ast.cmpop = ast.NotEq() if isinstance(op, ast.NotIn) != negated else ast.Eq()
            each: list[ast.expr] = [ast.Compare(left, [equal], [member]) for member in members]
            return _join_parts(each, every=isinstance(equal, ast.NotEq))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compare(left, _OPPOSITE[type(op)]() if negated else op, right)
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(map(_is_pure, rights)):
            pairs = zip([left, *rights], ops, rights, strict=False)
            links = [push_negations(ast.Compare(a, [op], [b]), negated=negated) for a, op, b in pairs]
            return _join_parts(links, every=not negated)
        case _:
            return ast.UnaryOp(ast.Not(), node) if negated else node


def _join_parts(parts: list[ast.expr], *, every: bool) -> ast.expr:
    op: ast.boolop = ast.And() if every else ast.Or()
    flat = [inner for part in parts for inner in _operands(part, type(op))]
    return flat[0] if len(flat) == 1 else ast.BoolOp(op, flat)


def _operands(node: ast.expr, op: type[ast.boolop]) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, op):
        yield from node.values
    else:
        yield node


def _compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    if type(op) in _MIRROR:
        left, op, right = right, _MIRROR[type(op)](), left
    if isinstance(op, ast.Eq | ast.NotEq) and isinstance(left, ast.Constant):
        left, right = right, left
    match left, right:
        case ast.Call(func=ast.Name(id="len"), args=[held]), ast.Constant(value=int(number)):
            empty = _EMPTY.get((type(op).__name__, number))
        case ast.Constant(value=int(number)), ast.Call(func=ast.Name(id="len"), args=[held]):
            empty = _FILLED.get((type(op).__name__, number))
        case _:
            return ast.Compare(left, [op], [right])
    if empty is None:
        return ast.Compare(left, [op], [right])
    return ast.UnaryOp(ast.Not(), held) if empty else held


def _members(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return parts if all(isinstance(part, ast.Constant) for part in parts) else []
        case _:
            return []


def _is_pure(node: ast.expr) -> bool:
    return all(
        isinstance(part, ast.Name | ast.Constant | ast.Attribute | ast.expr_context)
        for part in ast.walk(node)
    )


class WriteOut(ast.NodeTransformer):
    """Replaces a name or a call by the condition that it stands for.

    `predicates`: by the name of a function, if only one has it, and by `Class.name`. `owner`: the class in
    which the condition stands.
    """

    def __init__(
        self, named: Mapping[str, ast.expr], predicates: Mapping[str, Function], owner: str, deep: int = 0
    ) -> None:
        self.named, self.predicates, self.owner, self.deep = named, predicates, owner, deep
        self.used: list[ast.expr] = []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.named.get(node.id)
        if found is None or self.deep > _DEEP:
            return node
        return self._inner(found, {})

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name):
                given = node.args
            case ast.Attribute(value=of, attr=name):
                given = [of, *node.args]
                mine = isinstance(of, ast.Name) and of.id in {"self", "cls"}
                name = f"{self.owner}.{name}" if mine and f"{self.owner}.{name}" in self.predicates else name
            case _:
                return node
        function = self.predicates.get(name)
        if function is None or node.keywords or self.deep > _DEEP:
            return node
        places = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        returned = function.body[-1]
        if len(places) != len(given) or not isinstance(returned, ast.Return) or returned.value is None:
            return node
        return self._inner(returned.value, dict(zip(places, given, strict=True)))

    def _inner(self, found: ast.expr, given: Mapping[str, ast.expr]) -> ast.expr:
        self.used.append(found)
        within = WriteOut({} if given else self.named, self.predicates, self.owner, self.deep + 1)
        made = within.visit(copy_node(found))
        self.used += within.used
        replaced = _Arguments(given).visit(made)
        return replaced if isinstance(replaced, ast.expr) else found


class _Arguments(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def copy_node(node: ast.expr) -> ast.expr:
    found = ast.parse(ast.unparse(node), mode="eval").body
    return ast.copy_location(found, node)


def named_conditions(node: Function) -> dict[str, ast.expr]:
    """The names in a function that are assigned once, and to a condition."""
    stored = Counter(
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )
    taken = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    found: dict[str, ast.expr] = {}
    for part in ast.walk(node):
        match part:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Compare() | ast.BoolOp() | ast.UnaryOp() as value
            ):
                if stored[name] == 1 and name not in taken:
                    found[name] = value
    return found
