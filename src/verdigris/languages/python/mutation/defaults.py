"""Finds parameters with a default that a refactor added to a function."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubs.forms import Function, is_constant, is_docstring

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence


@value
class Signature:
    path: str
    name: str
    """With its classes and functions: `Box.__init__`."""
    node: Function
    defaults: Mapping[str, ast.expr]
    """By parameter, those that are constants."""


def added_defaults(
    old: Mapping[str, ast.Module], new: Mapping[str, ast.Module]
) -> Iterator[tuple[Signature, str, ast.expr]]:
    """The functions of `new` with a parameter that is new, its name and its default."""
    now = _signatures(new)
    before = _counterparts(_signatures(old), now)
    for at, function in enumerate(now):
        had = before[at].defaults if at in before else {}
        fresh = [name for name in function.defaults if name not in had]
        surplus = len(function.defaults) - len(had)
        yield from (
            (function, name, function.defaults[name]) for name in (fresh[-surplus:] if surplus > 0 else ())
        )


def _signatures(trees: Mapping[str, ast.Module]) -> list[Signature]:
    return [found for path, tree in trees.items() for found in _signatures_in(path, tree, "")]


def _signatures_in(path: str, node: ast.AST, owner: str) -> Iterator[Signature]:
    for child in ast.iter_child_nodes(node):
        name = owner
        if isinstance(child, Function | ast.ClassDef):
            name = f"{owner}.{child.name}" if owner else child.name
        if isinstance(child, Function) and not _only_declares(child):
            yield Signature(path, name, child, _constant_defaults(child))
        yield from _signatures_in(path, child, name)


def _only_declares(node: Function) -> bool:
    """Whether the body is `...`, as in a protocol: there is nothing that a test could run."""
    return all(
        is_docstring(one) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in node.body
    )


def _counterparts(old: Sequence[Signature], new: Sequence[Signature]) -> dict[int, Signature]:
    """Maps the index of each new function to what it was, one to one; the nearest pairs come first."""
    found: dict[int, Signature] = {}
    left = list(old)
    for key in _NEARNESS:
        known: dict[Hashable, list[Signature]] = {}
        for one in left:
            known.setdefault(key(one), []).append(one)
        for at, one in enumerate(new):
            if at not in found and (fitting := known.get(key(one))):
                found[at] = fitting.pop(0)
        left = [one for each in known.values() for one in each]
    return found


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _values(one: Signature) -> tuple[str, ...]:
    return tuple(map(ast.dump, one.defaults.values()))


_NEARNESS: tuple[Callable[[Signature], Hashable], ...] = (
    lambda one: (one.path, one.name, *one.defaults),
    lambda one: (one.path, one.name),
    lambda one: (one.name, *one.defaults),
    lambda one: (_last(one.name), *one.defaults),
    lambda one: one.name,
    lambda one: (one.path, *one.defaults),
    lambda one: (one.path, len(one.node.args.args), *_values(one)),
)
"""What two versions of a function have in common."""


def _constant_defaults(node: Function) -> dict[str, ast.expr]:
    spec = node.args
    places = [*spec.posonlyargs, *spec.args]
    found = dict(zip((p.arg for p in places[len(places) - len(spec.defaults) :]), spec.defaults, strict=True))
    found |= {p.arg: d for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
    return {name: default for name, default in found.items() if is_constant(default, mutable=False)}
