"""One form for each thing that can be asserted, however it is written."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.stubforms import last_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPERATORS: dict[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertMultiLineEqual": ast.Eq,
    "assertSequenceEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """`a and b` asserts two things, and so does `(a, b) == (c, d)`."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return [part for inner in values for part in conjuncts(inner)]
        case ast.Compare(left=ast.Tuple(elts=left), ops=[ast.Eq()], comparators=[ast.Tuple(elts=right)]) if (
            left and len(left) == len(right)
        ):
            pairs = zip(left, right, strict=True)
            return [part for one, two in pairs for part in conjuncts(_compared(one, ast.Eq, two))]
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert"):
            plain = _method(test, name)
            return [test] if plain is test else conjuncts(plain)
        case _:
            return [test]


def _method(call: ast.Call, name: str) -> ast.expr:
    """A method of unittest as the expression that it asserts."""
    match name, call.args:
        case (("assertTrue" | "assert_"), [test, *_]):
            return test
        case "assertFalse", [test, *_]:
            return ast.UnaryOp(ast.Not(), test)
        case "assertIsNone", [test, *_]:
            return _compared(test, ast.Is, ast.Constant(None))
        case "assertIsNotNone", [test, *_]:
            return _compared(test, ast.IsNot, ast.Constant(None))
        case "assertIsInstance", [test, kind, *_]:
            return ast.Call(ast.Name("isinstance", ast.Load()), [test, kind], [])
        case "assertAlmostEqual", [left, right, *_]:
            near = ast.Call(ast.Name("approx", ast.Load()), [right], call.keywords)
            return _compared(left, ast.Eq, near)
        case _, [left, right, *_] if name in _OPERATORS:
            return _compared(left, _OPERATORS[name], right)
        case _:
            return call


def _compared(left: ast.expr, operator: type[ast.cmpop], right: ast.expr) -> ast.Compare:
    return ast.Compare(left, [operator()], [right])


def raising(check: ast.Call, body: Sequence[ast.stmt]) -> ast.expr:
    """`with raises(X): f()` as one expression, so that its names are read like all others."""
    done: list[ast.expr] = []
    for node in body:
        match node:
            case ast.Expr(value=inner) | ast.Assign(value=inner):
                done.append(inner)
            case _:
                done.append(ast.Constant(ast.unparse(node)))
    kinds = check.args[0] if check.args else ast.Tuple([], ast.Load())
    words = [keyword for keyword in check.keywords if keyword.arg == "match"]
    if "Regex" in last_name(check.func) and len(check.args) > 1:
        words = [ast.keyword("match", check.args[1])]
    name = "raises" if last_name(check.func).startswith(("raises", "assertRaises")) else last_name(check.func)
    return ast.Call(ast.Name(f"with {name}", ast.Load()), [kinds, ast.List(done, ast.Load())], words)


def normal(form: ast.expr) -> ast.expr:
    match form:
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.Is() | ast.NotEq() | ast.IsNot() as operator], comparators=[right]
        ):
            one, two = sorted(
                (left, right), key=lambda side: (isinstance(side, ast.Constant), ast.unparse(side))
            )
            return ast.Compare(one, [operator], [two])
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() as operator], comparators=[right]):
            return ast.Compare(right, [_MIRRORED[type(operator)]()], [left])
        case _:
            return form
