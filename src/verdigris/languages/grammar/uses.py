"""Reads how a test uses the names that source has to declare; each language brings a table of its forms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import field, replace, value
from verdigris.languages.grammar.trees import part, parts, text_of_node
from verdigris.languages.stubs import UNTOLD, Argument, Kind, Wanted, WantedCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

Origin = tuple[str, str]
"""A module, as the test names it, and a name in it."""
NAMES = frozenset({"identifier", "type_identifier"})
_SEQUENCE = re.compile(r"\w*&?\[|Vec<")
COMPARING = frozenset({"==", "!=", "<", ">", "<=", ">="})


@value
class UseForms:
    """How a language writes what a test does with a name."""

    members: Mapping[str, tuple[str, str]]
    """Of each node that takes a member of something: the fields of the owner and of the member's name."""
    calls: Mapping[str, str]
    """Of each node that calls or makes something: the field of what is called."""
    variables: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of each node that gives a variable its value: the fields of both; an empty one is the first child."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The types of literals."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Of each type: the name of a parameter that takes a literal of it."""
    wrappers: frozenset[str] = frozenset({"parenthesized_expression", "unary_expression"})
    """Nodes that only stand around an expression, as far as its type and its name go."""
    awaited: str = ""
    spread: str = ""
    options: str = ""
    reserved: frozenset[str] = frozenset()
    snake: bool = False
    """Whether the names of parameters are written with underscores."""


class Uses:
    """The names that some nodes of a test use."""

    forms: UseForms

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.classes: dict[str, Origin] = {}
        """Variables, each with the class of its object."""

    def origin(self, node: Node) -> Origin | None:
        """Where the name comes from that an expression is; None if it is of no module that may lack it."""
        raise NotImplementedError

    def is_use(self, node: Node) -> bool:
        """Whether a name is used here, and not only part of something else or bound."""
        raise NotImplementedError

    def kind(self, node: Node, name: str) -> Kind:
        raise NotImplementedError

    def is_class(self, name: str) -> bool:
        return is_class(name)

    def results(self, call: Node, name: str) -> tuple[str, ...]:  # noqa: ARG002 - a default
        return ()

    def read_variables(self) -> None:
        for node in self.nodes:
            if (fields := self.forms.variables.get(node.type)) is not None:
                name, given = (part(node, each) if each else next(iter(parts(node)), None) for each in fields)
                if (owner := self.class_of(given)) is not None:
                    self.classes[text_of_node(name)] = owner

    def wanted(self) -> Iterator[Wanted]:
        for node in self.nodes:
            if self.is_use(node) and (origin := self.origin(node)) is not None:
                member = self.member(node, origin[1])
                yield replace(
                    member,
                    module=origin[0],
                    kind=self.kind(node, origin[1]),
                    members=tuple(self.fields_of(node)),
                )
            if node.type in self.forms.members:
                yield from self.wanted_members(node)

    def wanted_members(self, node: Node) -> Iterator[Wanted]:
        """The member that a test uses of a class, or of an object of it."""
        owner, name = (part(node, each) for each in self.forms.members[node.type])
        of_type = self.origin(owner) if owner is not None else None
        origin = of_type or self.class_of(owner)
        if origin is not None and self.is_class(origin[1]) and not text_of_node(name).startswith("__"):
            member = self.member(node, text_of_node(name), of_type=of_type is not None)
            yield Wanted(*origin, "class", members=(member,))

    def member(self, node: Node, name: str, *, of_type: bool = False) -> Wanted:
        calls = self.calls(node)
        expected = "" if calls else self.expected_type(node)
        return Wanted("", name, "function" if calls else "value", calls, of_type=of_type, type=expected)

    def fields_of(self, node: Node) -> Iterator[Wanted]:  # noqa: ARG002 - a default
        """The fields of the literal whose type the node names."""
        return iter(())

    def class_of(self, node: Node | None) -> Origin | None:
        """The class of the object that an expression makes or holds; None if it is not known."""
        node = self.unwrapped(node)
        if node is None:
            return None
        if (called := part(node, self.forms.calls.get(node.type, "-"))) is not None:
            origin = self.origin(called)
            return origin if origin is not None and self.is_class(origin[1]) else None
        return self.classes.get(text_of_node(node)) if node.type in NAMES else None

    def is_called(self, node: Node) -> bool:
        call = node.parent
        return call is not None and part(call, self.forms.calls.get(call.type, "-")) == node

    def calls(self, node: Node) -> tuple[WantedCall, ...]:
        call = node.parent
        if call is None or not self.is_called(node):
            return ()
        given = parts(part(call, "arguments"))
        packed = (self.forms.spread, self.forms.options)
        kinds = {one.type for one in given}
        return (
            WantedCall(
                tuple(map(self.argument, (one for one in given if one.type not in packed))),
                spread=self.forms.spread in kinds,
                options=self.forms.options in kinds,
                awaited=call.parent is not None and call.parent.type == self.forms.awaited,
                result=self.results(call, last_word(text_of_node(node))),
            ),
        )

    def argument(self, node: Node) -> Argument:
        if node.type == "keyword_argument":
            return Argument(text_of_node(part(node, "name")), keyword=True)
        kind = self.type_of(node)
        return Argument(self._parameter_name(node, kind), kind)

    def _parameter_name(self, node: Node, kind: str) -> str:
        """A name for the parameter that takes this argument: the argument's own, or one for its type."""
        inner = self.unwrapped(node) or node
        is_named = inner.type in NAMES or inner.type in self.forms.members
        if not is_named and (word := self.forms.words.get(kind, "items" if _SEQUENCE.match(kind) else "")):
            return word
        inner = part(inner, self.forms.calls.get(inner.type, "-")) or inner
        named = inner.type in NAMES or inner.type in self.forms.members
        word = last_word(text_of_node(inner)) if named else ""
        if word.isupper():
            word = word.lower()
        elif self.forms.snake:
            word = re.sub(r"(?<!^)([A-Z])", r"_\1", word).strip("_").lower()
        word = word[:1].lower() + word[1:]
        return word if word.isidentifier() and word not in self.forms.reserved else "value"

    def unwrapped(self, node: Node | None) -> Node | None:
        while node is not None and node.type in self.forms.wrappers:
            node = next(iter(parts(node)), None)
        return node

    def type_of(self, node: Node | None) -> str:
        """The type of an expression; empty if the text does not show it."""
        node = self.unwrapped(node)
        return "" if node is None else self.forms.types.get(node.type, "")

    def expected_type(self, node: Node) -> str:  # noqa: ARG002 - a default
        """The type that an expression must have where it stands; empty if the text does not show it."""
        return ""


class TypedUses(Uses):
    """Uses in a language whose compiler refuses a stub of the wrong type.

    The types are those of literals, of what a result is compared with, and of conditions.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__(nodes)
        self.types: dict[str, str] = {}
        """The types of variables."""

    def is_class(self, name: str) -> bool:
        return name[:1].isupper()

    def compared_with(self, node: Node, arguments: Node) -> Node | None:
        """What an assertion compares one of its arguments with."""
        raise NotImplementedError

    def taken_by(self, result: Node) -> list[Node]:
        """The variables that take the results of a call; empty if none does."""
        raise NotImplementedError

    def owned(self, kind: str) -> str:
        """The type of a result that is compared with a value of this type."""
        return kind

    def expected_by(self, node: Node, parent: Node) -> str:  # noqa: ARG002 - a default
        """The type that a language's own forms show."""
        return ""

    def is_condition(self, node: Node, parent: Node) -> bool:
        negated = parent.type == "unary_expression" and text_of_node(parent).startswith("!")
        return negated or part(parent, "condition") == node

    def results(self, call: Node, name: str) -> tuple[str, ...]:  # noqa: ARG002 - by its use alone
        if call.parent is None or call.parent.type == "expression_statement":
            return ()
        if names := self.taken_by(call):
            return tuple(self.type_of_variable(text_of_node(one)) or UNTOLD for one in names)
        return (self.expected_type(call) or UNTOLD,)

    def type_of_variable(self, name: str) -> str:
        uses = (node for node in self.nodes if node.type == "identifier" and text_of_node(node) == name)
        return next((kind for node in uses if (kind := self.expected_type(node))), "")

    def expected_type(self, node: Node) -> str:
        parent = node.parent
        if parent is None:
            return ""
        if parent.type == "binary_expression" and text_of_node(part(parent, "operator")) in COMPARING:
            return self.owned(self.type_of(next((one for one in parts(parent) if one != node), None)))
        if parent.type.startswith("argument") and (other := self.compared_with(node, parent)) is not None:
            return self.owned(self.type_of(other))
        return "bool" if self.is_condition(node, parent) else self.expected_by(node, parent)

    def type_of(self, node: Node | None) -> str:
        inner = self.unwrapped(node)
        if inner is not None and inner.type == "identifier":
            return self.types.get(text_of_node(inner), "")
        return super().type_of(inner)


def last_word(text: str) -> str:
    """The last name of a path such as `a.b`, `a::b` or `&a.b`."""
    return re.split(r"[^\w]", text)[-1]


def is_class(name: str) -> bool:
    """Whether a name looks like the name of a class, and not like that of a constant."""
    bare = name.lstrip("_")
    return bare[:1].isupper() and not (len(bare) > 1 and bare.isupper())


def kind_of_name(name: str) -> Kind:
    """What the name alone says: an error, a class, or anything else."""
    if name.endswith(("Error", "Exception", "Warning")):
        return "error"
    return "class" if is_class(name) else "value"
