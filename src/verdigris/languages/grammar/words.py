"""Code as words: the tokens of an expression in one spelling, with values in place of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertions import Word, Words
from verdigris.languages.grammar.trees import COMMENTS, said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

_NAMES = frozenset(
    {
        *("identifier", "type_identifier", "shorthand_property_identifier", "package_identifier"),
        *("property_identifier", "field_identifier", "private_property_identifier"),
    }
)
_MEMBERS = frozenset({"property_identifier", "field_identifier", "private_property_identifier"})
_TEXTS = frozenset({"string", "interpreted_string_literal", "string_literal"})
_DROPPED = frozenset({";", "await", "as", "satisfies"})
_LONGEST = 400
"""Words of one value that are put in a name's place."""


@value
class Names:
    """What the names of a test stand for."""

    values: Mapping[str, Words]
    local: frozenset[str] = frozenset()

    def binding(self, name: str, words: Words | None) -> Names:
        """None: a name of its own, whose value is not known."""
        values = {key: value for key, value in self.values.items() if key != name}
        if words is not None and len(words) <= _LONGEST:
            return Names(values | {name: words}, self.local - {name})
        return Names(values, self.local | {name})


def spelled(node: Node | None, names: Names) -> Words:
    return tuple(_spelled(node, names)) if node is not None else ()


def _spelled(node: Node, names: Names) -> list[Word]:
    if node.type in COMMENTS:
        return []
    if node.type in _TEXTS:
        return [Word('"' + said(node)[1:-1] + '"')]
    if not node.children:
        return _leaf(node, names)
    found: list[Word] = []
    for child in node.children:
        if (
            child.type == ","
            and child.next_sibling is not None
            and child.next_sibling.type in {")", "]", "}"}
        ):
            continue
        found += _spelled(child, names)
    return found


def _leaf(node: Node, names: Names) -> list[Word]:
    text = said(node)
    if node.type in _DROPPED or not text.strip():
        return []
    if node.type not in _NAMES:
        return [Word(text)]
    called = node.next_sibling is not None and node.next_sibling.type in {"arguments", "argument_list"}
    if node.type in _MEMBERS or _follows_dot(node):
        parent = node.parent
        after = parent.next_sibling if parent is not None else None
        return [
            Word(text, name=True, called=after is not None and after.type in {"arguments", "argument_list"})
        ]
    if text in names.values:
        return list(names.values[text])
    return [Word(text, name=True, local=text in names.local, called=called)]


def _follows_dot(node: Node) -> bool:
    """Within a macro of Rust's there are but tokens: what follows a dot or colons is no variable."""
    before = node.prev_sibling
    return before is not None and before.type in {".", "::"}
