"""Reads the functions, classes and modules of files: what each has and does, which words it uses."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.bindings import FUNCTIONS, OWNERS, VALUES, bound_names, scope_name
from verdigris.languages.grammar.conditions import GLOBAL, IDENTIFIERS, operator_of
from verdigris.languages.grammar.origins import Names, origins_of
from verdigris.languages.grammar.things import ThingReader, decorators_of
from verdigris.languages.grammar.trees import part, parts, text_of_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from verdigris.languages.grammar.mutation import MutationForms
    from verdigris.languages.grammar.things import Thing

_TYPES = frozenset({"struct_item", "enum_item"})
_NO_CODE = frozenset({"type", "type_annotation", "type_arguments", "type_parameters", "return_type"})
_DEFAULTS = {
    **dict.fromkeys(("default_parameter", "typed_default_parameter"), ("name", "value")),
    **dict.fromkeys(("required_parameter", "optional_parameter"), ("pattern", "value")),
    "assignment_pattern": ("left", "right"),
}
"""Parameters that may have a default, with the fields of the name and of the default."""


class Definition:
    """A function with the functions inside it, a class or a module without its functions."""

    def __init__(self, file: _File, name: str, node: Node) -> None:
        self.file, self.path, self.name, self.node = file, file.path, name, node
        self.last = name.rpartition(".")[2]
        self.is_function = node.type in FUNCTIONS or node.type in VALUES

    @cached_property
    def text(self) -> str:
        """Its text with that of its decorators."""
        return "\n".join(map(text_of_node, [*decorators_of(self.node), self.node]))

    @cached_property
    def content(self) -> Content:
        return self.file.content(self.node)

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(thing.key for thing in self.content.things)

    @cached_property
    def defaults(self) -> Mapping[str, Node]:
        """The defaults by the names of parameters."""
        named = (
            [part(one, each) for each in _DEFAULTS.get(one.type, ("name", "value"))]
            for one in parts(part(self.node, "parameters"))
        )
        return {
            text_of_node(name): default for name, default in named if name is not None and default is not None
        }


@value
class Content:
    things: tuple[Thing, ...]
    words: frozenset[str]
    marks: Counter[str]
    """How often each operator and each kind of expression is used."""


def definitions_of(roots: Mapping[str, Node], forms: MutationForms) -> list[Definition]:
    own = frozenset(word for path in roots for word in re.split(r"[/.]", path))
    return [one for path, root in roots.items() for one in _File(path, root, forms, own).definitions()]


class _File:
    def __init__(self, path: str, root: Node, forms: MutationForms, own: frozenset[str]) -> None:
        self.path, self.root, self.forms, self.own = path, root, forms, own

    @cached_property
    def origins(self) -> Mapping[str, str]:
        return origins_of(self.root)

    @cached_property
    def reader(self) -> ThingReader:
        bound = frozenset(bound_names(self.root, members=False))
        return ThingReader(self.path, self.root, self.forms, Names(self.origins, bound, self.own))

    def definitions(self) -> Iterator[Definition]:
        stack = [(self.root, "")]
        yield Definition(self, "", self.root)
        while stack:
            node, owner = stack.pop()
            for child in self.forms.visited(node):
                name = _definition_name(child)
                whole = f"{owner}.{name}".strip(".") if "." not in name else name
                if name:
                    yield Definition(self, whole, child)
                if child.type not in FUNCTIONS and not (name and child.type in VALUES):
                    stack.append((child, whole if name else owner))

    def content(self, node: Node) -> Content:
        things: list[Thing] = [*self.reader.declared(node)]
        words: set[str] = set()
        marks: Counter[str] = Counter()
        inside = node.type in FUNCTIONS or node.type in VALUES
        stack = [node]
        while stack:
            one = stack.pop()
            if one is not node and not inside and (inner := _definition_name(one)):
                words.add(inner)
                continue
            if one.type in IDENTIFIERS or one.type in GLOBAL:
                words.add(text_of_node(one))
            marks[operator_of(one) or one.type] += 1
            if one.is_named:
                things += self.reader.things(one)
            stack += [child for child in self.forms.visited(one) if child.type not in _NO_CODE]
        things.sort(key=lambda thing: thing.node.start_byte)
        return Content(tuple(things), frozenset(words), marks)


def _definition_name(node: Node) -> str:
    if node.type in _TYPES:
        return text_of_node(part(node, "name"))
    is_one = node.type in FUNCTIONS or node.type in OWNERS or node.type in VALUES
    return scope_name(node) if is_one and node.is_named else ""
