"""Source that holds the answers of its tests: plainly, in a longer text, encoded, or by a hash."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.concerns_hit import Hit
from verdigris.languages.python.concerns.concerns_tests import Literal, Suite, telling
from verdigris.languages.python.stubforms import is_docstring

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verdigris.languages.python.concerns.concerns_scope import Seen

_LONG = 12
_SEVERAL = 3


def expected_literals(seen: Seen, known: Suite, old: frozenset[Literal]) -> Iterator[Hit]:
    node = seen.node
    match node:
        case ast.Return(value=ast.expr() as value):
            yield from _standing(node, _results(value), frozenset(known.answers) - old, known, "returned")
        case ast.Dict(keys=keys, values=values):
            asked = _plain(key for key in keys if key is not None)
            answers = _plain(values)
            yield from _standing(node, asked, known.asked - old, known, "looked up")
            yield from _standing(node, answers, frozenset(known.answers) - old, known, "looked up")
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) if isinstance(
            seen.statement, ast.Assign | ast.AnnAssign
        ):
            yield from _standing(node, _plain(parts), frozenset(known.answers) - old, known, "lined up")
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In() | ast.Is()], comparators=[right]):
            flat = [*_flat(left), *_flat(right)]
            yield from _standing(node, _plain(flat), known.asked - old, known, "compared")
        case ast.MatchValue(value=value):
            yield from _standing(node, _plain([value]), known.asked - old, known, "compared")


def in_longer_texts(seen: Seen, known: Suite, old: frozenset[Literal]) -> Iterator[Hit]:
    """A question of the tests and its answer within one text: split, parsed or decoded later."""
    match seen.node:
        case ast.Expr():
            return
        case ast.Constant(value=str() | bytes() as value) if len(value) >= _LONG and value not in old:
            text = value if isinstance(value, str) else value.decode("latin-1")
        case ast.Call() as call:
            text = seen.names.text(call) or ""
        case _:
            return
    if not isinstance(seen.statement, ast.Expr) and (found := told_in(text, known)):
        yield Hit("expected-literals", seen.node, f"a text holds {found} of the tests")


def told_in(text: str, known: Suite) -> str:
    """What a text tells of the tests; a single answer may be chance."""
    answers = [word for word in known.answers if isinstance(word, str) and word in text and word != text]
    telling_ones = sorted(a for a in answers if any(_asks(q, a, text) for q in known.answers[a]))
    if not telling_ones and len(answers) < _SEVERAL:
        return ""
    return ", ".join(repr(word) for word in (telling_ones or sorted(answers))[:3])


def _asks(question: Literal, answer: str, text: str) -> bool:
    return isinstance(question, str) and question != answer and question in text


def _flat(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def _results(node: ast.expr) -> frozenset[Literal]:
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return _results(body) | _results(orelse)
        case ast.BoolOp(values=values):
            return frozenset[Literal]().union(*map(_results, values))
        case _:
            return _plain(_flat(node))


def _plain(nodes: Iterable[ast.expr]) -> frozenset[Literal]:
    return frozenset(n.value for n in nodes if isinstance(n, ast.Constant) and telling(n.value))


def _standing(
    node: ast.AST, literals: frozenset[Literal], wanted: frozenset[Literal], known: Suite, how: str
) -> Iterator[Hit]:
    for literal in sorted(literals & wanted, key=repr):
        inside = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
        beside = sorted(map(repr, known.answers.get(literal, frozenset()) & inside))
        pair = f", beside {beside[0]}, which the tests ask" if beside else ""
        what = f"{literal!r}, a value copied from the tests, is {how}{pair}"
        constant = how == "returned" and not beside
        yield Hit("expected-literals", node, what, literal=str(literal), constant=constant)


def hashed_lookup(seen: Seen) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right]):
            sides = (left, right)
            if any(names.is_hash(side) for side in sides) and any(
                telling(n.value) for side in sides for n in ast.walk(side) if isinstance(n, ast.Constant)
            ):
                yield Hit("expected-literals", node, f"`{ast.unparse(node)}` knows its input by a hash")
        case (
            ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_])
            | ast.Subscript(value=table, slice=key, ctx=ast.Load())
        ):
            if isinstance(table, ast.Name) and names.dotted(table) == "" and names.is_hash(key):
                yield Hit("expected-literals", node, f"`{ast.unparse(node)}` knows its input by a hash")


def literals_of(tree: ast.Module) -> frozenset[Literal]:
    """All that stands in a text, outside its docstrings."""
    docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr) and is_docstring(n)}
    return frozenset(
        n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and id(n) not in docs and telling(n.value)
    )
