"""Finds assertions of a Python test that cannot fail, or whose outcome does not depend on the code."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import TestFault
from verdigris.languages.grammar.validation import stub_bodies
from verdigris.languages.protocol import Validation
from verdigris.languages.python.stubs.forms import (
    Function,
    count_names,
    first_line_of,
    last_name,
    parametrized_names,
)
from verdigris.languages.python.syntax import is_literal
from verdigris.languages.python.tests.assertion_places import reached_assertions
from verdigris.languages.python.tests.code import Files, own_nodes
from verdigris.languages.python.validation.blocks import find_block_faults, truth_of
from verdigris.languages.python.validation.mocks import find_mocked_subjects
from verdigris.languages.python.validation.stub_answers import FORMS
from verdigris.languages.python.weakening.facts import facts
from verdigris.languages.python.weakening.strength import conjuncts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from random import Random

    from verdigris.languages.findings import StubBody, TestText
    from verdigris.languages.python.tests.assertion_places import AssertionPlace

_REFLEXIVE = ast.Eq | ast.Is | ast.LtE | ast.GtE
_DISPLAYS = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp


@value
class _FoundTest:
    path: str
    """The path of the file that contains its function."""
    function: Function
    assertions: tuple[AssertionPlace, ...]


def _find_test(test: TestText) -> _FoundTest | None:
    files = Files(test.texts)
    code = files.code(test.path)
    place = None if code is None else files.function(code, test.name)
    if code is None or place is None:
        return None
    there, name = place
    return _FoundTest(there.path, there.functions[name], tuple(reached_assertions(files, code, test.name)))


class PythonValidation(Validation):
    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        reading = _find_test(test)
        if reading is None:
            return None
        faults = {(one.path, one.line): one for one in find_block_faults(reading.path, reading.function)}
        forms = _forms(test)
        for at in reading.assertions:
            path, line = at.code.path, at.node.lineno
            if why := _fault_of(at, forms.get((path, line), ())):
                faults.setdefault((path, line), TestFault(path, line, why))
        return tuple(sorted(faults.values(), key=lambda one: (one.path != test.path, one.line)))

    def asserts(self, test: TestText) -> bool:
        """True also if the test is not found, or calls a parameter, which may assert for it."""
        reading = _find_test(test)
        if reading is None or reading.assertions:
            return True
        args = reading.function.args
        given = {argument.arg for argument in (*args.posonlyargs, *args.args)}
        calls = (node.func for node in ast.walk(reading.function) if isinstance(node, ast.Call))
        return any(_root_name(called) in given for called in calls)

    def mocked_subjects(self, test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:
        return find_mocked_subjects(test, sources)

    def expected_literals(self, test: TestText) -> tuple[str, ...]:
        literals: dict[str, None] = {}
        for form in (one for forms in _forms(test).values() for one in forms):
            for part in ast.walk(form):
                sides = [part.left, *part.comparators] if isinstance(part, ast.Compare) else []
                literals |= dict.fromkeys(ast.unparse(side) for side in sides if is_literal(side))
        return tuple(literals)

    def stub_bodies(
        self, path: str, before: bytes | None, after: bytes, literals: Sequence[str], dice: Random
    ) -> tuple[StubBody, ...]:
        return stub_bodies(FORMS, path, before or b"", after, literals, dice)


def _root_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def assertion_lines(test: TestText) -> tuple[tuple[str, int], ...]:
    """Path and line of the assertions in the test's own function, not in the functions that it calls."""
    reading = _find_test(test)
    own = () if reading is None else [at for at in reading.assertions if at.function is reading.function]
    return tuple((at.code.path, at.node.lineno) for at in own)


def _forms(test: TestText) -> dict[tuple[str, int], list[ast.expr]]:
    """Maps the place of each assertion to its forms in all cases of the test, with values for names."""
    files = Files(test.texts)
    code = files.code(test.path)
    forms: dict[tuple[str, int], list[ast.expr]] = {}
    for fact in facts(files, code, test.name) if code is not None and test.name in code.functions else ():
        forms.setdefault((fact.path, fact.line), []).append(fact.form)
    return forms


def _fault_of(at: AssertionPlace, forms: Sequence[ast.expr]) -> str:
    written = [part for test in _asserted_expressions(at.node) for part in conjuncts(test)]
    shown = first_line_of(at.node)
    for part in written:
        if why := _why_always_true(part, at.function):
            return f"`{shown}` {why}: assert what the code under test answers"
    marks_a_way = at.guarded and any(truth_of(part) is False for part in written)
    if not forms or marks_a_way or _reassigned_names(at.function) & _names(written):
        return ""
    if all(_is_settled(form) for form in forms):
        return f"`{shown}` does not depend on the code under test: its outcome is fixed as written"
    return ""


def _asserted_expressions(node: ast.stmt) -> list[ast.expr]:
    match node:
        case ast.Assert(test=test):
            return [test]
        case ast.Expr(value=ast.Call() as call):
            return [call]
        case _:
            return []


def _why_always_true(test: ast.expr, function: Function) -> str:
    """Why an asserted expression is always true; empty if it may be false."""
    match test:
        case ast.Tuple(elts=[_, *_]):
            return "asserts a tuple, which is always true"
        case ast.Lambda() | ast.GeneratorExp():
            return "asserts a function or a generator, which is always true"
        case ast.BoolOp(op=ast.Or(), values=values) if any(map(_is_true, values)):
            return "has an `or` with something that is always true"
        case ast.BoolOp(op=ast.Or(), values=values):
            return next((why for part in values if (why := _why_always_true(part, function))), "")
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _why_comparison_holds(left, op, right, function)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return "asks whether it is an object, which everything is"
        case ast.Call(func=ast.Name(id="all"), args=[ast.List(elts=[]) | ast.Tuple(elts=[])]):
            return "loops over an empty list"
        case _:
            return ""


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _why_comparison_holds(left: ast.expr, op: ast.cmpop, right: ast.expr, function: Function) -> str:
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
    """Whether a comparison of the expression with itself must hold.

    A call that makes an object does not count: its class defines when objects are equal. With `is`, a test
    may check a cache.
    """
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return not calls or (isinstance(op, ast.Eq) and not any(map(_makes_object, calls)))


def _makes_object(call: ast.Call) -> bool:
    return last_name(call.func).lstrip("_")[:1].isupper()


def _is_one_call(call: ast.expr, name: ast.expr, function: Function) -> bool:
    """Whether a name holds the result of the same call: `expected = f(2)`, then `f(2) == expected`."""
    return (
        isinstance(call, ast.Call)
        and not _makes_object(call)
        and _assignments_of(name, function) == [ast.unparse(call)]
    )


def _assignments_of(name: ast.expr, function: Function) -> list[str]:
    """The texts of all values that a name is assigned in the test."""
    texts = []
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.expr() as given) if bound == last_name(
                name
            ):
                texts.append(ast.unparse(given))
    return texts if isinstance(name, ast.Name) else []


def _is_alias(one: ast.expr, two: ast.expr, function: Function) -> bool:
    """Whether two names mean the same value: `b = a`, then `a == b`."""
    return any(
        _assignments_of(mine, function) == [ast.unparse(other)] for mine, other in ((one, two), (two, one))
    ) and all(isinstance(side, ast.Name) for side in (one, two))


def _is_settled(form: ast.expr) -> bool:
    """Whether an assertion contains no name and no call of the project."""
    match form:
        case ast.Call(func=ast.Name(id="with raises"), args=[_, ast.List(elts=done)]):
            return all(isinstance(one, ast.Constant) and one.value in {"pass", ...} for one in done)
        case ast.Call(func=ast.Name(id=name)) if name.startswith("with "):
            return False
        case _:
            return not _names([form])


def _names(forms: Iterable[ast.expr]) -> set[str]:
    names = {part.id for form in forms for part in ast.walk(form) if isinstance(part, ast.Name)}
    return {name for name in names if not hasattr(builtins, name)}


def _reassigned_names(function: Function) -> set[str]:
    """Names whose value may have changed by the time of the assertion."""
    changed = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)} - _parameter_names(
        function
    )
    for node in ast.walk(function):
        match node:
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                changed |= set(names)
            case ast.Assign(targets=[ast.Name(id=name)], value=given) if isinstance(given, _DISPLAYS):
                changed |= {name} if count_names(function, name, ast.Load) > 1 else set()
            case ast.Name(id=name, ctx=ast.Store()) if count_names(function, name, ast.Store) > 1:
                changed.add(name)
    return changed


def _parameter_names(function: Function) -> set[str]:
    parameters: set[str] = set()
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=func, args=[names, *_]) if last_name(func) == "parametrize":
                parameters |= set(parametrized_names(names))
    return parameters
