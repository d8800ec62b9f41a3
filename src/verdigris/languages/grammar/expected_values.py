"""Finds where an assertion says what it expects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.tables import literals_within, rows_of
from verdigris.languages.grammar.trees import text_of_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.expectations import Expectations

_BUILT = re.compile(r"(?:\w+::)*[A-Z]\w*\Z|String::from\Z")
"""What only holds its arguments: constructors, as far as a name tells."""
_CONVERTED = frozenset({"to_string", "to_owned", "into", "to_vec"})
_COMPUTING = frozenset({"*", "/", "%", "^", "|", "<<", ">>", "as"})
"""After these, another operand may well make the same value."""


@value
class Expected:
    """One side of an assertion, where it says what it expects."""

    side: Sequence[Node]
    literals: Sequence[Node] = ()
    """Each may be another one by itself."""
    rows: Sequence[Node] = ()
    """One of each row or call that the assertion speaks of: they are other ones together."""


def find_expected(forms: Expectations, node: Node) -> Iterator[Expected]:
    """The likeliest side first."""
    found = [*forms.sides(node)]
    for side in found:
        yield Expected(side, _literals(side))
    compared = [word for side in found for word in side] if not forms.has_inner_calls else [node]
    for side in found:
        if len(side) == 1 and (rows := rows_of(forms, side[0], node, compared)):
            yield Expected(side, rows=rows)


def _literals(side: Sequence[Node]) -> list[Node]:
    """Those that the value is made of: what a call does with its own is not known."""
    found: list[Node] = []
    if any(text_of_node(node) in _COMPUTING for node in side[1:]):
        return []
    for index, node in enumerate(side):
        if node.type == "token_tree" and not _holds(side[:index]):
            return []
        if node.type == "identifier" and text_of_node(node) not in _CONVERTED and _is_called(side, index):
            return []
        if node.type == "token_tree":
            found += _literals(node.children[1:-1])
        elif index and side[index - 1].type == ".":
            continue
        else:
            found += literals_within(node)
    return found


def _is_called(side: Sequence[Node], index: int) -> bool:
    """A name in small letters before parentheses."""
    after = side[index + 1] if index + 1 < len(side) else None
    lower = text_of_node(side[index])[:1].islower()
    return lower and after is not None and after.type == "token_tree" and text_of_node(after).startswith("(")


def _holds(before: Sequence[Node]) -> bool:
    if not before:
        return True
    last = text_of_node(before[-1])
    if last in _CONVERTED or not re.match(r"[\w!]", last):
        return True
    return bool(_BUILT.search("".join(map(text_of_node, before)))) or [
        text_of_node(n) for n in before[-2:]
    ] == ["vec", "!"]
