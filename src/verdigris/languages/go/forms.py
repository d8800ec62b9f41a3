"""Go's tables: what assertions expect, what a stub can return, and which code honest source lacks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from verdigris.languages.concern_rules import read_rules
from verdigris.languages.grammar.changes import negate, swap_word
from verdigris.languages.grammar.conditions import NUMBERS
from verdigris.languages.grammar.expectations import Asserted, Expectations, last_of_each, table_of
from verdigris.languages.grammar.mutation import MutationForms
from verdigris.languages.grammar.trees import first, part, parts, text_of_node, walk
from verdigris.languages.grammar.validation import LIST, NUMBER, TEXT, TRUTH, AnswerForms, Returned, body_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from verdigris.languages.probes import ByteEdit


_TESTIFY = frozenset({"assert", "require"})
_SAME = frozenset({"Equal", "DeepEqual", "EqualValues", "Exactly"})


_SMALL = re.compile(r"0?\.[0-4]\d*|\d(?:\.\d+)?e-\d+")
_DELTA = 3
"""The position of the tolerance among the arguments of `InDelta`."""


class GoExpectations(Expectations):
    opposite_words: ClassVar = {
        **{one: f"Not{one}" for one in ("Equal", "Nil", "Contains", "Empty", "Zero", "Same", "EqualValues")},
        "True": "False",
        "NoError": "Error",
    }

    def sides(self, node: Node) -> Iterator[Sequence[Node]]:
        """Reads the condition under which a test fails, or a call of testify."""
        if node.type == "binary_expression" and text_of_node(part(node, "operator")) == "!=":
            yield from ([side] for name in ("right", "left") if (side := part(node, name)) is not None)
            return
        call = part(node, "operand") if text_of_node(part(node, "operator")) == "!" else node
        function, given = part(call, "function"), parts(part(call, "arguments"))
        testify = text_of_node(part(function, "operand")) in _TESTIFY
        if testify is (call is node) and text_of_node(part(function, "field")).removesuffix("f") in _SAME:
            yield from ([one] for one in (given[1:3] if testify else reversed(given)))

    def asserted(self, node: Node) -> Iterator[Asserted]:
        yield from [*_operands(node)] or super().asserted(node)

    def column(self, scope: Node, named: Node) -> list[Node] | None:
        clause = first(parts(scope), "range_clause") if scope.type == "for_statement" else None
        field, variable = text_of_node(part(named, "field")), text_of_node(part(named, "operand"))
        if (
            clause is None
            or not field
            or variable not in [text_of_node(one) for one in parts(part(clause, "left"))]
        ):
            return None
        table = table_of(scope, part(clause, "right"))
        if table is None or table.type != "composite_literal":
            return []
        return last_of_each([_go_cell(row, field, table) for row in parts(part(table, "body"))])

    def items(self, side: Sequence[Node]) -> list[Node]:
        last = side[-1]
        is_list = last.type == "composite_literal" and text_of_node(part(last, "type")).startswith("[]")
        return parts(part(last, "body")) if is_list else []

    def approximate_number(self, node: Node) -> Node | None:
        function, given = part(node, "function"), parts(part(node, "arguments"))
        word = text_of_node(part(function, "field")).removesuffix("f")
        if word != "InDelta" or text_of_node(part(function, "operand")) not in _TESTIFY:
            return None
        if len(given) <= _DELTA or not _SMALL.fullmatch(text_of_node(given[_DELTA])):
            return None
        return next((n for n in given[1:_DELTA] if n.type in {"float_literal", "int_literal"}), None)

    def opposite_edits(self, node: Node) -> tuple[ByteEdit, ...] | None:
        if node.parent is not None and node.parent.type == "if_statement":
            return negate(node)
        function = part(node, "function")
        if text_of_node(part(function, "operand")) not in _TESTIFY:
            return None
        return swap_word(self.opposite_words, part(function, "field"))


_ENDLESS = {"<": "(1 << 62)", "<=": "(1 << 62)", ">": "(-1 << 62)", ">=": "(-1 << 62)"}
"""By the sign of the condition under which a test fails: a number with which nearly all values meet it."""
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LOOKED_FOR = {"Contains": 2, "ErrorContains": 2, "Regexp": 1}
"""Of testify: the position of what a value has to hold."""
_LISTED = {"ElementsMatch": 2, "Len": 2, "EqualError": 2, "JSONEq": 1}
_ASKING = frozenset({"Contains", "HasPrefix", "HasSuffix"})


def _operands(node: Node) -> Iterator[Asserted]:
    """What a condition or a call of testify looks for in a value, or with which number it compares."""
    sign = text_of_node(part(node, "operator"))
    if node.type == "binary_expression" and sign in _ENDLESS:
        for name, direction in (("right", sign), ("left", _MIRRORED[sign])):
            if (number := part(node, name)) is not None and number.type in NUMBERS:
                yield Asserted("beyond", node, ([number],), others=(_ENDLESS[direction],))
        return
    call = part(node, "operand") if sign == "!" else node
    function, given = part(call, "function"), parts(part(call, "arguments"))
    word = text_of_node(part(function, "field")).removesuffix("f")
    if text_of_node(part(function, "operand")) in _TESTIFY:
        for kind, places in (("pattern", _LOOKED_FOR), ("equal", _LISTED)):
            expected = given[places[word] :][:1] if word in places else []
            is_written = kind == "equal" or all(map(_is_text, expected))
            yield from (Asserted(kind, node, ([one],)) for one in expected if is_written)
    elif sign == "!" and word in _ASKING and given and _is_text(given[-1]):
        yield Asserted("pattern", node, ([given[-1]],))


def _is_text(node: Node) -> bool:
    return node.type.endswith("_string_literal") and text_of_node(node)[1:-1] != ""


def _go_cell(row: Node, field: str, table: Node) -> Node | None:
    value = first(parts(row), "literal_value") or (row if row.type == "literal_value" else None)
    if row.type == "keyed_element":
        value = next((n for n in walk(parts(row)[-1]) if n.type == "literal_value"), None)
    cells = parts(value)
    if cells and cells[0].type == "keyed_element":
        return next((parts(cell)[-1] for cell in cells if text_of_node(parts(cell)[0]) == field), None)
    kind = next((n for n in walk(part(table, "type") or table) if n.type == "field_declaration_list"), None)
    names = [text_of_node(n) for one in parts(kind) for n in one.children_by_field_name("name")]
    return cells[names.index(field)] if field in names and len(cells) == len(names) else None


_NUMBERS = re.compile(r"u?int(8|16|32|64)?|float(32|64)")
_WITH_ERROR = re.compile(r"\(\s*(?:\w+\s+)?([\w\[\]]+)\s*,\s*(?:\w+\s+)?error\s*\)")


def _return_form(function: Node, body: Node) -> Returned | None:  # noqa: ARG001 - the type tells
    told = text_of_node(part(function, "result")).strip()
    pair = _WITH_ERROR.fullmatch(told)
    told, form = (pair[1], "{ return %s, nil }") if pair else (told, "{ return %s }")
    if _NUMBERS.fullmatch(told):
        return Returned(NUMBER, form)
    kinds = {"string": TEXT, "bool": TRUTH, "[]string": LIST}
    return Returned(kinds[told], form) if told in kinds else None


ANSWERS = AnswerForms(
    functions={"function_declaration": body_of, "method_declaration": body_of},
    returned=_return_form,
    constants={
        NUMBER: ("0", "N", "1"),
        TEXT: ('""', '"W"', '"W N"'),
        TRUTH: ("", "true", "false"),
        LIST: ("nil", '[]string{"W"}', '[]string{"W", "W"}'),
    },
)


EXPECTATIONS = GoExpectations
RULES = read_rules(Path(__file__).with_name("concerns.txt"))
MUTATION = MutationForms('if true { panic("not run by any test") };', keeping="\nvar _ = %s\n")
