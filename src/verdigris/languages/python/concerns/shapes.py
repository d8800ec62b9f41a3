"""Writes the pieces of code that the table of concerns is about."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.languages.python.stubs.forms import is_constant, last_name
from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.concerns.names import SeenNode

_OURS = ("verdigris_reporter", "verdigris_bootstrap")
_FEWEST = 4
"""A shorter word is not taken for a part of one of these names."""
_ASKING = frozenset(
    {
        *("get", "startswith", "endswith", "find", "index", "count", "__contains__", "__getitem__"),
        *("isdisjoint", "intersection", "issuperset", "search", "match", "findall", "fnmatch", "getenv"),
    }
)
_LOOKING = frozenset(
    {"iterdir", "glob", "rglob", "exists", "is_file", "is_dir", "stat", "listdir", "scandir", "walk"}
)
_CALLED = re.compile(r".*\)", re.DOTALL)
_SETTERS = re.compile(r"builtins\.(?:setattr|delattr|object\.__setattr__|type\.__setattr__)")
_WRITERS = re.compile(
    r"([\w.]+)\.__dict__\.(?:update|setdefault|__setitem__|__delitem__|pop|clear|insert|append)"
)


def shapes(at: SeenNode) -> Iterator[tuple[str, str]]:
    """The shapes of a node, each with its text."""
    if isinstance(at.node, ast.stmt):
        return _shapes_of_statement(at)
    if isinstance(at.node, ast.ExceptHandler):
        return _caught(at.node)
    return _shapes_of_expression(at) if isinstance(at.node, ast.expr) else iter(())


def _caught(handler: ast.ExceptHandler) -> Iterator[tuple[str, str]]:
    """What a handler catches, and how it leaves: `raise` anywhere in it, or a constant that it returns."""
    caught = "everything" if handler.type is None else last_name(handler.type)
    match handler.body:
        case body if any(isinstance(node, ast.Raise) for part in body for node in nodes_in(part)):
            yield "caught", f"{caught}: raise"
        case [ast.Return(value=answer) as leaving] if answer is None or is_constant(answer):
            yield "caught", f"{caught}: {ast.unparse(leaving)}"
        case _:
            yield "caught", f"{caught}:"


def _shapes_of_statement(at: SeenNode) -> Iterator[tuple[str, str]]:
    match at.node:
        case ast.Import(names=aliases):
            yield from (("import", alias.name) for alias in aliases)
        case ast.ImportFrom(module=str(module), level=0, names=aliases):
            yield from (("import", f"{module}.{alias.name}") for alias in aliases)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield "define", name
        case ast.Raise(exc=ast.expr() as raised):
            kind = at.text(raised.func if isinstance(raised, ast.Call) else raised)
            yield ("raise-call" if isinstance(raised, ast.Call) else "raise"), kind
            if at.function is None and not at.main:
                yield "import-time-raise", kind
        case ast.Return(value=ast.expr() as answer):
            yield "return", at.text(answer.func if isinstance(answer, ast.Call) else answer)
        case ast.If(test=test):
            yield from _condition(at, test)


def _condition(at: SeenNode, test: ast.expr) -> Iterator[tuple[str, str]]:
    parts = (part for part in nodes_in(test) if isinstance(part, ast.Attribute | ast.Name))
    return (("condition", at.text(part)) for part in parts)


def _shapes_of_expression(at: SeenNode) -> Iterator[tuple[str, str]]:
    node, text = at.node, at.text
    match node:
        case ast.Name(id=name, ctx=context):
            yield "name", text(node)
            if isinstance(context, ast.Store):
                yield "bind", name
        case ast.Constant(value=str(constant)):
            yield "text", constant
        case ast.Attribute(value=owner, attr=attr, ctx=context):
            whole = f"{text(owner)}.{attr}"
            yield "attribute", whole
            yield ("read" if isinstance(context, ast.Load) else "set"), whole
        case ast.Subscript(value=owner, slice=key, ctx=ast.Load()):
            yield "member", text(node)
            yield from _asked(at, [owner, key], [owner, key])
        case ast.Subscript(value=owner, slice=key):
            yield from _changed_member(at, owner, key)
        case ast.Call():
            yield from _call(at, node)
        case ast.Compare(left=left, comparators=rest):
            yield "compare", " <> ".join(map(text, [left, *rest]))
            yield from _asked(at, [left, *rest], [left, *rest])
        case ast.IfExp(test=test):
            yield from _condition(at, test)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.Sub(), right=right):
            yield from _asked(at, [left, right], [left, right])


def _call(at: SeenNode, node: ast.Call) -> Iterator[tuple[str, str]]:
    text, args = at.text, node.args
    function = text(node.func)
    yield "call", f"{_CALLED.sub('()', function)}({', '.join(map(text, args))})"
    yield "made", text(node)
    if at.function is None and not at.main:
        yield "import-time-call", function
    if isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKING:
        yield "look", ast.unparse(node)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _ASKING:
        yield from _asked(at, [node.func, *args], [node.func.value, *args])
    elif isinstance(node.func, ast.Name) and function.rpartition(".")[2] in _ASKING:
        yield from _asked(at, [node.func, *args], args)
    if _SETTERS.fullmatch(function) and args:
        yield "setattr", f"{text(args[0])}.{at.names.constant(args[1]) or '' if args[1:] else ''}"
    elif function.startswith(("unittest.mock.patch", "mock.patch")) and args:
        yield "write", f"{at.names.constant(args[0]) or text(args[0])}."
    elif owner := _WRITERS.fullmatch(function):
        yield "write", f"{owner[1]}."


def _changed_member(at: SeenNode, owner: ast.expr, key: ast.expr) -> Iterator[tuple[str, str]]:
    whole = at.text(owner)
    if whole == "sys.modules":
        yield "replace", at.text(key)
    elif whole == "builtins" or re.fullmatch(r"[\w.]+\.__dict__", whole):
        yield "write", f"{whole.removesuffix('.__dict__')}.{at.names.constant(key) or ''}"
    elif isinstance(owner, ast.Attribute):
        yield "set", f"{whole}[]"


def _asked(at: SeenNode, known: list[ast.expr], parts: list[ast.expr]) -> Iterator[tuple[str, str]]:
    """A question about the run. `known`: where its facts are; `parts`: where its words are."""
    if facts := at.names.facts(*known):
        yield "ask", f"{' '.join(sorted(facts))}:{''.join(_words(at, parts))}"


def _words(at: SeenNode, parts: list[ast.expr]) -> Iterator[str]:
    for part in parts:
        match part:
            case ast.Tuple(elts=inner) | ast.List(elts=inner) | ast.Set(elts=inner):
                yield from _words(at, inner)
            case ast.Call(func=func, args=inner) if (
                at.names.constant(part) is None and at.text(func)[:9] == "builtins."
            ):
                yield from _words(at, inner)
            case _ if (word := at.names.constant(part)) is not None:
                bare = word.lower().strip("_@. ")
                ours = len(bare) >= _FEWEST and any(bare in name for name in _OURS)
                yield "‹verdigris›" if ours else f"‹{word}›"


class Quotes(dict[str, str]):
    """Quotes code in what a person is told; only where a rule was met, since it takes time."""

    def __init__(self, at: SeenNode, groups: dict[str, str]) -> None:
        super().__init__(groups)
        self.at = at

    def __missing__(self, name: str) -> str:
        node = self.at.node
        match name, node:
            case "test", ast.If(test=part) | ast.IfExp(test=part):
                return ast.unparse(part)
            case "function", ast.Call(func=part) | ast.Raise(exc=ast.expr() as part):
                return ast.unparse(part)
            case "statement", _ if (
                "\n" not in (whole := ast.unparse(self.at.statement)) and len(whole) <= _LONG
            ):
                return whole
            case _:
                return ast.unparse(node)


_LONG = 100
