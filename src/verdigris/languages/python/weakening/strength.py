"""Decides whether one assertion is stronger or weaker than another, or just different."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, TypeGuard

from verdigris.core.value import value
from verdigris.languages.assertions import AssertionChange, compare_ranks
from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.syntax import nodes_in
from verdigris.languages.python.weakening.names import rename

if TYPE_CHECKING:
    from collections.abc import Sequence


_MOCKS = {
    "assert_called": 2,
    "assert_called_once": 3,
    "assert_any_call": 3,
    "assert_has_calls": 3,
    "assert_called_with": 4,
    "assert_awaited": 2,
    "assert_awaited_once": 3,
    "assert_awaited_with": 4,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[float, str]] = {
    ast.Eq: (5, "=="),
    ast.Is: (5, "is"),
    ast.NotEq: (2, "not"),
    ast.IsNot: (2, "not"),
    ast.NotIn: (2, "not"),
}
"""The rank and the kind of a comparison; any other has the rank 3."""
_LOOSER = {"approx": (4, "approx"), "len": (3, "len")}
"""Equalities with the result of one of these calls."""
_ANYTHING = frozenset({"ANY", "mock.ANY", "unittest.mock.ANY"})
_TOOLS = frozenset({"approx", "pytest.approx", "pytest", "re", "math", "operator"})
_LOOSE = frozenset({"", ".", ".*", ".+", "(?s).*", "^", "$"})


@value
class _AssertionStrength:
    rank: float
    """How much an assertion pins of its subject."""
    sides: tuple[str, ...]
    word: str = ""


def _measure_strength(form: ast.expr) -> _AssertionStrength:
    match form:
        case ast.Constant() | ast.Tuple() | ast.List() | ast.JoinedStr() | ast.Lambda():
            return _AssertionStrength(0, ())
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _measure_comparison(left, operator, right)
        case ast.BoolOp(op=ast.Or(), values=values):
            rank = min(0.5, *(_measure_strength(part).rank for part in values))
            return _AssertionStrength(rank, tuple(map(ast.unparse, values)), "or")
        case ast.Call(func=ast.Name(id="isinstance"), args=[subject, _]):
            return _AssertionStrength(2, (ast.unparse(subject),), "isinstance")
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert"):
            return _AssertionStrength(_MOCKS.get(name, 5), (ast.unparse(form),), name)
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "match" | "search" | "issubset")):
            return _AssertionStrength(3, (ast.unparse(form),), "part")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _AssertionStrength(1.5, (ast.unparse(operand),), "not")
        case _:
            return _AssertionStrength(1, (ast.unparse(form),), "truth")


def _measure_comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> _AssertionStrength:
    sides = (ast.unparse(left), ast.unparse(right))
    rank, word = _COMPARISONS.get(type(operator), (3, type(operator).__name__))
    if isinstance(operator, ast.Eq):
        if sides[0] == sides[1]:
            return _AssertionStrength(0, sides)
        if _ANYTHING & set(sides):
            return _AssertionStrength(0.5, sides)
        called = {_called_name(side) for side in (left, right)}
        rank, word = next((strength for name, strength in _LOOSER.items() if name in called), (rank, word))
    return _AssertionStrength(rank, sides, word)


def _called_name(node: ast.AST) -> str:
    """The last name of what is called; empty if the node is no call."""
    return last_name(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def compare(old: ast.expr, new: ast.expr) -> AssertionChange:
    """How an old assertion changed, if the new one replaces it."""
    if ast.unparse(old) == ast.unparse(new):
        return AssertionChange.SAME
    if _is_raises(old) and _is_raises(new):
        return _compare_raises(old, new)
    if _is_raises(old) or _is_raises(new):
        return AssertionChange.UNRELATED
    if _is_of_more(old, new):
        return AssertionChange.STRONGER
    was, is_ = _measure_strength(old), _measure_strength(new)
    keeps = _names_in(old) <= _names_in(new)
    change = compare_ranks(was.rank, is_.rank, related=_are_related(old, new), keeps=keeps)
    return change or _compare_same_rank(old, new, was, is_)


def _is_of_more(old: ast.expr, new: ast.expr) -> bool:
    """Whether `all(…)` goes over more items now: `[a, b]` became `[a, b, c]`."""
    match old, new:
        case (
            ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(generators=[was])]),
            ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(generators=[is_])]),
        ):
            items, more = (_items(part.iter) for part in (was, is_))
            return bool(items) and items < more and _without_iterable(old, was) == _without_iterable(new, is_)
        case _:
            return False


def _items(node: ast.expr) -> set[str]:
    return set(map(ast.unparse, node.elts)) if isinstance(node, ast.List | ast.Tuple | ast.Set) else set()


def _without_iterable(form: ast.expr, part: ast.comprehension) -> str:
    """The text of an assertion without the iterable of this comprehension."""
    return ast.unparse(form).replace(ast.unparse(part.iter), "", 1)


def _compare_same_rank(
    old: ast.expr, new: ast.expr, was: _AssertionStrength, is_: _AssertionStrength
) -> AssertionChange:
    match was.word, is_.word:
        case "approx", "approx":
            return _compare_tolerances(old, new)
        case "Lt", "LtE" if was.sides == is_.sides:
            return AssertionChange.WEAKER
        case "LtE", "Lt" if was.sides == is_.sides:
            return AssertionChange.STRONGER
        case "or", "or":
            return AssertionChange.STRONGER if set(is_.sides) < set(was.sides) else AssertionChange.WEAKER
        case "==", "==" if set(was.sides) & set(is_.sides):
            (before, *_), (after, *_) = set(was.sides) - set(is_.sides), set(is_.sides) - set(was.sides)
            if _is_call_on(after, before):
                return AssertionChange.WEAKER
            return AssertionChange.STRONGER if _is_call_on(before, after) else AssertionChange.CHANGED
        case _:
            return AssertionChange.CHANGED


def _is_call_on(outer: str, inner: str) -> bool:
    """Whether the outer text calls something on the inner: `f(1).lower()` shows less than `f(1)`."""
    return outer != inner and "(" in inner and (outer.startswith(f"{inner}.") or f"({inner})" in outer)


def _are_related(old: ast.expr, new: ast.expr) -> bool:
    return bool(_subjects(old) & _subjects(new))


def _names_in(form: ast.expr) -> set[str]:
    names = {part.id for part in nodes_in(form) if isinstance(part, ast.Name)}
    return {name for name in names if not hasattr(builtins, name) and name not in _TOOLS}


def _subjects(form: ast.expr) -> set[str]:
    """The calls, names and attributes in an assertion, without builtins and names of test tools."""
    subjects = set()
    for part in nodes_in(form):
        match part:
            case ast.Call(func=ast.Name(id=name)) if (
                not hasattr(builtins, name) and name.rpartition(".")[2] != "approx"
            ):
                subjects |= {ast.unparse(part), name}
            case ast.Call() | ast.Attribute():
                subjects.add(ast.unparse(part))
            case ast.Name(id=name) if not hasattr(builtins, name) and name not in _TOOLS:
                subjects.add(name)
    return subjects


def _compare_tolerances(old: ast.expr, new: ast.expr) -> AssertionChange:
    was, is_ = (_tolerances(form) for form in (old, new))
    if was[0] != is_[0]:
        return AssertionChange.CHANGED
    if was[1] == is_[1]:
        return AssertionChange.SAME
    return AssertionChange.WEAKER if is_[1] > was[1] else AssertionChange.STRONGER


def _tolerances(form: ast.expr) -> tuple[str, float]:
    """The compared sides as text, and the tolerance."""
    call = next(n for n in nodes_in(form) if isinstance(n, ast.Call) and _called_name(n) == "approx")
    sides = (
        [ast.unparse(side) for side in (form.left, *form.comparators)]
        if isinstance(form, ast.Compare)
        else []
    )
    values = {k.arg: k.value.value for k in call.keywords if k.arg and isinstance(k.value, ast.Constant)}
    plain = ast.unparse(ast.Call(call.func, call.args, []))
    rest = sorted(plain if "approx(" in side else side for side in sides)
    if isinstance(places := values.get("places"), int):
        return str(rest), 10.0**-places
    given = [
        float(v)
        for v in (values.get("rel"), values.get("abs"), values.get("delta"))
        if isinstance(v, int | float)
    ]
    return str(rest), max(given, default=1e-6)


def _is_raises(form: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(form, ast.Call) and last_name(form.func).startswith("with ")


def _compare_raises(old: ast.Call, new: ast.Call) -> AssertionChange:
    is_same_body = ast.unparse(old.args[1]) == ast.unparse(new.args[1])
    if not is_same_body and not _are_related(old.args[1], new.args[1]):
        return AssertionChange.UNRELATED
    changes = {_compare_exceptions(old, new), _compare_patterns(old, new)}
    if AssertionChange.WEAKER in changes:
        return AssertionChange.WEAKER
    if AssertionChange.CHANGED in changes or not is_same_body:
        return AssertionChange.CHANGED
    return AssertionChange.STRONGER


def _compare_exceptions(old: ast.Call, new: ast.Call) -> AssertionChange:
    was, is_ = _exceptions(old.args[0]), _exceptions(new.args[0])
    if was == is_:
        return AssertionChange.SAME
    if _are_caught_by(is_, was):
        return AssertionChange.STRONGER
    return AssertionChange.WEAKER if _are_caught_by(was, is_) else AssertionChange.CHANGED


def _exceptions(node: ast.expr) -> frozenset[str]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return frozenset(ast.unparse(part) for part in parts)


def _are_caught_by(names: frozenset[str], others: frozenset[str]) -> bool:
    return all(any(_is_caught_by(name, other) for other in others) for name in names)


def _is_caught_by(name: str, other: str) -> bool:
    """Whether the other class catches an exception; a project's own is only known to be an `Exception`."""
    thrown, caught = (getattr(builtins, known, None) for known in (name, other))
    if isinstance(thrown, type) and isinstance(caught, type):
        return issubclass(thrown, caught)
    return name == other or other in {"Exception", "BaseException"}


def _compare_patterns(old: ast.Call, new: ast.Call) -> AssertionChange:
    was, is_ = (next((ast.unparse(k.value) for k in call.keywords), None) for call in (old, new))
    if was == is_:
        return AssertionChange.SAME
    if is_ is None or is_.strip("r'\"") in _LOOSE:
        return AssertionChange.WEAKER
    return AssertionChange.STRONGER if was is None else AssertionChange.CHANGED


_EXPRESSIONS = {
    **dict.fromkeys(("assertTrue", "assert_"), "_0"),
    "assertFalse": "not _0",
    "assertIsNone": "_0 is None",
    "assertIsNotNone": "_0 is not None",
    "assertIsInstance": "isinstance(_0, _1)",
    **dict.fromkeys(
        ("assertEqual", "assertEquals", "assertMultiLineEqual", "assertSequenceEqual"), "_0 == _1"
    ),
    **dict.fromkeys(("assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual"), "_0 == _1"),
    "assertNotEqual": "_0 != _1",
    "assertIs": "_0 is _1",
    "assertIsNot": "_0 is not _1",
    "assertIn": "_0 in _1",
    "assertNotIn": "_0 not in _1",
    "assertGreater": "_0 > _1",
    "assertGreaterEqual": "_0 >= _1",
    "assertLess": "_0 < _1",
    "assertLessEqual": "_0 <= _1",
}
"""What the methods of unittest assert about their arguments."""
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def negate(test: ast.expr) -> ast.expr:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(operator)]()], [right])
        case _:
            return ast.UnaryOp(ast.Not(), test)


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The single assertions in an expression: `a and b` has two, and so has `(a, b) == (c, d)`."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return [part for inner in values for part in conjuncts(inner)]
        case ast.Compare(left=ast.Tuple(elts=left), ops=[ast.Eq()], comparators=[ast.Tuple(elts=right)]) if (
            left and len(left) == len(right)
        ):
            pairs = zip(left, right, strict=True)
            return [part for a, b in pairs for part in conjuncts(ast.Compare(a, [ast.Eq()], [b]))]
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert"):
            plain = _expand_method(test, name)
            return [test] if plain is test else conjuncts(plain)
        case _:
            return [test]


def _expand_method(call: ast.Call, name: str) -> ast.expr:
    """The expression that a method of unittest asserts; the call itself for any other."""
    given = {f"_{place}": argument for place, argument in enumerate(call.args)}
    if name == "assertAlmostEqual" and len(given) > 1:
        near = ast.Call(ast.Name("approx", ast.Load()), [given["_1"]], call.keywords)
        return ast.Compare(given["_0"], [ast.Eq()], [near])
    form = _EXPRESSIONS.get(name, "")
    if not form or ("_1" if "_1" in form else "_0") not in given:
        return call
    return rename(ast.parse(form, mode="eval").body, lambda name: given.get(name.id, name))


def raise_form(check: ast.Call, body: Sequence[ast.stmt]) -> ast.expr:
    """Writes `with raises(X): f()` as one expression, so that its names are resolved like all others."""
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


def normalize(form: ast.expr) -> ast.expr:
    match form:
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.Is() | ast.NotEq() | ast.IsNot() as operator], comparators=[right]
        ):
            first, second = sorted(
                (left, right), key=lambda side: (isinstance(side, ast.Constant), ast.unparse(side))
            )
            return ast.Compare(first, [operator], [second])
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() as operator], comparators=[right]):
            return ast.Compare(right, [_MIRRORED[type(operator)]()], [left])
        case _:
            return form
