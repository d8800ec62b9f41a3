"""Finds source that knows its tests: it imports them, or contains the values that they expect."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.languages.findings import Concern
from verdigris.languages.literals import is_telling
from verdigris.languages.python.modules import module_of, package_of, resolve_import
from verdigris.languages.python.stubs.forms import Function, is_docstring, last_name
from verdigris.languages.python.syntax import nodes_in, parse_or_none

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

Literal = str | int | float | bytes | complex
_LONG = 12
_SEVERAL = 3
_WORD = re.compile(r"[A-Za-z][\w-]*")
_SEQUENCE = (ast.Tuple, ast.List, ast.Set)


@value
class TestSecrets:
    """What source may not know about the tests."""

    __test__ = False

    modules: frozenset[str]
    """Dotted names by which test files may be imported."""
    asked: frozenset[Literal]
    answers: Mapping[Literal, frozenset[Literal]]
    """Maps each expected literal to the inputs for which it is expected."""
    old: frozenset[Literal]
    """The literals of all source before the change, which may go on knowing them."""


def collect_secrets(
    tests: Mapping[str, str], sources: Iterable[str], old: Iterable[ast.Module]
) -> TestSecrets:
    own = {module_of(path).removesuffix(".__init__") for path in sources}
    dotted = {module_of(path).removesuffix(".__init__") for path in tests if path.endswith(".py")}
    bare = {name.rpartition(".")[2] for name in dotted} - {"__init__"} - own
    asked: set[Literal] = set()
    answers: dict[Literal, frozenset[Literal]] = defaultdict(frozenset)
    for path, text in tests.items():
        for question, answer in _pairs(text) if path.endswith(".py") else ():
            asked |= question
            for literal in answer:
                answers[literal] |= question
    known = frozenset[Literal]().union(*map(_literals_of_source, old))
    return TestSecrets(frozenset(dotted | bare), frozenset(asked), dict(answers), known)


@lru_cache(maxsize=1024)
def _pairs(text: str) -> tuple[tuple[frozenset[Literal], frozenset[Literal]], ...]:
    """The inputs and answers of a test file. Cached, since an audit asks about a text at every commit."""
    tree = parse_or_none(text)
    pairs = () if tree is None else _find_pairs(tree)
    return tuple(dict.fromkeys((asked, answered) for asked, answered in pairs if asked or answered))


def _find_pairs(tree: ast.Module) -> Iterator[tuple[frozenset[Literal], frozenset[Literal]]]:
    """The literals that each assertion, or each row of a table, passes in; and those that it expects."""
    for node in nodes_in(tree):
        match node:
            case ast.Assert(test=ast.Compare(left=left, comparators=[right])):
                yield _literals(_arguments(left) or [left]), _literals([right])
            case ast.Call(func=func, args=[left, right, *_]) if last_name(func).startswith("assert"):
                yield _literals(_arguments(left) or [left]), _literals([right])
            case ast.List(elts=rows) | ast.Tuple(elts=rows):
                for row in rows:
                    if isinstance(row, ast.Tuple) and len(row.elts) > 1:
                        yield _literals(row.elts[:-1]), _literals(row.elts[-1:])
            case ast.Dict(keys=keys, values=values):
                for key, answer in zip(keys, values, strict=True):
                    if key is not None:
                        yield _literals([key]), _literals([answer])


def _arguments(node: ast.expr) -> list[ast.expr]:
    calls = [part for part in nodes_in(node) if isinstance(part, ast.Call)]
    return [arg for call in calls for arg in (*call.args, *(k.value for k in call.keywords))]


def _literals(nodes: Iterable[ast.AST]) -> frozenset[Literal]:
    return _constants(part for node in nodes for part in nodes_in(node))


def _constants(nodes: Iterable[ast.AST | None]) -> frozenset[Literal]:
    return frozenset(n.value for n in nodes if isinstance(n, ast.Constant) and is_telling(n.value))


def _literals_of_source(tree: ast.Module) -> frozenset[Literal]:
    docs = {node.value for node in nodes_in(tree) if isinstance(node, ast.Expr) and is_docstring(node)}
    return _constants(node for node in nodes_in(tree) if node not in docs)


def find_secrets(path: str, body: Sequence[ast.stmt], secrets: TestSecrets) -> Iterator[Concern]:
    for at in _seen(path, body, None):
        yield from _find_imports(at, secrets)
        yield from _find_expected(at, secrets)


@value
class _Seen:
    node: ast.AST
    statement: ast.stmt
    function: Function | None
    path: str

    def concern(self, kind: str, what: str, *, blocks: bool = False) -> Concern:
        return Concern(kind, self.path, getattr(self.node, "lineno", self.statement.lineno), what, blocks)


def _seen(path: str, body: Iterable[ast.stmt], function: Function | None) -> Iterator[_Seen]:
    """Every node below some statements, with the innermost statement and function around it."""
    stack: list[_Seen] = [_Seen(node, node, function, path) for node in body]
    while stack:
        at = stack.pop()
        yield at
        inside = at.node if isinstance(at.node, Function) else at.function
        stack += [
            _Seen(child, child if isinstance(child, ast.stmt) else at.statement, inside, path)
            for child in ast.iter_child_nodes(at.node)
        ]


def _find_expected(at: _Seen, secrets: TestSecrets) -> Iterator[Concern]:
    expected = secrets.answers.keys()
    match at.node:
        case ast.Return(value=ast.expr() as answer) | ast.Yield(value=ast.expr() as answer):
            yield from _copied(at, secrets, _results(answer), expected, "returned")
        case ast.Dict(keys=keys, values=values):
            yield from _copied(at, secrets, _constants(keys), secrets.asked, "looked up")
            yield from _copied(at, secrets, _constants(values), expected, "looked up")
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            if isinstance(at.statement, ast.Assign | ast.AnnAssign):
                yield from _copied(at, secrets, _constants(parts), expected, "listed")
        case ast.Subscript(value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
            yield from _copied(at, secrets, _constants(parts), expected, "looked up")
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In() | ast.Is()], comparators=[right]):
            sides = _constants([*_elements(left), *_elements(right)])
            yield from _copied(at, secrets, sides, secrets.asked, "compared", [left, right])
        case ast.MatchValue(value=compared):
            subject = [at.statement.subject] if isinstance(at.statement, ast.Match) else []
            yield from _copied(at, secrets, _constants([compared]), secrets.asked, "compared", subject)
        case ast.Constant(value=str() | bytes() as text) if len(text) >= _LONG and text not in secrets.old:
            plain = text if isinstance(text, str) else text.decode("latin-1")
            answers = "" if isinstance(at.statement, ast.Expr) else _describe_answers_in(plain, secrets)
            if answers:
                yield at.concern("expected-literals", f"a text contains {answers} from the tests")


def _copied(
    at: _Seen,
    secrets: TestSecrets,
    literals: frozenset[Literal],
    wanted: Collection[Literal],
    how: str,
    compared: Iterable[ast.expr] = (),
) -> Iterator[Concern]:
    """One concern for the literals of a node that are `wanted` and were not in the source before."""
    known = sorted((one for one in literals if one in wanted and one not in secrets.old), key=repr)
    if not known:
        return
    inside = _literals([at.node])
    beside = sorted(
        {repr(asked) for one in known for asked in secrets.answers.get(one, frozenset()) & inside}
    )
    pair = f", beside {beside[0]}, an input of the tests" if beside else ""
    shown = ", ".join(map(repr, known[:_SEVERAL]))
    more = f" and {len(known) - _SEVERAL} more" if len(known) > _SEVERAL else ""
    concern = at.concern("expected-literals", f"{shown}{more}: copied from the tests, and {how}{pair}")
    yield replace(
        concern,
        literals=tuple(map(str, known)),
        constant=how == "returned" and not beside,
        option=how == "compared" and _is_option(at, compared, secrets, known),
    )


def _is_option(
    at: _Seen, compared: Iterable[ast.expr], secrets: TestSecrets, known: Iterable[Literal]
) -> bool:
    """Whether the code under a comparison uses inputs other than the compared one, and holds no answer.

    In that code the compared value is known, so an expression of it alone is a constant, whatever its form.
    """
    guarded = [part for node in _guarded_part(at) for part in nodes_in(node)]
    words = all(_WORD.fullmatch(str(literal)) for literal in known)
    if not guarded or not words or _constants(guarded) & secrets.answers.keys():
        return False
    others = _inputs_of(at) - {ast.dump(part) for side in compared for part in nodes_in(side)}
    return any(ast.dump(part) in others for part in guarded)


def _guarded_part(at: _Seen) -> list[ast.AST]:
    """The code that runs if the comparison holds; empty if the comparison is not a condition."""
    match at.statement:
        case ast.If(test=test, body=body) if at.node in nodes_in(test):
            return list(body)
        case ast.Match(cases=cases):
            return [part for case in cases if at.node in nodes_in(case.pattern) for part in case.body]
        case statement:
            choices = (part for part in nodes_in(statement) if isinstance(part, ast.IfExp))
            return [choice.body for choice in choices if at.node in nodes_in(choice.test)]


def _inputs_of(at: _Seen) -> frozenset[str]:
    """The inputs of a function, as dumps of nodes: its parameters, and attributes of its object."""
    inside = [] if at.function is None else nodes_in(at.function)
    names = {part.arg for part in inside if isinstance(part, ast.arg)} - {"self", "cls"}
    own = {
        ast.dump(part)
        for part in inside
        if isinstance(part, ast.Attribute)
        and isinstance(part.value, ast.Name)
        and part.value.id in {"self", "cls"}
    }
    return frozenset({f"Name(id={name!r}, ctx=Load())" for name in names} | own)


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, _SEQUENCE) else [node]


def _results(node: ast.expr) -> frozenset[Literal]:
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return _results(body) | _results(orelse)
        case ast.BoolOp(values=values):
            return frozenset[Literal]().union(*map(_results, values))
    return _constants(_elements(node))


def _describe_answers_in(text: str, secrets: TestSecrets) -> str:
    """Lists the answers of the tests that a text contains; empty for a few that may be chance."""
    answers = [word for word in secrets.answers if isinstance(word, str) and word in text and word != text]
    paired = sorted(
        answer
        for answer in answers
        if any(isinstance(q, str) and q != answer and q in text for q in secrets.answers[answer])
    )
    if not paired and len(answers) < _SEVERAL:
        return ""
    return ", ".join(repr(word) for word in (paired or sorted(answers))[:3])


_TEST_MODULE = re.compile(r"test_\w+|\w+_test|conftest|tests(?:\..*)?")


def _find_imports(at: _Seen, secrets: TestSecrets) -> Iterator[Concern]:
    """What a test module computes is no work of the source."""
    match at.node:
        case ast.Import(names=aliases):
            modules = [alias.name for alias in aliases]
        case ast.ImportFrom(names=aliases) as node:
            base = resolve_import(node, package_of(at.path))
            modules = [base, *(f"{base}.{alias.name}" for alias in aliases)]
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if last_name(func) in _IMPORTS:
            modules = [name]
        case _:
            return
    for module in modules:
        of_tests = bool(_TEST_MODULE.fullmatch(module)) or ("." in module and module in secrets.modules)
        if of_tests or module in secrets.modules:
            what = f"source imports {module}{'' if of_tests else ', a module of the tests'}"
            yield at.concern("reads-tests", what, blocks=of_tests)
            return


_IMPORTS = frozenset({"import_module", "__import__"})
