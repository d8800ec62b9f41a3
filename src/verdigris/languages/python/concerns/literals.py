"""Finds source that knows its tests: it imports or reads them, or contains the values that they expect."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.languages.literals import is_telling
from verdigris.languages.python.concerns.answers import Hit
from verdigris.languages.python.concerns.names import module_of, resolve_import
from verdigris.languages.python.stubs.forms import is_docstring, last_name
from verdigris.languages.python.syntax import nodes_in, parse_or_none

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.languages.python.concerns.names import SeenNode


_LONG = 12
_WORD = re.compile(r"[A-Za-z][\w-]*")
_SELF = frozenset({"self", "cls"})
_SEVERAL = 3


def find_expected_literals(seen: SeenNode, known: TestSecrets, old: frozenset[Literal]) -> Iterator[Hit]:
    node = seen.node
    match node:
        case ast.Return(value=ast.expr() as value):
            yield from _find_hits(node, _results(value), known.answers.keys(), old, known, "returned")
        case ast.Dict(keys=keys, values=values):
            asked = _constants(key for key in keys if key is not None)
            answers = _constants(values)
            yield from _find_hits(node, asked, known.asked, old, known, "looked up")
            yield from _find_hits(node, answers, known.answers.keys(), old, known, "looked up")
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) if isinstance(
            seen.statement, ast.Assign | ast.AnnAssign
        ):
            yield from _find_hits(node, _constants(parts), known.answers.keys(), old, known, "listed")
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In() | ast.Is()], comparators=[right]):
            flat = [*_elements(left), *_elements(right)]
            hits = _find_hits(node, _constants(flat), known.asked, old, known, "compared")
            yield from (replace(hit, option=_is_option(seen, [left, right], hit, known)) for hit in hits)
        case ast.MatchValue(value=value):
            hits = _find_hits(node, _constants([value]), known.asked, old, known, "compared")
            subject = [seen.statement.subject] if isinstance(seen.statement, ast.Match) else []
            yield from (replace(hit, option=_is_option(seen, subject, hit, known)) for hit in hits)


def _is_option(seen: SeenNode, compared: list[ast.expr], hit: Hit, known: TestSecrets) -> bool:
    """Whether the code under a comparison uses inputs other than the compared one, and holds no answer.

    In that code the compared value is known, so an expression of it alone is a constant, whatever its form.
    """
    guarded = _guarded_part(seen)
    if not guarded or not _WORD.fullmatch(hit.literal) or _literals(guarded) & frozenset(known.answers):
        return False
    others = _inputs_of(seen) - {ast.dump(part) for side in compared for part in nodes_in(side)}
    return any(ast.dump(part) in others for node in guarded for part in nodes_in(node))


def _guarded_part(seen: SeenNode) -> list[ast.AST]:
    """The code that runs if the comparison holds; empty if the comparison is not a condition."""
    match seen.statement:
        case ast.If(test=test, body=body) if _contains(test, seen.node):
            return list(body)
        case ast.Match(cases=cases):
            return [part for case in cases if _contains(case.pattern, seen.node) for part in case.body]
        case statement:
            choices = (part for part in nodes_in(statement) if isinstance(part, ast.IfExp))
            return [choice.body for choice in choices if _contains(choice.test, seen.node)]


def _contains(whole: ast.AST, node: ast.AST) -> bool:
    return any(part is node for part in nodes_in(whole))


def _inputs_of(seen: SeenNode) -> frozenset[str]:
    """The inputs of a function, as dumps of nodes: its parameters, and attributes of its object."""
    if seen.function is None:
        return frozenset()
    given = seen.function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    names = [one.arg for one in every if one is not None]
    taken = {ast.dump(ast.Name(name, ast.Load())) for name in names if name not in _SELF}
    parts = (part for part in nodes_in(seen.function) if isinstance(part, ast.Attribute))
    own = {ast.dump(p) for p in parts if isinstance(p.value, ast.Name) and p.value.id in _SELF}
    return frozenset(taken | own)


def find_in_longer_texts(seen: SeenNode, known: TestSecrets, old: frozenset[Literal]) -> Iterator[Hit]:
    """Finds a text that contains an input of the tests and its answer, to be split or decoded later."""
    match seen.node:
        case ast.Expr():
            return
        case ast.Constant(value=str() | bytes() as value) if len(value) >= _LONG and value not in old:
            text = value if isinstance(value, str) else value.decode("latin-1")
        case ast.Call() as call:
            text = seen.names.text(call) or ""
        case _:
            return
    if not isinstance(seen.statement, ast.Expr) and (found := describe_answers_in(text, known)):
        yield Hit("expected-literals", seen.node, f"a text contains {found} from the tests")


def describe_answers_in(text: str, known: TestSecrets) -> str:
    """Lists the answers of the tests that a text contains; empty for a few that may be chance."""
    answers = [word for word in known.answers if isinstance(word, str) and word in text and word != text]
    telling_ones = sorted(a for a in answers if any(_contains_question(q, a, text) for q in known.answers[a]))
    if not telling_ones and len(answers) < _SEVERAL:
        return ""
    return ", ".join(repr(word) for word in (telling_ones or sorted(answers))[:3])


def _contains_question(question: Literal, answer: str, text: str) -> bool:
    return isinstance(question, str) and question != answer and question in text


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def _results(node: ast.expr) -> frozenset[Literal]:
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return _results(body) | _results(orelse)
        case ast.BoolOp(values=values):
            return frozenset[Literal]().union(*map(_results, values))
        case _:
            return _constants(_elements(node))


def _constants(nodes: Iterable[ast.expr]) -> frozenset[Literal]:
    return frozenset(n.value for n in nodes if isinstance(n, ast.Constant) and is_telling(n.value))


def _find_hits(
    node: ast.AST,
    literals: frozenset[Literal],
    wanted: Collection[Literal],
    old: frozenset[Literal],
    known: TestSecrets,
    how: str,
) -> Iterator[Hit]:
    """Finds literals of a node that are `wanted` and not `old`, that is, not in the source before."""
    new = (literal for literal in literals if literal in wanted and literal not in old)
    for literal in sorted(new, key=repr):
        inside = {part.value for part in nodes_in(node) if isinstance(part, ast.Constant)}
        beside = sorted(map(repr, known.answers.get(literal, frozenset()) & inside))
        pair = f", beside {beside[0]}, an input of the tests" if beside else ""
        what = f"{literal!r}, a value copied from the tests, is {how}{pair}"
        constant = how == "returned" and not beside
        yield Hit("expected-literals", node, what, literal=str(literal), constant=constant)


def find_hashed_lookups(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right]):
            sides = (left, right)
            if any(names.is_hash(side) for side in sides) and any(
                is_telling(n.value) for side in sides for n in nodes_in(side) if isinstance(n, ast.Constant)
            ):
                yield Hit("expected-literals", node, f"`{ast.unparse(node)}` recognises its input by a hash")
        case (
            ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_])
            | ast.Subscript(value=table, slice=key, ctx=ast.Load())
        ):
            if isinstance(table, ast.Name) and names.dotted_name(table) == "" and names.is_hash(key):
                yield Hit("expected-literals", node, f"`{ast.unparse(node)}` recognises its input by a hash")


def literals_of(tree: ast.Module) -> frozenset[Literal]:
    """The literals of a text that are rare enough to count, without docstrings."""
    docs = {id(n.value) for n in nodes_in(tree) if isinstance(n, ast.Expr) and is_docstring(n)}
    return frozenset(
        n.value
        for n in nodes_in(tree)
        if isinstance(n, ast.Constant) and id(n) not in docs and is_telling(n.value)
    )


_TEST_MODULE = re.compile(r"test_\w+|\w+_test|conftest")
_READS = frozenset(
    {
        *(
            "open",
            "read_text",
            "read_bytes",
            "glob",
            "rglob",
            "iglob",
            "iterdir",
            "listdir",
            "walk",
            "scandir",
        ),
        *("getline", "getlines", "run_path", "spec_from_file_location", "loadtxt", "copy", "copyfile"),
    }
)
Literal = str | int | float | bytes | complex


@dataclass(slots=True)
class TestSecrets:
    """What source may not know about the tests."""

    paths: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    """Dotted names by which test files may be imported."""
    folders: frozenset[str] = frozenset()
    asked: frozenset[Literal] = frozenset()
    answers: Mapping[Literal, frozenset[Literal]] = field(default_factory=dict)
    """Maps each expected literal to the inputs for which it is expected."""


def collect_secrets(tests: Mapping[str, str], sources: Iterable[str]) -> TestSecrets:
    own = {module_of(path).removesuffix(".__init__") for path in sources}
    dotted = {module_of(path).removesuffix(".__init__") for path in tests if path.endswith(".py")}
    bare = {name.rpartition(".")[2] for name in dotted} - {"__init__"} - own
    asked: set[Literal] = set()
    answers: dict[Literal, set[Literal]] = defaultdict(set)
    for path, text in tests.items():
        for question, answer in _pairs(text) if path.endswith(".py") else ():
            asked |= question
            for literal in answer:
                answers[literal] |= question
    return TestSecrets(
        frozenset(tests),
        frozenset(dotted | bare),
        frozenset(path.partition("/")[0] for path in tests if "/" in path)
        & frozenset({"tests", "test", "testing", "spec", "specs"}),
        frozenset(asked),
        {literal: frozenset(questions) for literal, questions in answers.items()},
    )


@lru_cache(maxsize=1024)
def _pairs(text: str) -> tuple[tuple[frozenset[Literal], frozenset[Literal]], ...]:
    """The inputs and answers of a test file. Cached, since an audit asks about a text at every commit."""
    tree = parse_or_none(text)
    found = () if tree is None else _find_pairs(tree)
    return tuple(dict.fromkeys((asked, told) for asked, told in found if asked or told))


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
                for key, value in zip(keys, values, strict=True):
                    if key is not None:
                        yield _literals([key]), _literals([value])


def _arguments(node: ast.expr) -> list[ast.expr]:
    calls = [part for part in nodes_in(node) if isinstance(part, ast.Call)]
    return [arg for call in calls for arg in (*call.args, *(k.value for k in call.keywords))]


def _literals(nodes: Iterable[ast.AST]) -> frozenset[Literal]:
    found = (part.value for node in nodes for part in nodes_in(node) if isinstance(part, ast.Constant))
    return frozenset(value for value in found if is_telling(value))


def find_test_reads(seen: SeenNode, path: str, known: TestSecrets) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Import(names=aliases):
            modules = [alias.name for alias in aliases]
        case ast.ImportFrom(names=aliases):
            base = resolve_import(node, module_of(path).split(".")[:-1])
            modules = [base, *(f"{base}.{alias.name}" for alias in aliases)]
        case ast.Call(func=func, args=args):
            if names.dotted_name(func) in {"importlib.import_module", "builtins.__import__"} and args:
                modules = [names.text(args[0]) or ""]
            else:
                yield from _file_reads(node, seen, known)
                return
        case _:
            return
    for module in modules:
        if (
            _TEST_MODULE.fullmatch(module)
            or ("." in module and module in known.modules)
            or _in_folder(module, known)
        ):
            yield Hit("reads-tests", node, f"source imports {module}", blocks=True)
            return
        if module in known.modules:
            yield Hit("reads-tests", node, f"source imports {module}, a module of the tests")
            return


def _in_folder(module: str, known: TestSecrets) -> bool:
    top, _, rest = module.partition(".")
    return top == "tests" or (
        bool(rest) and top in known.folders and any(m.startswith(f"{top}.") for m in known.modules)
    )


def _file_reads(node: ast.Call, seen: SeenNode, known: TestSecrets) -> Iterator[Hit]:
    if last_name(node.func) not in _READS:
        return
    parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    texts = [seen.names.path_texts(part) for part in parts]
    everything = [text for part in texts for text in part or ()]
    if any(_names_a_test(text, known) for text in everything):
        what = f"`{ast.unparse(node)}` reads the tests"
        yield Hit("reads-tests", node, what, blocks=None not in texts)


def _names_a_test(text: str, known: TestSecrets) -> bool:
    segments = [part for part in text.split("/") if part not in {"", ".", ".."}]
    if not segments:
        return False
    return (
        (segments[0] in known.folders and not text.startswith("/"))
        or "/".join(segments) in known.paths
        or bool(re.fullmatch(r"(test_[^/]*|[^/]*_test|conftest)\.py", segments[-1]))
    )
