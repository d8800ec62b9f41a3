"""What one test file defines, imports, inherits and makes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.languages.python.stubforms import Function, last_name
from verdigris.languages.python.testfile import read
from verdigris.languages.python.textedit import Source

if TYPE_CHECKING:
    from collections.abc import Iterable


class Code:
    """One test file; SyntaxError when it is no Python."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.source = Source(text)
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.bases: dict[str, tuple[str, ...]] = {}
        """Dotted names of its base classes by class."""
        self.stars: list[str] = []
        """Modules from which everything is imported."""
        self.made: list[tuple[re.Pattern[str], str]] = []
        """Names that are given to the function which another function makes and returns."""
        self.imports: dict[str, tuple[str, str]] = {}
        """Module and name in it by name here; no name for a whole module."""
        self.constants: dict[str, ast.expr] = {}
        self._read(self.source.tree.body, "")
        loaded = (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Name))
        self.loads = Counter(name.id for name in loaded if isinstance(name.ctx, ast.Load))
        self._asserted = [(found.scope, found.line) for found in read(text).assertions]

    def _read(self, body: Iterable[ast.AST], prefix: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions[prefix + node.name] = node
                case ast.ClassDef():
                    self.classes[prefix + node.name] = node
                    self.bases[prefix + node.name] = tuple(ast.unparse(base) for base in node.bases)
                    self._read(node.body, f"{prefix}{node.name}::")
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    self.stars.append(node.module or "")
                case ast.ImportFrom():
                    self.imports |= {a.asname or a.name: (node.module or "", a.name) for a in node.names}
                case ast.Import():
                    self.imports |= {a.asname or a.name: (a.name, "") for a in node.names}
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._given(node, prefix)
                    if not prefix:
                        self.constants[name] = value
                case ast.Assign() | ast.Expr():
                    self._given(node, prefix)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if not prefix:
                    self.constants[name] = value
                case ast.stmt():
                    self._read(ast.iter_child_nodes(node), prefix)

    def _given(self, node: ast.stmt, prefix: str) -> None:
        """A name that is given to what a function makes: by assignment, as an attribute, as a global."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=made):
                self._make(ast.Constant(name), made, prefix)
            case ast.Expr(ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=owner), named, made])):
                self._make(named, made, f"{owner}::")
            case ast.Assign(targets=[ast.Subscript(value=ast.Call(func=table), slice=named)], value=made):
                if last_name(table) == "globals":
                    self._make(named, made, "")

    def _make(self, name: ast.expr, made: ast.expr, prefix: str) -> None:
        pattern = _pattern(name)
        match made:
            case ast.Call(func=ast.Name(id=maker)) if pattern and maker in self.functions:
                inner = _returned(self.functions[maker])
                if inner is not None:
                    self.functions.setdefault(f"{maker}::{inner.name}", inner)
                    self.made.append((re.compile(re.escape(prefix) + pattern), f"{maker}::{inner.name}"))

    def maker_of(self, function: str) -> str | None:
        """The one function that can have been given this name."""
        found = {made for pattern, made in self.made if pattern.fullmatch(function)}
        return found.pop() if len(found) == 1 else None

    def asserted(self, function: str) -> frozenset[int]:
        """The lines of its assertions, those of functions within it too."""
        inner = f"{function}::"
        return frozenset(line for scope, line in self._asserted if f"{scope}::".startswith(inner))


def _pattern(name: ast.expr) -> str:
    """A regular expression for the names that it can be; empty when there is no telling."""
    match name:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            fixed = (p.value for p in parts if isinstance(p, ast.Constant))
            texts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts]
            return "".join(texts) if any(str(text).startswith("test") for text in fixed) else ""
        case _:
            return ""


def _returned(maker: Function) -> Function | None:
    """The function that a function defines and returns."""
    match maker.body[-1]:
        case ast.Return(value=ast.Name(id=name)):
            inner = (node for node in maker.body if isinstance(node, Function) and node.name == name)
            return next(inner, None)
        case _:
            return None
