"""Where the names of a module come from, and where the stub marker stands."""

from __future__ import annotations

import ast
import builtins
import sys
import tokenize
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK
from verdigris.core.value import field, value
from verdigris.languages.findings import Imported
from verdigris.languages.python.modules import imported_names
from verdigris.languages.python.syntax import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_BUILT_IN = frozenset({"property", "staticmethod", "classmethod"})
_HARMLESS = frozenset({"abc", "contextlib", "dataclasses", "enum", "functools", "typing", "warnings"})
"""Modules of the standard library whose decorators only wrap or mark what they are put on."""


@value
class Origins:
    names: Mapping[str, str] = field(default_factory=dict)
    """By name, what an import bound it to, dotted."""
    bound: frozenset[str] = frozenset()
    """Names that are bound otherwise."""

    @classmethod
    def of(cls, tree: ast.Module) -> Origins:
        names: dict[str, str] = {}
        bound: set[str] = set()
        for node in _statements(tree.body):
            match node:
                case ast.Import() | ast.ImportFrom():
                    names |= imported_names(node)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    bound.add(name)
                case _:
                    stored = (one for one in ast.walk(node) if isinstance(one, ast.Name))
                    bound |= {one.id for one in stored if isinstance(one.ctx, ast.Store)}
        return cls(names, frozenset(bound))

    def origin(self, node: ast.expr) -> str:
        """Dotted; empty where no import and no builtin says it."""
        match node:
            case ast.Name(id=name) if name in self.bound:
                return ""
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id=name):
                return f"builtins.{name}" if hasattr(builtins, name) else ""
            case ast.Attribute(value=inner, attr=attr):
                owner = self.origin(inner)
                return f"{owner}.{attr}" if owner else ""
            case _:
                return ""

    def wraps_only(self, node: ast.expr) -> bool:
        """Whether a decorator is one of Python's own that does no work, or an installed package's.

        Whether a package is the project's own after all is for who knows its files.
        """
        module, _, name = self.origin(node).rpartition(".")
        top = module.partition(".")[0]
        if top == "builtins":
            return name in _BUILT_IN
        return bool(top) and (module in _HARMLESS or top not in sys.stdlib_module_names)


def imports(tree: ast.AST) -> tuple[Imported, ...]:
    """Every import of a text, wherever it stands."""
    return tuple(_imports(tree))


def _imports(tree: ast.AST) -> Iterator[Imported]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                yield from (Imported(node.lineno, alias.name) for alias in aliases)
            case ast.ImportFrom(names=aliases):
                yield from (Imported(node.lineno, _module(node), alias.name) for alias in aliases)


def _module(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields statements, also those of the blocks that a module may put imports in."""
    for node in body:
        match node:
            case ast.If(body=inner, orelse=rest):
                yield from _statements([*inner, *rest])
            case ast.Try(body=inner, orelse=rest, handlers=handlers):
                yield from _statements([*inner, *rest, *(one for h in handlers for one in h.body)])
            case _:
                yield node


MARK = STUB_MARK

Declaration = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@value
class PythonStubMarks:
    marked: frozenset[int]
    """Lines with a marked comment."""
    standalone: frozenset[int]
    """Lines that hold a comment alone."""
    whole: bool = False
    """One marker at the top of a new module covers it."""

    @classmethod
    def of(cls, text: str, tree: ast.Module, *, new: bool) -> PythonStubMarks:
        # `str.splitlines` would also split at form feeds and the like, where Python sees no new line.
        lines = [line + "\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        tokens = tokenize.generate_tokens(iter(lines).__next__)
        comments = [token for token in tokens if token.type == tokenize.COMMENT]
        marked = frozenset(token.start[0] for token in comments if MARK in token.string)
        alone = frozenset(token.start[0] for token in comments if not token.line[: token.start[1]].strip())
        first = first_line(tree.body[0]) if tree.body else len(lines) + 1
        top = _marked_docstring(tree) or any(line < first for line in marked)
        return cls(marked, alone, new and top)

    def on(self, node: ast.stmt) -> bool:
        """Whether a declaration is marked in or right above it: a comment, a docstring, a raised message.

        One marker covers a new class: its members are read one by one all the same.
        """
        if self.whole:
            return True
        start, last = first_line(node), node.end_lineno or node.lineno
        above = start - 1
        while above in self.standalone:
            above -= 1
        if any(above < line <= last for line in self.marked):
            return True
        return any(_marked_docstring(one) or _marked_raise(one) for one in ast.walk(node))


def _marked_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Module | Declaration):
        return False
    return MARK in (ast.get_docstring(node, clean=False) or "")


def _marked_raise(node: ast.AST) -> bool:
    """A function that says it when it is called."""
    if not isinstance(node, ast.Raise):
        return False
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
    return any(isinstance(part.value, str) and MARK in part.value for part in parts)
