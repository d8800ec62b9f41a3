"""What assertions of Rust expect: macros, within which there are but tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from verdigris.languages.grammar.expectations import Expectations, last_of_each, table_of
from verdigris.languages.grammar.opposites import other_word
from verdigris.languages.grammar.trees import COMMENTS, first, part, parts, text_of_node
from verdigris.languages.probes import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_EQUAL = frozenset({"assert_eq", "debug_assert_eq", "prop_assert_eq", "assert_str_eq"})
_SIDES = 2


class RustExpectations(Expectations):
    opposite_words: ClassVar = {"assert_eq": "assert_ne"}
    member = re.compile(r"(?:\w+::)+[A-Z]\w*\Z")

    def sides(self, node: Node) -> Iterator[Sequence[Node]]:
        """Within a macro there are but tokens."""
        tree = first(parts(node), "token_tree")
        if tree is None or text_of_node(part(node, "macro")) not in _EQUAL:
            return
        sides: list[list[Node]] = [[]]
        for child in tree.children[1:-1]:
            if child.type == ",":
                sides.append([])
            elif child.type not in COMMENTS:
                sides[-1].append(child)
        yield from (side for side in reversed(sides[:_SIDES]) if side)

    def column(self, scope: Node, named: Node) -> list[Node] | None:
        """`for (a, b) in [(1, 2), …]`."""
        pattern = part(scope, "pattern") if scope.type == "for_expression" else None
        names = [text_of_node(one) for one in parts(pattern)]
        name = text_of_node(named)
        if name not in names:
            return None
        table = table_of(scope, part(scope, "value"))
        if table is None or table.type != "array_expression":
            return []
        rows = [parts(row) for row in parts(table)]
        at = names.index(name)
        return last_of_each([row[at] if len(row) == len(names) else None for row in rows])

    def items(self, side: Sequence[Node]) -> list[Node]:
        if [text_of_node(n) for n in side[:-1]] != ["vec", "!"]:
            return []
        inner = side[-1].children[1:-1]
        return [n for n in inner if n.type != ","] if not any(n.type == ";" for n in inner) else []

    def negated(self, node: Node) -> tuple[Edit, ...] | None:
        macro, tree = part(node, "macro"), first(parts(node), "token_tree")
        if text_of_node(macro) != "assert" or tree is None:
            return other_word(self.opposite_words, macro)
        inner = [child for child in tree.children[1:-1] if child.type not in COMMENTS]
        comma = next((at for at, child in enumerate(inner) if child.type == ","), len(inner))
        if not comma:
            return None
        start, end = inner[0].start_byte, inner[comma - 1].end_byte
        return (Edit(start, start, "!("), Edit(end, end, ")"))
