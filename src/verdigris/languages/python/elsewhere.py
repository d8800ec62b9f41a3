"""Finds the statements that no test here can run, and those that run only on another machine.

Another machine: another platform or version of Python, or one where a package is missing.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubs.forms import is_docstring, is_elsewhere, last_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_FACTS = re.compile(
    r"sys\.(platform|version_info|version|hexversion|byteorder|maxsize|implementation)|os\.name|platform\.\w+"
)
_FLAG = re.compile(
    r"_?(IS_|ON_)?(PY|PYPY|CPYTHON|WIN|WINDOWS|LINUX|MAC|MACOS|OSX|DARWIN|POSIX|CYGWIN)(_?\d[\d_]*)?(_(PLUS|ONLY))?"
    r"|_?(is|on)_(pypy|cpython|windows|linux|macos|darwin|posix)"
)
"""A name by which other modules say what the machine is."""
_MISSING = frozenset({"ImportError", "ModuleNotFoundError"})
_NEVER, _ELSEWHERE = "never", "elsewhere"
_Leaving = ast.Return | ast.Raise | ast.Continue | ast.Break


@value
class UnaskedLines:
    """First lines of statements."""

    never: frozenset[int]
    """A type checker reads them, they start a program, or they say that code is missing."""
    elsewhere: frozenset[int]
    """They run on another machine, unless they ran here."""


def find_unasked_lines(tree: ast.Module) -> UnaskedLines:
    reader = _Reader(_flags_of(tree))
    reader.read_block(tree.body, "")
    return UnaskedLines(frozenset(reader.lines[_NEVER]), frozenset(reader.lines[_ELSEWHERE]))


class _Reader:
    def __init__(self, flags: frozenset[str]) -> None:
        self.flags = flags
        self.lines: dict[str, set[int]] = {_NEVER: set(), _ELSEWHERE: set()}

    def read_block(self, block: list[ast.stmt], why: str) -> None:
        """`why` no test here has to run it; empty if one has to."""
        for node in block:
            if why or _says_it_is_missing(node):
                self.lines[why or _NEVER].add(node.lineno)
            self.read_statement(node, why)
            if isinstance(node, ast.If) and _is_fact(node.test, self.flags) and _leaves(node.body):
                why = why or _ELSEWHERE

    def read_statement(self, node: ast.stmt, why: str) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                fact = _ELSEWHERE if _is_fact(test, self.flags) else ""
                self.read_block(body, why or (_NEVER if is_elsewhere(test) else fact))
                self.read_block(orelse, why or fact)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                missing = _ELSEWHERE if _only_imports(node) else ""
                self.read_block(body, why)
                for handler in handlers:
                    self.read_block(handler.body, why or missing)
                self.read_block(orelse, why or missing)
                self.read_block(finalbody, why)
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                self.read_block(body, why or (_NEVER if all(map(_does_nothing, body)) else ""))
            case ast.Match(cases=cases):
                for one in cases:
                    self.read_block(one.body, why)
            case _:
                for name in ("body", "orelse"):
                    self.read_block(getattr(node, name, []), why)


def _leaves(block: list[ast.stmt]) -> bool:
    return isinstance(block[-1], _Leaving)


def _does_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or is_docstring(node)


def _says_it_is_missing(node: ast.stmt) -> bool:
    match node:
        case ast.Raise(exc=ast.Call(func=raised) | (ast.Name() | ast.Attribute() as raised)):
            return last_name(raised) == "NotImplementedError"
        case _:
            return False


def _flags_of(tree: ast.Module) -> frozenset[str]:
    """The names that say whether a package could be imported, or that stand for a fact about the machine."""
    flags: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Try(handlers=handlers) if _only_imports(node):
                bodies = (statement for handler in handlers for statement in handler.body)
                flags |= {name for statement in bodies for name in _constants(statement)}
            case ast.Assign(targets=[ast.Name(id=name)], value=assigned) if _is_fact(assigned, flags):
                flags.add(name)
            case _:
                pass
    return frozenset(flags)


def _constants(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _only_imports(node: ast.Try) -> bool:
    """Whether a `try` only asks if a package is there."""
    body = [one for one in node.body if not list(_constants(one))]
    plain = bool(body) and all(isinstance(one, ast.Import | ast.ImportFrom) for one in body)
    return plain and all(map(_handles_missing, node.handlers))


def _handles_missing(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is not None and last_name(kind) in _MISSING for kind in kinds)


def _is_fact(node: ast.expr, flags: Iterable[str]) -> bool:
    """Whether nothing but the machine decides an expression."""
    match node:
        case ast.BoolOp(values=values):
            return all(_is_fact(one, flags) for one in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_fact(operand, flags)
        case ast.Compare(left=left, comparators=sides):
            facts = [_is_fact(one, flags) for one in (left, *sides)]
            others = (one for one, fact in zip((left, *sides), facts, strict=True) if not fact)
            return any(facts) and all(map(_is_plain_literal, others))
        case ast.Subscript(value=whole):
            return _is_fact(whole, flags)
        case ast.Call(func=ast.Attribute(value=asked) as called, args=args):
            fact = _is_fact(asked, flags) or _FACTS.fullmatch(ast.unparse(called)) is not None
            return fact and all(map(_is_plain_literal, args))
        case ast.Attribute(value=owner, attr=name):
            text = ast.unparse(node)
            return any(map(re.fullmatch, (_FACTS, _FLAG), (text, name))) or _is_fact(owner, flags)
        case ast.Name(id=name):
            return name in flags or _FLAG.fullmatch(name) is not None
        case _:
            return False


def _is_plain_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            return all(map(_is_plain_literal, parts))
        case _:
            return False
