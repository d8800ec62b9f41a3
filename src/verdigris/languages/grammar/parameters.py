"""Finds parameters with a default that a refactor added to a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.bindings import FUNCTIONS, functions_of, is_docstring, statements_of
from verdigris.languages.grammar.conditions import CONSTANTS, literal_text
from verdigris.languages.grammar.trees import part, parts, text_of_node
from verdigris.languages.pairing import pair_up

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from tree_sitter import Node

    from verdigris.languages.grammar.bindings import Visited

_WITH_DEFAULT = {
    "default_parameter": ("name", "value"),
    "typed_default_parameter": ("name", "value"),
    "required_parameter": ("pattern", "value"),
    "assignment_pattern": ("left", "right"),
}
"""Parameters that may have a default, with the fields of the name and of the default."""


@value
class Signature:
    path: str
    name: str
    """With its classes and functions: `Box.__init__`."""
    node: Node
    defaults: Mapping[str, Node]
    """By parameter, those that are constants."""


def added_defaults(
    old: Mapping[str, Node], new: Mapping[str, Node], visited: Visited
) -> Iterator[tuple[Signature, str, Node]]:
    """The functions of `new` with a parameter that is new, its name and its default."""
    then, now = _signatures(old, visited), _signatures(new, visited)
    pairs = pair_up(then, now, *_NEARNESS)
    for at, function in enumerate(now):
        had = then[pairs[at]].defaults if at in pairs else {}
        fresh = [name for name in function.defaults if name not in had]
        surplus = len(function.defaults) - len(had)
        for name in fresh[-surplus:] if surplus > 0 else ():
            yield function, name, function.defaults[name]


def _signatures(roots: Mapping[str, Node], visited: Visited) -> list[Signature]:
    return [
        Signature(path, name, node, _constant_defaults(node))
        for path, root in roots.items()
        for name, node in functions_of(root, visited)
        if node.type in FUNCTIONS and not all(map(is_docstring, statements_of(part(node, "body"))))
    ]


def _constant_defaults(function: Node) -> dict[str, Node]:
    defaults: dict[str, Node] = {}
    for one in parts(part(function, "parameters")):
        name, default = (part(one, field) for field in _WITH_DEFAULT.get(one.type, ("name", "value")))
        if name is not None and default is not None and _is_constant(default):
            defaults[text_of_node(name)] = default
    return defaults


def _is_constant(node: Node) -> bool:
    if node.type in {"tuple", "unary_operator", "unary_expression"}:
        return all(map(_is_constant, parts(node)))
    return node.type in CONSTANTS


def _values(one: Signature) -> tuple[str, ...]:
    return tuple(map(literal_text, one.defaults.values()))


_NEARNESS: tuple[Callable[[Signature], Hashable], ...] = (
    lambda one: (one.path, one.name, *one.defaults),
    lambda one: (one.path, one.name),
    lambda one: (one.name, *one.defaults),
    lambda one: (one.name.rpartition(".")[2], *one.defaults),
    lambda one: one.name,
    lambda one: (one.path, *one.defaults),
    lambda one: (one.path, len(parts(part(one.node, "parameters"))), *_values(one)),
)
"""What two versions of a function have in common."""
