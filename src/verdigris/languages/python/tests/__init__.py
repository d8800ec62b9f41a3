"""Reads a test file without running it: tests, assertions, skips."""

from __future__ import annotations

import ast
import builtins
import tokenize
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from verdigris.core.value import replace, value
from verdigris.languages.assertions import Assertion, Name, TestFile
from verdigris.languages.python.stubs.forms import Function, last_name, parametrized_names
from verdigris.languages.python.syntax import first_line, nodes_in, parse, parse_or_none
from verdigris.languages.python.tests.marks import marks
from verdigris.languages.test_comments import Comment, Declared, assign_comments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verdigris.languages.findings import TestComment


def read_test_comments(text: str) -> tuple[TestComment, ...]:
    """Lists comments in the order of the text; empty if the text does not parse."""
    if (tree := parse_or_none(text)) is None:
        return ()
    declared = [
        Declared(first_line(node), node.lineno, name if isinstance(node, Function) else None)
        for name, node in definitions(tree.body)
    ]
    return assign_comments(_comments(text), sorted(declared, key=lambda place: place.line))


def definitions(body: Iterable[ast.AST], prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """The classes and functions of a file by `Class::name`, also in blocks; not those in functions."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + node.name, node
            case ast.ClassDef():
                yield prefix + node.name, node
                yield from definitions(node.body, f"{prefix}{node.name}::")
            case ast.stmt() | ast.ExceptHandler():
                yield from definitions(ast.iter_child_nodes(node), prefix)


def _comments(text: str) -> Iterator[Comment]:
    """The comments of a text; strings do not count, which may quote a mark."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(iter([*lines, ""]).__next__):
        if token.type == tokenize.COMMENT:
            is_alone = not token.line[: token.start[1]].strip()
            yield Comment(token.start[0], token.string, is_alone)


_CONTEXTS = frozenset({"raises", "warns", "deprecated_call", "suppress"})
LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break
_BLOCKS = ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.With | ast.AsyncWith | ast.Match
_IGNORED = frozenset({"ctx", "kind", "type_comment", "msg", "type_ignores"})


class Where(Protocol):
    """Where a statement stands: what guards it, and what else a reader keeps."""

    def after(self, node: ast.stmt) -> Self:
        """The place behind a statement that may leave the block."""
        ...


P = TypeVar("P", bound=Where)


def walk_statements(
    body: Sequence[ast.stmt], at: P, blocks: Callable[[ast.stmt, P], Iterable[tuple[Sequence[ast.stmt], P]]]
) -> Iterator[tuple[ast.stmt, P]]:
    """The statements that may run, in their order, each with its place.

    `blocks`: the blocks of a statement, each with the place inside it.
    """
    for node in visible_statements(body):
        yield node, at
        for block, inside in blocks(node, at):
            yield from walk_statements(block, inside, blocks)
        if isinstance(node, LEAVES):
            return
        if isinstance(node, _BLOCKS) and any(isinstance(inner, LEAVES) for inner in nodes_in(node)):
            at = at.after(node)


def visible_statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Leaves out definitions that a later binding of the same name hides, since they never run."""
    last = {name: node for node in body for name in _names_bound_by(node)}
    return [node for node in body if not isinstance(node, Function | ast.ClassDef) or last[node.name] is node]


def _names_bound_by(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases]
        case _:
            return []


@value
class _Where:
    scope: str = ""
    local: frozenset[str] = frozenset()
    guards: tuple[Any, ...] = ()

    def under(self, *guard: Any) -> _Where:
        return replace(self, guards=(*self.guards, *guard))

    def after(self, node: ast.stmt) -> _Where:
        return self.under("after", node)

    def inside(self, node: Function | ast.ClassDef) -> _Where:
        own = local_names(node) if isinstance(node, Function) else frozenset[str]()
        return _Where(_join(self.scope, node.name), self.local | own)


@lru_cache(maxsize=256)
def read(text: str) -> TestFile:
    """Reads a test file. Raises SyntaxError if the text does not parse.

    Cached, since a comparison of suites reads the same texts many times.
    """
    tree = parse(text)
    statements = walk_statements(tree.body, _Where(), _blocks)
    return TestFile(
        tuple(assertion for node, where in statements for assertion in _assertions(node, where)),
        tuple(collected_tests(tree)),
        tuple(mark for mark in marks(tree) if mark.kind == "skipped"),
    )


def _blocks(node: ast.stmt, where: _Where) -> Iterator[tuple[Sequence[ast.stmt], _Where]]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.body, where.inside(node)
        case ast.With() | ast.AsyncWith():
            yield node.body, where.under(*asserting_contexts(node))
        case _:
            yield from ((block, where.under(*guard)) for block, guard in branches(node))


def _assertions(node: ast.stmt, where: _Where) -> Iterator[Assertion]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            inner = where.inside(node)
            yield from (row for decorator in node.decorator_list for row in _rows(decorator, inner))
        case ast.Assert(test=test):
            yield _assertion(node, f"assert {ast.unparse(test)}", (test,), where)
        case ast.Expr(value=value) if is_assertion(node):
            yield _assertion(node, ast.unparse(value), (value,), where)
        case ast.With(body=body) | ast.AsyncWith(body=body) if is_assertion(node):
            checks = asserting_contexts(node)
            what = ", ".join(map(ast.unparse, checks))
            yield _assertion(node, f"with {what}", (checks, body), where)


def branches(node: ast.stmt) -> Iterator[tuple[Sequence[ast.stmt], tuple[Any, ...]]]:
    """The blocks of a statement, each with the condition under which it runs."""
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            yield from ((body, ("if", test)), (orelse, ("else", test)))
        case ast.For() | ast.AsyncFor():
            yield from ((node.body, ("for", node.target, node.iter)), (node.orelse, ("for-else", node.iter)))
        case ast.While(test=test, body=body, orelse=orelse):
            yield from ((body, ("while", test)), (orelse, ("while-else", test)))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            yield body, ("try", *(handler.type for handler in handlers))
            yield from ((handler.body, ("except", handler.type)) for handler in handlers)
            yield from ((orelse, ("try-else",)), (finalbody, ()))
        case ast.Match(subject=subject, cases=cases):
            yield from ((case.body, ("match", subject, case.pattern, case.guard)) for case in cases)


def _rows(decorator: ast.expr, where: _Where) -> Iterator[Assertion]:
    match decorator:
        case ast.Call(func=func, args=[names, values, *_]) if last_name(func) == "parametrize":
            rows = values.elts if isinstance(values, ast.List | ast.Tuple) else [values]
            parameters = [*map(ast.arg, parametrized_names(names))]
            for row in rows:
                yield _assertion(row, f"parametrize {ast.unparse(row)}", (parameters, _row(row)), where)


def _row(row: ast.expr) -> Any:
    """The cells of a row; `pytest.param(1, 2, id="x")` is the same row as `(1, 2)`."""
    match row:
        case ast.Call(func=func, args=args, keywords=keywords) if last_name(func) == "param":
            marks = [keyword for keyword in keywords if keyword.arg != "id"]
            return [*args, *marks]
        case ast.Tuple(elts=parts):
            return list(parts)
        case _:
            return [row]


def _assertion(node: ast.stmt | ast.expr, what: str, parts: tuple[Any, ...], where: _Where) -> Assertion:
    kind = type(node).__name__ if isinstance(node, ast.stmt) else "row"
    shape = Shape(where.local, loose=True)
    text = shape.write([*where.guards, kind, *parts])
    return Assertion(node.lineno, what, where.scope, text, tuple(shape.names))


class Shape:
    """Writes code with placeholders for names that may be renamed, and lists these names."""

    def __init__(self, local: frozenset[str], *, loose: bool) -> None:
        """`loose`: leaves every name open to a rename, not only the local ones."""
        self.local, self.loose = local, loose
        self.names: list[Name] = []

    def write(self, node: Any) -> str:
        match node:
            case ast.Name(id=text) | ast.alias(name=text) | ast.arg(arg=text):
                return self._take(text, local=text in self.local)
            case ast.Attribute(value=value, attr=text):
                return f"{self.write(value)}.{self._take(text)}"
            case ast.keyword(arg=str(text), value=value):
                return f"{self._take(text)}={self.write(value)}"
            case ast.AST():
                fields = (self.write(part) for key, part in ast.iter_fields(node) if key not in _IGNORED)
                return f"{type(node).__name__}({','.join(fields)})"
            case list() | tuple():
                return f"[{','.join(map(self.write, node))}]"
            case _:
                return repr(node)

    def _take(self, text: str, *, local: bool = False) -> str:
        if not local and (not self.loose or _is_fixed(text)):
            return text
        self.names.append(Name(text, local))
        return "$" if local else "@"


def _is_fixed(name: str) -> bool:
    """Whether a name is one of the language or of a test tool: nobody renames these."""
    return hasattr(builtins, name) or name in _CONTEXTS | {"pytest", "approx"} or _is_assert_name(name)


def local_names(node: Function) -> frozenset[str]:
    """The parameters and assigned names of a function, with those of functions inside it."""
    stored = (
        part for part in nodes_in(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )
    parameters = (part.arg for part in nodes_in(node) if isinstance(part, ast.arg))
    return frozenset([*parameters, *(part.id for part in stored)])


def is_assertion(node: ast.stmt) -> bool:
    """Whether a statement itself asserts, not what stands in its blocks."""
    match node:
        case ast.Assert():
            return True
        case ast.Expr(value=value):
            return any(map(is_assert_call, nodes_in(value)))
        case ast.With() | ast.AsyncWith():
            return any(last_name(check.func) != "suppress" for check in asserting_contexts(node))
        case _:
            return False


def is_assert_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        _is_assert_name(last_name(node.func)) or last_name(node.func) in {"fail", "raises"}
    )


def fails(node: ast.AST) -> bool:
    """Whether a node fails a test in source that tests assert with."""
    match node:
        case ast.Assert():
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError")) | ast.Name(id="AssertionError")):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.startswith("assert") or ast.unparse(node.func) == "pytest.fail"
        case _:
            return False


def failing_condition(node: ast.AST) -> ast.expr | None:
    """The condition of `if C: raise AssertionError`, which asserts the opposite; None for anything else."""
    match node:
        case ast.If(test=test, body=[ast.Raise() as failure], orelse=[]) if fails(failure):
            return test
        case _:
            return None


def asserting_contexts(node: ast.With | ast.AsyncWith) -> list[ast.Call]:
    """The contexts that expect an error or a warning in the block, or that suppress one."""
    calls = (item.context_expr for item in node.items)
    return [
        call
        for call in calls
        if isinstance(call, ast.Call)
        if _is_assert_name(last_name(call.func)) or last_name(call.func) in _CONTEXTS
    ]


def _is_assert_name(name: str) -> bool:
    return name.lower().startswith("assert")


def collected_tests(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """`Class::name` and line of each test that a runner would collect by its name."""
    return _tests(tree.body, "")


def _tests(body: Sequence[ast.stmt], scope: str) -> Iterator[tuple[str, int]]:
    for node in visible_statements(body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                if not is_fixture(node):
                    yield _join(scope, name), node.lineno
            case ast.ClassDef(name=name, bases=bases, body=body):
                methods = {part.name for part in body if isinstance(part, Function)}
                if bases or (name.startswith("Test") and "__init__" not in methods):
                    yield from _tests(body, _join(scope, name))


def is_fixture(function: Function) -> bool:
    return "fixture" in decorators(function)


def decorators(function: Function) -> set[str]:
    """The last names of a function's decorators."""
    return {last_name(d.func if isinstance(d, ast.Call) else d) for d in function.decorator_list}


def _join(scope: str, name: str) -> str:
    return f"{scope}::{name}" if scope else name
