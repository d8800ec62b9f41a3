"""Whether a Python test asserts anything, by reading its file."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORDS = ("assert", "check", "expect", "verify")
_PYTEST = frozenset({"raises", "warns", "fail", "deprecated_call"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def has_assertion(text: str, function: str) -> bool:
    """`function` is qualified, without parameters, e.g. `TestA::test_x`."""
    file = _read(text)
    return file is not None and file.asserts(function, set())


def asserts_under(text: str, name: str) -> bool:
    """Whether a function of this name asserts, in whatever class: for tests that another file inherits."""
    file = _read(text)
    return file is not None and any(
        file.asserts(known, set()) for known in file.functions if known.rpartition("::")[2] == name
    )


def _read(text: str) -> _File | None:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    file = _File()
    file.read(module.body, "")
    return file


@dataclass(slots=True, eq=False, repr=False)
class _File:
    """What one file defines."""

    functions: dict[str, _Function] = field(default_factory=dict)
    """By qualified name."""
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the bases, by qualified name."""

    def read(self, body: Iterable[ast.AST], prefix: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions[prefix + node.name] = node
                case ast.ClassDef():
                    bases = tuple(filter(None, map(_last_name, node.bases)))
                    self.classes[prefix + node.name] = bases
                    self.read(node.body, f"{prefix}{node.name}::")
                case ast.stmt() | ast.ExceptHandler():
                    self.read(ast.iter_child_nodes(node), prefix)

    def find(self, owner: str, name: str, seen: frozenset[str] = frozenset()) -> str | None:
        """The qualified name of a function, or of a method along the bases that are in this file."""
        if not owner:
            return name if name in self.functions else None
        if f"{owner}::{name}" in self.functions:
            return f"{owner}::{name}"
        if owner in seen:
            return None
        found = (self.find(base, name, seen | {owner}) for base in self.classes.get(owner, ()))
        return next(filter(None, found), None)

    def asserts(self, function: str, seen: set[str]) -> bool:
        owner, _, name = function.rpartition("::")
        qualified = self.find(owner, name)
        if qualified is None or qualified in seen:
            return False
        seen.add(qualified)
        return any(
            isinstance(part, ast.Assert)
            or (isinstance(part, ast.Call) and self._call_asserts(part, owner, seen))
            for statement in self.functions[qualified].body
            for part in ast.walk(statement)
        )

    def _call_asserts(self, call: ast.Call, owner: str, seen: set[str]) -> bool:
        match call.func:
            case ast.Name(id=name):
                return _speaks(name) or name in _PYTEST or self.asserts(name, seen)
            case ast.Attribute(value=ast.Name(id="pytest"), attr=name):
                return name in _PYTEST
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                own = f"{owner}::{name}" if owner else name
                return _speaks(name) or name in {"fail", "failUnless"} or self.asserts(own, seen)
            case ast.Attribute(attr=name):
                return _speaks(name)
        return False


def _speaks(name: str) -> bool:
    return name.lstrip("_").lower().startswith(_WORDS)


def _last_name(base: ast.expr) -> str | None:
    match base:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
    return None
