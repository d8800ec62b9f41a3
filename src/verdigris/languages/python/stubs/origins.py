"""Finds where the names of a module come from, and which lines have the stub marker."""

from __future__ import annotations

import ast
import builtins
import sys
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.core.value import field, value
from verdigris.languages.python.modules import imported_names
from verdigris.languages.python.syntax import first_line
from verdigris.languages.stub_rules import StubMarks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_BUILT_IN = frozenset({"property", "staticmethod", "classmethod"})
_HARMLESS = frozenset({"abc", "contextlib", "dataclasses", "enum", "functools", "typing", "warnings"})
"""Modules of the standard library whose decorators only wrap or mark a function or class."""


@value
class Origins:
    names: Mapping[str, str] = field(default_factory=dict)
    """Maps imported names to their dotted meaning."""
    bound: frozenset[str] = frozenset()
    """Names that other statements bind."""

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
        """The dotted meaning of an expression; empty if it is neither imported nor a builtin."""
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
        """Whether a decorator is one of Python's own that does no work, or comes from another package.

        Whether that package is the project's own, the caller has to check, who knows the project's files.
        """
        module, _, name = self.origin(node).rpartition(".")
        top = module.partition(".")[0]
        if top == "builtins":
            return name in _BUILT_IN
        return bool(top) and (module in _HARMLESS or top not in sys.stdlib_module_names)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields statements, also those inside `if` and `try`, where a module may import."""
    for node in body:
        match node:
            case ast.If(body=inner, orelse=rest):
                yield from _statements([*inner, *rest])
            case ast.Try(body=inner, orelse=rest, handlers=handlers):
                yield from _statements([*inner, *rest, *(one for h in handlers for one in h.body)])
            case _:
                yield node


Declaration = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def read_marks(text: str, tree: ast.Module, *, new: bool) -> StubMarks:
    """The marks in comments, docstrings and raised messages; a SyntaxError where comments cannot be read."""
    if MARK not in text:  # most texts: they are not taken apart, and the tool for it is not loaded
        return StubMarks(frozenset(), frozenset())
    import tokenize

    # `str.splitlines` also splits at form feeds and the like, where Python begins no new line.
    lines = [line + "\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    tokens = tokenize.generate_tokens(iter(lines).__next__)
    try:
        comments = [token for token in tokens if token.type == tokenize.COMMENT]
    except tokenize.TokenError as error:
        raise SyntaxError(f"its comments cannot be read: {error.args[0]}") from None
    marked = {token.start[0] for token in comments if MARK in token.string}
    alone = frozenset(token.start[0] for token in comments if not token.line[: token.start[1]].strip())
    first = first_line(tree.body[0]) if tree.body else len(lines) + 1
    top = _has_marked_docstring(tree) or any(line < first for line in marked)
    for node in ast.walk(tree):
        if isinstance(node, Declaration) and _has_marked_docstring(node):
            marked.add(node.body[0].lineno)
        elif isinstance(node, ast.Raise):
            constants = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            texts = (text for text in constants if isinstance(text, str))
            marked |= {node.lineno} if any(MARK in text for text in texts) else set()
    return StubMarks(frozenset(marked), alone, new and top)


def _has_marked_docstring(node: ast.Module | Declaration) -> bool:
    return MARK in (ast.get_docstring(node, clean=False) or "")
