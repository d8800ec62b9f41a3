"""Writes the lines of a module with the meanings of their names, without running anything.

After `from os import environ as e`, `if e.get("CI"):` becomes `if os.environ.get('CI'):`. A line is a simple
statement, or the head of a compound one. A variable stands for what it was assigned, if that is a name or a
text, or tells something about the run or about an object's class. Any other variable has a `$` before it.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.modules import imported_names, package_of, resolve_import
from verdigris.languages.python.stubs.forms import Function, is_docstring
from verdigris.languages.python.syntax import head_of, nodes_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    Meanings = Mapping[str, str]

_TELLING = re.compile(
    r"(?!None|True|False)[A-Za-z_][\w.]*|'[^']*'|type\(.*\)|.*\.__class__"
    r"|(?:\w+\()?(?:sys\.modules|sys\.argv|os\.environ)\b[\w.()\[\]:-]*|.*(?:hashlib|zlib|binascii)\..*",
    re.DOTALL,
)
_LONGEST = 200
_PASSES = 2
"""How often assignments are read: a name may be assigned from one that is assigned later."""
_ANSWERS = frozenset(
    f"__{name}__" for name in ("bool", "eq", "ne", "lt", "le", "gt", "ge", "contains", "len")
)
_IMPORTS = frozenset({"__import__", "importlib.import_module"})


@value
class Line:
    node: ast.stmt
    text: str
    """Without the blocks below it, and with the meanings of its names."""
    at_import: bool
    """It runs when the module is imported, and not only when it is a program."""
    main: bool
    """It runs only when the module is a program."""
    answers: bool
    """It stands in a method that answers a comparison, or what is true."""


def lines_of(tree: ast.Module, path: str, untouched: Collection[ast.stmt] = ()) -> Iterator[Line]:
    """`untouched`: statements of the module to leave out."""
    reader = _Reader(package_of(path))
    body = [node for node in tree.body if node not in untouched]
    yield from reader.lines(body, reader.meanings(tree.body, {}), "", main=False)


def module_meanings(tree: ast.Module, path: str) -> Meanings:
    return _Reader(package_of(path)).meanings(tree.body, {})


@value
class _Reader:
    package: list[str]

    def lines(self, body: Sequence[ast.stmt], names: Meanings, inside: str, *, main: bool) -> Iterator[Line]:
        """`inside`: the name of a function."""
        for node in (each for each in body if not is_docstring(each)):
            text = _write(head_of(node), names)
            yield Line(node, text, at_import=not inside and not main, main=main, answers=inside in _ANSWERS)
            within = names
            if isinstance(node, Function | ast.ClassDef):
                within = self.meanings(node.body, names, node)
            program = main or (isinstance(node, ast.If) and "__main__" in text)
            into = node.name if isinstance(node, Function) else inside
            for block in _blocks(node):
                yield from self.lines(block, within, into, main=program)

    def meanings(self, body: Sequence[ast.stmt], outer: Meanings, scope: ast.stmt | None = None) -> Meanings:
        own = list(_own_nodes(body))
        stored = Counter(n.id for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        if isinstance(scope, Function):
            stored.update(part.arg for part in nodes_in(scope.args) if isinstance(part, ast.arg))
        names = {**outer, **{name: f"${name}" for name in stored}}
        for _ in range(_PASSES):
            for node in own:
                names.update(self._bound(node, names, stored))
        return names

    def _bound(self, node: ast.AST, names: Meanings, stored: Mapping[str, int]) -> Meanings:
        match node:
            case ast.Import():
                return imported_names(node)
            case ast.ImportFrom():
                return imported_names(node, resolve_import(node, self.package))
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=given)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as given)
                | ast.NamedExpr(target=ast.Name(id=name), value=given)
                | ast.For(target=ast.Name(id=name), iter=given)
                | ast.comprehension(target=ast.Name(id=name), iter=given)
            ) if stored[name] == 1:
                text = _write(given, names)
                return {name: text} if len(text) <= _LONGEST and _TELLING.fullmatch(text) else {}
        return {}


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of the functions and classes in it."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _write(node: ast.AST, names: Meanings) -> str:
    return ast.unparse(_Meant(names).visit(deepcopy(node)))


class _Meant(ast.NodeTransformer):
    """Replaces names by their meanings, and what a constant text selects by its name."""

    def __init__(self, names: Meanings) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        known = node.id if hasattr(builtins, node.id) else f"${node.id}"
        read = isinstance(node.ctx, ast.Load)
        return ast.Name(self.names.get(node.id, known) if read else f"${node.id}", node.ctx)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """The parts of the text: a meaning may not fit between its quotation marks."""
        self.generic_visit(node)
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        return ast.Tuple(parts, ast.Load())

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BinOp(ast.Constant(value=str(left)), ast.Add(), ast.Constant(value=str(right))):
                return ast.Constant(left + right)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=func, args=[ast.Constant(value=str(module)), *_]) if (
                ast.unparse(func) in _IMPORTS
            ):
                return ast.Name(module)
            case ast.Call(ast.Name("getattr"), [owner, ast.Constant(value=str(name)), *_]):
                return ast.Attribute(owner, name)
            case ast.Call(ast.Name("vars"), [owner]):
                return ast.Attribute(owner, "__dict__")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Subscript(owner, ast.Constant(value=str(module)), ast.Load()) if (
                ast.unparse(owner) == "sys.modules"
            ):
                return ast.Name(module)
        return node
