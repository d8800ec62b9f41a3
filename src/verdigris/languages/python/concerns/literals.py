"""Finds source that knows its tests: it imports or reads them, or contains the values that they expect."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.literals import is_telling
from verdigris.languages.python.modules import module_of, package_of, resolve_import
from verdigris.languages.python.stubs.forms import is_docstring, last_name
from verdigris.languages.python.syntax import nodes_in, parse_or_none

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.languages.findings import Concern
    from verdigris.languages.python.concerns.names import SeenNode

Literal = str | int | float | bytes | complex
_LONG = 12
_SEVERAL = 3
_WORD = re.compile(r"[A-Za-z][\w-]*")
_SELF = frozenset({"self", "cls"})
_SEQUENCE = (ast.Tuple, ast.List, ast.Set)


@value
class TestSecrets:
    """What source may not know about the tests."""

    __test__ = False

    paths: frozenset[str]
    modules: frozenset[str]
    """Dotted names by which test files may be imported."""
    folders: frozenset[str]
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
    tops = {path.partition("/")[0] for path in tests if "/" in path}
    folders = tops & {"tests", "test", "testing", "spec", "specs"}
    known = frozenset[Literal]().union(*map(_literals_of_source, old))
    return TestSecrets(
        frozenset(tests), frozenset(dotted | bare), frozenset(folders), frozenset(asked), dict(answers), known
    )


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


def find_expected_literals(at: SeenNode, secrets: TestSecrets) -> Iterator[Concern]:
    expected = secrets.answers.keys()
    match at.node:
        case ast.Return(value=ast.expr() as answer):
            yield from _copied(at, secrets, _results(answer), expected, "returned")
        case ast.Dict(keys=keys, values=values):
            yield from _copied(at, secrets, _constants(keys), secrets.asked, "looked up")
            yield from _copied(at, secrets, _constants(values), expected, "looked up")
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            if isinstance(at.statement, ast.Assign | ast.AnnAssign):
                yield from _copied(at, secrets, _constants(parts), expected, "listed")
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In() | ast.Is()], comparators=[right]):
            sides = _constants([*_elements(left), *_elements(right)])
            yield from _copied(at, secrets, sides, secrets.asked, "compared", [left, right])
        case ast.MatchValue(value=compared):
            subject = [at.statement.subject] if isinstance(at.statement, ast.Match) else []
            yield from _copied(at, secrets, _constants([compared]), secrets.asked, "compared", subject)


def _copied(
    at: SeenNode,
    secrets: TestSecrets,
    literals: frozenset[Literal],
    wanted: Collection[Literal],
    how: str,
    compared: Iterable[ast.expr] = (),
) -> Iterator[Concern]:
    """Finds literals of a node that are `wanted` and were not in the source before."""
    for literal in sorted((one for one in literals if one in wanted and one not in secrets.old), key=repr):
        inside = {part.value for part in nodes_in(at.node) if isinstance(part, ast.Constant)}
        beside = sorted(map(repr, secrets.answers.get(literal, frozenset()) & inside))
        pair = f", beside {beside[0]}, an input of the tests" if beside else ""
        yield at.concern(
            "expected-literals",
            f"{literal!r}, a value copied from the tests, is {how}{pair}",
            literal=str(literal),
            constant=how == "returned" and not beside,
            option=how == "compared" and _is_option(at, compared, str(literal), secrets),
        )


def _is_option(at: SeenNode, compared: Iterable[ast.expr], literal: str, secrets: TestSecrets) -> bool:
    """Whether the code under a comparison uses inputs other than the compared one, and holds no answer.

    In that code the compared value is known, so an expression of it alone is a constant, whatever its form.
    """
    guarded = [part for node in _guarded_part(at) for part in nodes_in(node)]
    if not guarded or not _WORD.fullmatch(literal) or _constants(guarded) & secrets.answers.keys():
        return False
    others = _inputs_of(at) - {ast.dump(part) for side in compared for part in nodes_in(side)}
    return any(ast.dump(part) in others for part in guarded)


def _guarded_part(at: SeenNode) -> list[ast.AST]:
    """The code that runs if the comparison holds; empty if the comparison is not a condition."""
    match at.statement:
        case ast.If(test=test, body=body) if at.node in nodes_in(test):
            return list(body)
        case ast.Match(cases=cases):
            return [part for case in cases if at.node in nodes_in(case.pattern) for part in case.body]
        case statement:
            choices = (part for part in nodes_in(statement) if isinstance(part, ast.IfExp))
            return [choice.body for choice in choices if at.node in nodes_in(choice.test)]


def _inputs_of(at: SeenNode) -> frozenset[str]:
    """The inputs of a function, as dumps of nodes: its parameters, and attributes of its object."""
    inside = [] if at.function is None else nodes_in(at.function)
    inputs = {f"Name(id={part.arg!r}, ctx=Load())" for part in inside if isinstance(part, ast.arg)}
    for part in inside:
        match part:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                inputs.add(ast.dump(part))
    return frozenset(inputs - {f"Name(id={name!r}, ctx=Load())" for name in _SELF})


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, _SEQUENCE) else [node]


def _results(node: ast.expr) -> frozenset[Literal]:
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return _results(body) | _results(orelse)
        case ast.BoolOp(values=values):
            return frozenset[Literal]().union(*map(_results, values))
    return _constants(_elements(node))


def find_in_longer_texts(at: SeenNode, secrets: TestSecrets) -> Iterator[Concern]:
    """Finds a text that contains an input of the tests and its answer, to be split or decoded later."""
    match at.node:
        case ast.Constant(value=str() | bytes() as constant) if len(constant) >= _LONG:
            text = "" if constant in secrets.old else at.names.constant(at.node)
        case ast.Call():
            text = at.names.constant(at.node)
        case _:
            return
    if text and not isinstance(at.statement, ast.Expr) and (answers := describe_answers_in(text, secrets)):
        yield at.concern("expected-literals", f"a text contains {answers} from the tests")


def describe_answers_in(text: str, secrets: TestSecrets) -> str:
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


def find_hashed_lookups(at: SeenNode) -> Iterator[Concern]:
    match at.node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right]):
            hit = bool(_literals([left, right])) and any(map(at.names.is_hash, (left, right)))
        case (
            ast.Call(func=ast.Attribute(value=ast.Name() as table, attr="get"), args=[key, *_])
            | ast.Subscript(value=ast.Name() as table, slice=key, ctx=ast.Load())
        ):
            hit = not re.fullmatch(r"[\w.]+", at.text(table)) and at.names.is_hash(key)
        case _:
            return
    if hit:
        yield at.concern("expected-literals", f"`{ast.unparse(at.node)}` recognises its input by a hash")


_TEST_MODULE = re.compile(r"test_\w+|\w+_test|conftest")
_TEST_FILE = re.compile(r"(test_[^/]*|[^/]*_test|conftest)\.py")
_READS = frozenset(
    {
        *("open", "read_text", "read_bytes", "glob", "rglob", "iglob", "iterdir", "listdir", "walk"),
        *("scandir", "getline", "getlines", "run_path", "spec_from_file_location", "loadtxt", "copy"),
        "copyfile",
    }
)


def find_test_reads(at: SeenNode, secrets: TestSecrets) -> Iterator[Concern]:
    match at.node:
        case ast.Import(names=aliases):
            modules = [alias.name for alias in aliases]
        case ast.ImportFrom(names=aliases) as node:
            base = resolve_import(node, package_of(at.path))
            modules = [base, *(f"{base}.{alias.name}" for alias in aliases)]
        case ast.Call(func=func, args=[name, *_]) if at.text(func) in _IMPORTS:
            modules = [at.names.constant(name) or ""]
        case ast.Call() as node if last_name(node.func) in _READS:
            yield from _file_reads(at, node, secrets)
            return
        case _:
            return
    for module in modules:
        top, dot, _ = module.partition(".")
        folder = top == "tests" or (
            dot and top in secrets.folders and any(known.startswith(f"{top}.") for known in secrets.modules)
        )
        if _TEST_MODULE.fullmatch(module) or folder or (dot and module in secrets.modules):
            yield at.concern("reads-tests", f"source imports {module}", blocks=True)
            return
        if module in secrets.modules:
            yield at.concern("reads-tests", f"source imports {module}, a module of the tests")
            return


_IMPORTS = frozenset({"importlib.import_module", "builtins.__import__"})


def _file_reads(at: SeenNode, node: ast.Call, secrets: TestSecrets) -> Iterator[Concern]:
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    texts = [at.text(part) for part in (*node.args, *owner)]
    known = [text for text in texts if "$" not in text]
    if any(_names_a_test(path, secrets) for text in known for path in re.findall("‹([^›]*)›", text)):
        what = f"`{ast.unparse(node)}` reads the tests"
        yield at.concern("reads-tests", what, blocks=known == texts)


def _names_a_test(text: str, secrets: TestSecrets) -> bool:
    segments = [part for part in text.split("/") if part not in {"", ".", ".."}]
    if not segments:
        return False
    inside = segments[0] in secrets.folders and not text.startswith("/")
    return inside or "/".join(segments) in secrets.paths or bool(_TEST_FILE.fullmatch(segments[-1]))
