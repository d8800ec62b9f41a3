"""Finds what a Python test seems to assert and does not: it cannot fail, is not reached, or is not heard."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import TestFault
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.tests.code import BROAD, Tests
from verdigris.languages.python.tests.file import LEAVES, is_assert_call
from verdigris.languages.python.weakening.facts import facts
from verdigris.languages.python.weakening.names import own_nodes
from verdigris.languages.python.weakening.strength import conjuncts
from verdigris.languages.python.weakening.suite import suite_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.languages.findings import TestText
    from verdigris.languages.python.tests.code import AssertionPlace

_REFLEXIVE = ast.Eq | ast.Is | ast.LtE | ast.GtE
_DISPLAYS = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
_TEXTS = 60


def find_empty_assertions(test: TestText) -> tuple[TestFault, ...] | None:
    """None where the test cannot be found in the text."""
    tests = Tests(test.texts)
    code = tests.code(test.path)
    place = None if code is None else tests.find(code, test.name)
    if code is None or place is None:
        return None
    there, known = place
    found = {(one.path, one.line): one for one in _block_faults(there.path, there.functions[known])}
    forms = _forms(test)
    for at in tests.assertions(code, test.name):
        path, line = at.code.path, at.node.lineno
        if why := _fault_of(at, forms.get((path, line), ())):
            found.setdefault((path, line), TestFault(path, line, why))
    return tuple(sorted(found.values(), key=lambda one: (one.path != test.path, one.line)))


def assertion_lines(test: TestText) -> tuple[tuple[str, int], ...]:
    """Where its own function, not what it calls, asserts; what a false condition guards included."""
    tests = Tests(test.texts)
    code = tests.code(test.path)
    place = None if code is None else tests.find(code, test.name)
    if code is None or place is None:
        return ()
    function = place[0].functions[place[1]]
    own = (at for at in tests.assertions(code, test.name) if at.function is function)
    return tuple((at.code.path, at.node.lineno) for at in own)


def _forms(test: TestText) -> dict[tuple[str, int], list[ast.expr]]:
    """By place, what an assertion says in each case of the test, with values in place of names."""
    suite = suite_of_texts(test.texts)
    file = suite.files.get(test.path)
    found: dict[tuple[str, int], list[ast.expr]] = {}
    for fact in facts(suite, file, test.name) if file is not None and test.name in file.functions else ():
        found.setdefault((fact.path, fact.line), []).append(fact.form)
    return found


def expected_literals(test: TestText) -> tuple[str, ...]:
    """What its assertions compare answers with, as Python writes it."""
    found: dict[str, None] = {}
    for form in (one for forms in _forms(test).values() for one in forms):
        for part in ast.walk(form):
            sides = [part.left, *part.comparators] if isinstance(part, ast.Compare) else []
            found |= dict.fromkeys(ast.unparse(side) for side in sides if _is_literal(side))
    return tuple(found)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True


# -- one assertion -------------------------------------------------------------------------------------------


def _fault_of(at: AssertionPlace, forms: Sequence[ast.expr]) -> str:
    written = [part for test in _asserted(at.node) for part in conjuncts(test)]
    shown = _shown(at.node)
    for part in written:
        if why := _always(part, at.function):
            return f"`{shown}` {why}: assert what the code under test answers"
    marks_a_way = at.guarded and any(_constant(part) is False for part in written)
    if not forms or marks_a_way or _changing(at.function) & _names(written):
        return ""
    if all(_is_settled(form) for form in forms):
        return f"`{shown}` speaks of nothing that the code under test does: its outcome is settled as written"
    return ""


def _asserted(node: ast.stmt) -> list[ast.expr]:
    match node:
        case ast.Assert(test=test):
            return [test]
        case ast.Expr(value=ast.Call() as call):
            return [call]
        case _:
            return []


def _always(test: ast.expr, function: Function) -> str:
    """Why an asserted expression is true whatever happens; empty where it may be false."""
    match test:
        case ast.Tuple(elts=[_, *_]):
            return "asserts a tuple, which is always true"
        case ast.Lambda() | ast.GeneratorExp():
            return "asserts a function or a generator, which is always true"
        case ast.BoolOp(op=ast.Or(), values=values) if any(map(_is_true, values)):
            return "has an `or` with something that is always true"
        case ast.BoolOp(op=ast.Or(), values=values):
            return next((why for part in values if (why := _always(part, function))), "")
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _comparison(left, op, right, function)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return "asks whether it is an object, which everything is"
        case ast.Call(func=ast.Name(id="all"), args=[ast.List(elts=[]) | ast.Tuple(elts=[])]):
            return "goes over an empty list"
        case _:
            return ""


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, function: Function) -> str:
    same = "compares a thing with itself"
    one, two = ast.unparse(left), ast.unparse(right)
    if isinstance(op, _REFLEXIVE) and (
        (one == two and _is_one_thing(left, op)) or _is_alias(left, right, function)
    ):
        return same
    match op, right:
        case ast.Eq(), _ if "ANY" in {last_name(left), last_name(right)}:
            return "compares with ANY, which equals everything"
        case ast.Eq(), _ if _is_one_call(left, right, function) or _is_one_call(right, left, function):
            return "compares an answer with the same call's answer"
        case ast.In(), (ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts)):
            return "looks for a thing in a list that holds it" if one in map(ast.unparse, parts) else ""
        case ast.GtE(), ast.Constant(value=0) if isinstance(left, ast.Call) and last_name(left.func) == "len":
            return "asks for a length of zero or more, which every length is"
        case _:
            return ""


def _is_one_thing(node: ast.expr, op: ast.cmpop) -> bool:
    """Two calls may well differ: two equal objects have to be made equal, and `is` asks for a cache."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return not calls or (isinstance(op, ast.Eq) and not any(map(_makes_object, calls)))


def _makes_object(call: ast.Call) -> bool:
    return last_name(call.func).lstrip("_")[:1].isupper()


def _is_one_call(call: ast.expr, name: ast.expr, function: Function) -> bool:
    """`expected = f(2)` and then `f(2) == expected`."""
    return (
        isinstance(call, ast.Call)
        and not _makes_object(call)
        and _given(name, function) == [ast.unparse(call)]
    )


def _given(name: ast.expr, function: Function) -> list[str]:
    """All that a name is assigned in the test."""
    found = []
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.expr() as given) if bound == last_name(
                name
            ):
                found.append(ast.unparse(given))
    return found if isinstance(name, ast.Name) else []


def _is_alias(one: ast.expr, two: ast.expr, function: Function) -> bool:
    """`b = a` and then `a == b`."""
    return any(
        _given(mine, function) == [ast.unparse(other)] for mine, other in ((one, two), (two, one))
    ) and all(isinstance(side, ast.Name) for side in (one, two))


def _is_settled(form: ast.expr) -> bool:
    """Neither a name nor a call of the project's is left in it."""
    match form:
        case ast.Call(func=ast.Name(id="with raises"), args=[_, ast.List(elts=done)]):
            return all(isinstance(one, ast.Constant) and one.value in {"pass", ...} for one in done)
        case ast.Call(func=ast.Name(id=name)) if name.startswith("with "):
            return False
        case _:
            return not _names([form])


def _names(forms: Iterable[ast.expr]) -> set[str]:
    found = {part.id for form in forms for part in ast.walk(form) if isinstance(part, ast.Name)}
    return {name for name in found if not hasattr(builtins, name)}


def _changing(function: Function) -> set[str]:
    """Names whose value may be another by the time of the assertion, whatever they were given first."""
    found = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)} - _parametrized(
        function
    )
    for node in ast.walk(function):
        match node:
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                found |= set(names)
            case ast.Assign(targets=[ast.Name(id=name)], value=given) if isinstance(given, _DISPLAYS):
                found |= {name} if _count(function, name, ast.Load) > 1 else set()
            case ast.Name(id=name, ctx=ast.Store()) if _count(function, name, ast.Store) > 1:
                found.add(name)
    return found


def _count(function: Function, name: str, context: type[ast.expr_context]) -> int:
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name)
    return sum(isinstance(node.ctx, context) for node in names)


def _parametrized(function: Function) -> set[str]:
    found: set[str] = set()
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=func, args=[names, *_]) if last_name(func) == "parametrize":
                texts = (part.value for part in ast.walk(names) if isinstance(part, ast.Constant))
                found |= {name.strip() for text in texts for name in str(text).split(",")}
    return found


def _shown(node: ast.stmt) -> str:
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= _TEXTS else f"{text[: _TEXTS - 1]}…"


# -- the blocks around assertions ----------------------------------------------------------------------------


@value
class _Where:
    path: str
    dead: str = ""
    """Why nothing here is ever run."""
    swallowed: str = ""
    """What catches the failure of an assertion here."""
    sure: bool = True
    """It runs whenever the test runs."""


def _block_faults(path: str, function: Function) -> Iterator[TestFault]:
    yield from _block(function.body, _Where(path))
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    for node in own_nodes(function):
        if not isinstance(node, Function) or node.name in used or node.decorator_list:
            continue
        if any(map(_asserts, ast.walk(node))):
            yield TestFault(path, node.lineno, f"`{node.name}` asserts, and nobody calls it: call it")


def _block(body: Iterable[ast.stmt], at: _Where) -> Iterator[TestFault]:
    dead = at.dead
    for node in body:
        yield from _statement(node, _Where(at.path, dead, at.swallowed, at.sure))
        if isinstance(node, LEAVES):
            dead = dead or f"line {node.lineno} leaves before it"


def _statement(node: ast.stmt, at: _Where) -> Iterator[TestFault]:
    if _asserts(node) and (at.dead or at.swallowed):
        why = f"is never reached: {at.dead}" if at.dead else f"fails unheard: {at.swallowed} catches it"
        yield TestFault(at.path, node.lineno, f"`{_shown(node)}` {why}")
        return
    match node:
        case ast.Expr(value=ast.Compare() as compared):
            yield TestFault(at.path, node.lineno, f"`{ast.unparse(compared)}` is compared and not asserted")
        case ast.Expr(value=ast.Attribute(attr=name)) if name.startswith("assert"):
            yield TestFault(at.path, node.lineno, f"`{_shown(node)}` is not called: it asserts nothing")
        case ast.Expr(value=ast.Call(func=func)) if last_name(func) == "fail" and at.sure and not at.dead:
            yield TestFault(
                at.path,
                node.lineno,
                f"`{_shown(node)}` fails whatever the code does: assert an answer instead",
            )
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield from _context(node, [item.context_expr for item in items], body, at)
        case ast.Try():
            yield from _attempt(node, at)
        case ast.If(test=test, body=body, orelse=orelse):
            never = [f"`{_shown(node)}` never holds" if _constant(test) is False else "", ""]
            never[1] = f"`{_shown(node)}` always holds" if _constant(test) is True else ""
            for block, dead in zip((body, orelse), never, strict=True):
                yield from _block(block, _Where(at.path, at.dead or dead, at.swallowed, sure=False))
        case ast.For(iter=ast.List(elts=[]) | ast.Tuple(elts=[]), body=body):
            yield from _block(body, _Where(at.path, at.dead or "it goes over an empty list"))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return
        case _:
            for part in ("body", "orelse"):
                inner = _Where(at.path, at.dead, at.swallowed, sure=False)
                yield from _block(getattr(node, part, []), inner)


def _context(
    node: ast.stmt, contexts: Iterable[ast.expr], body: Sequence[ast.stmt], at: _Where
) -> Iterator[TestFault]:
    swallowed = at.swallowed
    for call in contexts:
        if isinstance(call, ast.Call) and (kind := _broad_kind(call)):
            name = last_name(call.func)
            if name == "suppress" or kind == "AssertionError" or any(map(_asserts, body)):
                swallowed = swallowed or f"`{ast.unparse(call)}`"
            elif not any(keyword.arg == "match" for keyword in call.keywords):
                yield TestFault(
                    at.path,
                    node.lineno,
                    f"`{ast.unparse(call)}` takes any error, a missing name too: "
                    "name the error, or `match` its text",
                )
    yield from _block(body, _Where(at.path, at.dead, swallowed, at.sure))


def _broad_kind(call: ast.Call) -> str:
    """The kind that `suppress` or `raises` takes and that a failed assertion is of, too."""
    if last_name(call.func) not in {"suppress", "raises", "assertRaises"}:
        return ""
    kinds = (last_name(part) for arg in call.args for part in ast.walk(arg) if isinstance(part, ast.expr))
    return next((kind for kind in kinds if kind in BROAD), "")


def _attempt(node: ast.Try, at: _Where) -> Iterator[TestFault]:
    silent = next((handler for handler in node.handlers if _is_silent(handler)), None)
    caught = "" if silent is None else f"the `except` of line {silent.lineno}"
    yield from _block(node.body, _Where(at.path, at.dead, at.swallowed or caught, sure=False))
    for block in (*(handler.body for handler in node.handlers), node.orelse):
        yield from _block(block, _Where(at.path, at.dead, at.swallowed, sure=False))
    yield from _block(node.finalbody, at)


def _is_silent(handler: ast.ExceptHandler) -> bool:
    """It takes a failed assertion, and neither raises nor asserts."""
    kinds = [handler.type] if handler.type is not None else []
    named = {last_name(part) for kind in kinds for part in ast.walk(kind) if isinstance(part, ast.expr)}
    if kinds and not named & BROAD:
        return False
    return not any(isinstance(part, ast.Raise) or _asserts(part) for part in ast.walk(handler))


def _asserts(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and is_assert_call(node.value))


def _constant(test: ast.expr) -> bool | None:
    match test:
        case ast.Constant(value=found):
            return bool(found)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _constant(operand)
            return None if inner is None else not inner
        case ast.Name(id="TYPE_CHECKING"):
            return False
        case _:
            return None
