"""Rust's tables: what assertions expect, what a stub can return, and which code honest source lacks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from verdigris.languages.concern_rules import read_rules
from verdigris.languages.grammar.changes import swap_word
from verdigris.languages.grammar.expectations import Asserted, Expectations, last_of_each, table_of
from verdigris.languages.grammar.mutation import MutationForms
from verdigris.languages.grammar.trees import COMMENTS, first, part, parts, text_of_node
from verdigris.languages.grammar.validation import LIST, NUMBER, TEXT, TRUTH, AnswerForms, Returned, body_of
from verdigris.languages.probes import ByteEdit
from verdigris.languages.rust import content
from verdigris.languages.rust.tests import EQUAL, split_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node


_SIDES = 2


class RustExpectations(Expectations):
    opposite_words: ClassVar = {"assert_eq": "assert_ne"}
    member = re.compile(r"(?:\w+::)+[A-Z]\w*\Z")
    content_edits = staticmethod(content.content_edits)

    def sides(self, node: Node) -> Iterator[Sequence[Node]]:
        """Splits the tokens of an `assert_eq!` at its commas, since a macro has no syntax tree."""
        tree = first(parts(node), "token_tree")
        if tree is None or text_of_node(part(node, "macro")) not in EQUAL:
            return
        yield from reversed(split_tokens(tree)[:_SIDES])

    def asserted(self, node: Node) -> Iterator[Asserted]:
        tree = first(parts(node), "token_tree")
        is_truth = tree is not None and text_of_node(part(node, "macro")) == "assert"
        arguments = split_tokens(tree) if tree is not None and is_truth else []
        asked = [*_operands(node, arguments[0])] if arguments else []
        yield from asked or super().asserted(node)

    def column(self, scope: Node, named: Node) -> list[Node] | None:
        """Finds the column in `for (a, b) in [(1, 2), …]`."""
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

    def opposite_edits(self, node: Node) -> tuple[ByteEdit, ...] | None:
        macro, tree = part(node, "macro"), first(parts(node), "token_tree")
        if text_of_node(macro) != "assert" or tree is None:
            return swap_word(self.opposite_words, macro)
        inner = [child for child in tree.children[1:-1] if child.type not in COMMENTS]
        comma = next((at for at, child in enumerate(inner) if child.type == ","), len(inner))
        if not comma:
            return None
        start, end = inner[0].start_byte, inner[comma - 1].end_byte
        return (ByteEdit(start, start, "!("), ByteEdit(end, end, ")"))


_ENDLESS = {
    "integer_literal": {">": "2147483647", "<": "-2147483648"},
    "float_literal": {">": "1e30", "<": "-1e30"},
}


def _operands(node: Node, condition: Sequence[Node]) -> Iterator[Asserted]:
    """What the condition of an `assert!` compares, or looks for; none if it has several parts."""
    texts = [text_of_node(token) for token in condition]
    if {"&&", "||"}.intersection(texts) or texts[0] == "!":
        return
    last = condition[-1]
    match ["", "", *texts][-3:]:
        case _ if texts.count("==") == 1:
            at = texts.index("==")
            yield Asserted("equal", node, (condition[at + 1 :], condition[:at]))
        case [_, "<" | ">" | "<=" | ">=" as sign, text] if last.type in _ENDLESS and text[-1].isdigit():
            yield Asserted("beyond", node, ([last],), others=(_ENDLESS[last.type][sign[0]],))
        case [".", "contains" | "starts_with" | "ends_with", _]:
            given = last.children[1:-1]
            if [one.type for one in given] == ["string_literal"] and text_of_node(given[0]) != '""':
                yield Asserted("pattern", node, (given,))


_NUMBERS = re.compile(r"[iu](8|16|32|64|128|size)")
_WRAPPED = re.compile(r"(Option|Result)<\s*(\w+)\s*(?:,.*)?>")
_KINDS = {"String": TEXT, "bool": TRUTH, "Vec<String>": LIST}


def _return_form(function: Node, body: Node) -> Returned | None:  # noqa: ARG001 - the type tells
    told = text_of_node(part(function, "return_type")).strip()
    wrapped = _WRAPPED.fullmatch(told)
    form = "{ %s }"
    if wrapped is not None:
        told, form = wrapped[2], "{ Some(%s) }" if wrapped[1] == "Option" else "{ Ok(%s) }"
    if _NUMBERS.fullmatch(told):
        return Returned(NUMBER, form)
    return Returned(_KINDS[told], form) if told in _KINDS else None


ANSWERS = AnswerForms(
    functions={"function_item": body_of},
    returned=_return_form,
    constants={
        NUMBER: ("0", "N", "1"),
        TEXT: ("String::new()", '"W".to_string()', '"W N".to_string()'),
        TRUTH: ("", "true", "false"),
        LIST: ("vec![]", 'vec!["W".to_string()]', 'vec!["W".to_string(), "W".to_string()]'),
    },
)


EXPECTATIONS = RustExpectations
RULES = read_rules(Path(__file__).with_name("concerns.txt"))
MUTATION = MutationForms('if true { panic!("not run by any test") }')
