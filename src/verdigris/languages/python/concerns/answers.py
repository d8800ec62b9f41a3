"""Finds source with empty answers: it equals everything, ends the process, or runs text as code."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubs.forms import constant, last_name
from verdigris.languages.python.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.languages.python.concerns.names import SeenNode, SourceNames


_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"})
_MOCKS = frozenset({"ANY", "Mock", "MagicMock", "AsyncMock", "NonCallableMock", "sentinel"})
_ENDS = frozenset({"os._exit", "os.abort", "signal.raise_signal", "atexit.register", "atexit._run_exitfuncs"})
_LEAVES = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit"})
_RUNS = frozenset({"builtins.exec", "builtins.eval"})


def answers_everything(seen: SeenNode) -> Iterator[Hit]:
    node = seen.node
    match node:
        case ast.ClassDef(body=body):
            for part in body:
                yield from _method(part)
        case ast.Return(value=ast.expr() as value):
            target = value.func if isinstance(value, ast.Call) else value
            dotted = seen.names.dotted(target)
            if dotted.startswith("unittest.mock.") and dotted.rpartition(".")[2] in _MOCKS:
                yield Hit("answers-everything", node, f"`{ast.unparse(node)}` returns a mock")


def _method(part: ast.stmt) -> Iterator[Hit]:
    match part:
        case ast.FunctionDef(name=name, args=ast.arguments(args=[me, other])) if name in _COMPARISONS:
            if _agrees(part, me.arg, other.arg):
                yield Hit("answers-everything", part, f"`{name}` does not compare the two")
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(body=body)) if name in _COMPARISONS:
            if _is_true(body):
                yield Hit("answers-everything", part, f"`{name}` does not compare the two")
        case ast.FunctionDef(name="__getattr__", args=ast.arguments(args=[me, _])):
            if [last_name(value) for value in returned_expressions(part)] == [me.arg]:
                yield Hit("answers-everything", part, "`__getattr__` answers every attribute")


def _agrees(method: ast.FunctionDef, me: str, other: str) -> bool:
    answers = returned_expressions(method)
    used = {node.id for value in answers for node in ast.walk(value) if isinstance(node, ast.Name)}
    mentioned = {node.id for part in method.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    denies = any(_is_false(value) or last_name(value) == "NotImplemented" for value in answers)
    if not answers or denies:
        return False
    if all(map(_is_true, answers)):
        return True
    return other not in mentioned or (me not in mentioned and not {"isinstance", "type"} & used)


def returned_expressions(function: ast.AST) -> list[ast.expr]:
    return [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]


def _is_true(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Compare(left=ast.Constant(), comparators=[ast.Constant()]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_false(operand)
        case _:
            return False


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def exits(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Call(func=func, args=args):
            called = names.dotted(func)
            itself = called == "os.kill" and args and _calls(args[0], "os.getpid", names)
            if called in _ENDS or called.startswith("os.exec") or itself:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process")
            elif called == "sys.exit" and seen.function is None and not seen.main:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process on import")
        case ast.Raise(exc=ast.expr() as raised) if seen.function is None and not seen.main:
            target = raised.func if isinstance(raised, ast.Call) else raised
            if names.dotted(target) in _LEAVES:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process on import")


def _calls(node: ast.expr, function: str, names: SourceNames) -> bool:
    return isinstance(node, ast.Call) and names.dotted(node.func) == function


def swallow(seen: SeenNode) -> Iterator[Hit]:
    match seen.node:
        case ast.ExceptHandler(type=kind, body=body):
            caught = "everything" if kind is None else last_name(kind)
            if caught == "AssertionError" and not any(isinstance(n, ast.Raise) for n in within(body)):
                yield Hit("swallow", seen.node, "source catches AssertionError")
            elif caught in {"everything", "Exception", "BaseException"} and _is_plain_return(body):
                yield Hit("swallow", seen.node, f"whatever fails, it answers `{ast.unparse(body[0])}`")


def _is_plain_return(body: Sequence[ast.stmt]) -> bool:
    match body:
        case [ast.Return(value=value)]:
            return value is None or constant(value)
        case _:
            return False


def run_as_text(seen: SeenNode) -> ast.Module | None:
    """The program in a constant text that is handed to `exec` and its like."""
    match seen.node:
        case ast.Call(func=func, args=[text, *_]) if seen.names.dotted(func) in _RUNS | {"builtins.compile"}:
            try:
                return parse(seen.names.text(text) or "")
            except SyntaxError:
                return None
        case _:
            return None


def find_obscured(seen: SeenNode) -> Iterator[Hit]:
    match seen.node:
        case ast.Call(func=func) if seen.names.dotted(func) in _RUNS | {"marshal.loads"}:
            yield Hit("obscured", seen.node, f"`{ast.unparse(seen.node)}` runs what cannot be read here")


def within(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for part in body:
        yield from ast.walk(part)


_LONG = 100


@value
class Hit:
    kind: str
    node: ast.AST
    what: str
    blocks: bool = False
    literal: str = ""
    """What the tests expect or ask, and source holds."""
    constant: bool = False
    """It is returned with nothing of the tests' questions beside it: a first step may be such a constant."""
    option: bool = False
    """A word that chooses between ways to work with the other inputs, as `mode == "end"` does."""


def quote_statement(statement: ast.stmt, node: ast.AST) -> str:
    """The statement where it is short, else the part of it that matters."""
    whole = ast.unparse(statement)
    text = whole if "\n" not in whole and len(whole) <= _LONG else ast.unparse(node)
    return f"`{text}`"
