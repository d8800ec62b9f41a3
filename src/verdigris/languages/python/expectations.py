"""How Python writes assertions: tables of pytest's, unittest's, mock's and numpy's, and what they compare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from verdigris.core.value import replace
from verdigris.languages.grammar.changes import swap_word
from verdigris.languages.grammar.conditions import OPPOSITE, bare, last_name
from verdigris.languages.grammar.expectations import (
    Asserted,
    Expectations,
    find_declaration,
    literals_within,
    nodes_around,
)
from verdigris.languages.grammar.trees import on_one_line, part, parts, short, text_of_node, walk
from verdigris.languages.probes import ByteEdit, ProbeChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_METHODS = {
    "assertIsNone": "assertIsNotNone",
    "assertIs": "assertIsNot",
    "assertIn": "assertNotIn",
    "assertEqual": "assertNotEqual",
    "assertAlmostEqual": "assertNotAlmostEqual",
    "assertIsInstance": "assertNotIsInstance",
    "assertRegex": "assertNotRegex",
    "assert_called": "assert_not_called",
    "assert_awaited": "assert_not_awaited",
}
_ONCE = {"assert_called_once": "assert_not_called", "assert_awaited_once": "assert_not_awaited"}
_EQUALITIES = frozenset(
    {
        *("assertEqual", "assertAlmostEqual", "assertCountEqual", "assertDictEqual", "assertListEqual"),
        *("assertMultiLineEqual", "assertSequenceEqual", "assertSetEqual", "assertTupleEqual"),
        *("assert_equal", "assert_array_equal", "assert_allclose", "assert_almost_equal"),
    }
)
_GIVEN = frozenset(
    {
        *("assert_called_with", "assert_called_once_with", "assert_any_call"),
        *("assert_awaited_with", "assert_awaited_once_with", "assert_any_await"),
    }
)
_UNRELATED = {
    **dict.fromkeys(
        ("raises", "assertRaises", "assertRaisesRegex"),
        ("BufferError", "EOFError", "FloatingPointError", "MemoryError", "ReferenceError"),
    ),
    **dict.fromkeys(
        ("warns", "assertWarns", "assertWarnsRegex"), ("BytesWarning", "UnicodeWarning", "ImportWarning")
    ),
}
"""Exceptions and warnings that a project's own classes do not derive from."""
_TYPES = frozenset({"expected_exception", "expected_warning", "exception", "warning"})
_PATTERNS = frozenset({"match", "expected_regex"})
_TOLERANCES = frozenset({"delta", "places", "rtol", "atol", "decimal"})
_DIGITS = frozenset({"places", "decimal"})
_PLACES = 1e-6
"""The default tolerance of tools that compare approximately."""
_ANY_SIZE = 0.4
"""From this relative tolerance on, no other number is certain to be rejected."""
_TEXT = re.compile(r"r?(['\"])[^'\"]+\1")
_LONG_TEXT = re.compile(r"r?(['\"]).{6,}\1")
"""What holds nearly everything holds a short text by right."""
_ENDS = frozenset({"startswith", "endswith"})
_ODD_CLASSES = ("memoryview", "slice", "staticmethod")
"""Classes of which no answer is."""
_ORDERS = ("<", "<=", ">", ">=")
_ORDERED = {"assertLess": "<", "assertLessEqual": "<=", "assertGreater": ">", "assertGreaterEqual": ">="}
_WILD = frozenset({"ANY", "Any", "IsAnything"})
"""Names of operands that are equal to everything."""
_LEAVING = frozenset({"return_statement", "raise_statement", "continue_statement", "break_statement"})


class PythonExpectations(Expectations):
    opposite_words: ClassVar = _METHODS
    member = re.compile(r"(?![A-Z0-9_]+\.)[A-Z]\w*\.[A-Z][A-Z0-9_]*\Z")
    has_inner_calls = True
    empties: ClassVar = {"[]": "[%s]", "()": "(%s,)", "{}": "{%s: 1}", "set()": "{%s}"}
    unlike = "(%s, 0)"

    def asserted(self, node: Node) -> Iterator[Asserted]:
        first = parts(node)[0]
        match node.type:
            case "assert_statement":
                yield from _asserted_by_truth(first)
            case "with_statement":
                contexts = [_called(part(item, "value")) for item in parts(first)]
                calls = [call for call in contexts if call is not None]
                yield from [one for call in calls for one in _raised(call)] or [Asserted("true", node)]
            case _:
                call = _called(first)
                yield from [Asserted("true", node)] if call is None else _asserted_by_call(node, call)

    def items(self, side: Sequence[Node]) -> list[Node]:
        least = {"list": 0, "set": 0, "tuple": 2}.get(side[0].type)
        found = parts(side[0])
        return found if least is not None and len(found) > least else []

    def column(self, scope: Node, named: Node) -> list[Node] | None:
        """Finds the column in `for a, b in table` and in `parametrize("a, b", table)`."""
        name = text_of_node(named)
        if scope.type == "for_statement":
            left = part(scope, "left")
            names = [text_of_node(one) for one in parts(left)]
            if name not in (names or [text_of_node(left)]):
                return None
            return _column(_rows(part(scope, "right"), scope), names.index(name) if names else None)
        if scope.type != "function_definition" or name not in _parameters(scope):
            return None
        above = scope.parent
        marks = [one for one in parts(above) if one.type == "decorator"] if above is not None else []
        return next((found for mark in marks if (found := _parametrized(mark, name))), [])

    def opposite_edits(self, node: Node) -> tuple[ByteEdit, ...] | None:
        if node.type == "with_statement":
            return None
        call = _called(parts(node)[0]) if node.type == "expression_statement" else None
        if call is not None:
            word = part(part(call, "function"), "attribute")
            if text_of_node(word) in _ONCE and word is not None:
                return (ByteEdit(word.start_byte, word.end_byte, _ONCE[text_of_node(word)]),)
            return swap_word(self.opposite_words, word)
        if node.type == "expression_statement":
            return None
        if node.type == "not_operator":
            return (ByteEdit(node.children[0].start_byte, node.children[0].end_byte, ""),)
        signs = _signs(node)
        if len(signs) == 1 and text_of_node(signs[0]) in OPPOSITE:
            return (ByteEdit(signs[0].start_byte, signs[0].end_byte, OPPOSITE[text_of_node(signs[0])]),)
        return (
            ByteEdit(node.start_byte, node.start_byte, "not ("),
            ByteEdit(node.end_byte, node.end_byte, ")"),
        )

    def failure_after(self, node: Node) -> ProbeChange | None:
        what = f"{short(on_one_line(node))} → a failure after it"
        if node.type != "with_statement":
            return ProbeChange((ByteEdit(node.end_byte, node.end_byte, "; assert False"),), what)
        root = [node, *nodes_around(node)][-1]
        data, end = root.text or b"", node.end_byte - root.start_byte
        end = data.find(b"\n", end) + 1 or len(data)
        begun = "" if data[end - 1 : end] == b"\n" else "\n"
        text = f"{begun}{' ' * node.start_point[1]}assert False\n"
        leaves = any(inner.type in _LEAVING for inner in walk(node))
        at = end + root.start_byte
        return ProbeChange((ByteEdit(at, at, text),), what, may_pass=leaves)


def _called(node: Node | None) -> Node | None:
    """The call that an expression is, or waits for, or that a context names."""
    while node is not None and node.type in {"await", "as_pattern", "parenthesized_expression"}:
        node = parts(node)[0]
    return node if node is not None and node.type == "call" else None


def _signs(node: Node) -> list[Node]:
    return [one for one in node.children if not one.is_named] if node.type == "comparison_operator" else []


def _asserted_by_truth(test: Node) -> Iterator[Asserted]:
    """What is asserted by an expression that has to be true."""
    inner = bare(test)
    if inner.type == "boolean_operator" and text_of_node(part(inner, "operator")) == "and":
        for side in (part(inner, "left"), part(inner, "right")):
            if side is not None:
                yield from _asserted_by_truth(side)
        return
    operands, signs = parts(inner), [text_of_node(sign) for sign in _signs(inner)]
    pairs = zip(operands, signs, operands[1:], strict=False)
    sides = [side for one, sign, two in pairs if _equates(one, sign, two) for side in (two, one)]
    if sides:
        yield _compared(inner, sides, is_free=signs == ["=="])
    elif signs == ["in"] and operands[1].type in {"list", "tuple", "set"}:
        yield Asserted("holds", inner, ([operands[1]],))
    elif signs == ["in"] and _LONG_TEXT.fullmatch(text_of_node(operands[0])):
        yield Asserted("pattern", inner, ([operands[0]],))
    elif len(signs) == 1 and signs[0] in _ORDERS and (bound := _bound(operands, signs[0])) is not None:
        yield bound
    elif inner.type == "call" and (asked := _asked_of(inner)) is not None:
        yield asked
    else:
        yield Asserted("true", inner if _signs(inner) or inner.type == "not_operator" else test)


def _asked_of(call: Node) -> Asserted | None:
    """What a call is given that answers with true or false: the class, or how a text begins or ends."""
    name, given = _name(call), parts(part(call, "arguments"))
    if name == "isinstance" and len(given) > 1:
        return Asserted("named", call, ([given[1]],), others=_ODD_CLASSES)
    if name in _ENDS and len(given) == 1 and _TEXT.fullmatch(text_of_node(given[0])):
        return Asserted("pattern", call, ([given[0]],))
    return None


def _bound(operands: Sequence[Node], sign: str) -> Asserted | None:
    """An order with a number: with an endless one nothing honest is in that order."""
    for place, operand in enumerate(operands):
        if operand.type in {"integer", "float"} and operand.parent is not None:
            endless = "float('-inf')" if (sign in "<=") == (place == 1) else "float('inf')"
            return Asserted("beyond", operand.parent, ([operand],), others=(endless,))
    return None


def _equates(one: Node, sign: str, two: Node) -> bool:
    return sign == "==" or (sign == "is" and bool({one.type, two.type} & {"true", "false"}))


def _compared(node: Node, sides: Sequence[Node], slack: float | None = 0.0, *, is_free: bool) -> Asserted:
    """An equality. `slack`: its tolerance; None if the text does not show it."""
    free = is_free and not any(_name(side) in _WILD for side in sides)
    calls = [one for side in sides for one in walk(side) if _name(one) == "approx" and one.type == "call"]
    sizes = [slack, *map(_tolerance_of_approx, calls)]
    known = [size for size in sizes if size is not None]
    kind = "equal" if len(known) == len(sizes) else "unknown"
    return Asserted(kind, node, tuple([side] for side in sides), max(known, default=0.0), is_free=free)


def _name(node: Node) -> str:
    return last_name(part(node, "function") if node.type == "call" else node)


def _tolerance_of_approx(call: Node) -> float | None:
    """The tolerance of `approx`; None if the text does not show it, or if it is too large."""
    given = [one for one in parts(part(call, "arguments")) if one.type != "keyword_argument"]
    sizes = dict(zip(("rel", "abs"), given[1:], strict=False)) | _keywords(call)
    relative, absolute = (_size(sizes.get(name)) for name in ("rel", "abs"))
    if relative is None or absolute is None or relative >= _ANY_SIZE:
        return None
    numbers = [_size(one) or 0.0 for one in literals_within(given[0])] if given else []
    return max(absolute, (relative or _PLACES) * max(map(abs, numbers), default=0.0) * 2)


def _keywords(call: Node) -> dict[str, Node]:
    words = [one for one in parts(part(call, "arguments")) if one.type == "keyword_argument"]
    found = {text_of_node(part(word, "name")): part(word, "value") for word in words}
    return {name: given for name, given in found.items() if given is not None}


def _size(node: Node | None) -> float | None:
    if node is None or node.type == "none":
        return 0.0
    try:
        return float(text_of_node(node))
    except ValueError:
        return None


def _asserted_by_call(statement: Node, call: Node) -> Iterator[Asserted]:
    name = _name(call)
    given = [one for one in parts(part(call, "arguments")) if one.type != "keyword_argument"]
    if name in _UNRELATED:
        yield from _raised(call)
    elif name == "assertTrue" and given:
        yield from _asserted_by_truth(given[0])
    elif name == "assertFalse" and given:
        yield Asserted("true", given[0])
    elif name in _GIVEN:
        words = parts(part(call, "arguments"))
        values = [part(one, "value") or one if one.type == "keyword_argument" else one for one in words]
        yield Asserted("given", call, tuple([one] for one in values))
    elif name in _EQUALITIES and len(given) > 1:
        slack = _tolerance_of_call(call, name)
        yield _compared(statement, given[1::-1], slack, is_free=name == "assertEqual")
    elif name == "assertIn" and len(given) > 1 and given[1].type in {"list", "tuple", "set"}:
        yield Asserted("holds", statement, ([given[1]],))
    elif name == "assertIn" and given and _LONG_TEXT.fullmatch(text_of_node(given[0])):
        yield Asserted("pattern", statement, ([given[0]],))
    elif name == "assertIsInstance" and len(given) > 1:
        yield Asserted("named", statement, ([given[1]],), others=_ODD_CLASSES)
    elif name in _ORDERED and len(given) > 1 and (bound := _bound(given[:2], _ORDERED[name])) is not None:
        yield replace(bound, node=statement)
    elif name != "fail":
        yield Asserted("true", statement)


def _tolerance_of_call(call: Node, name: str) -> float | None:
    """The tolerance of a call that compares numbers; None if the text does not show it."""
    total = _PLACES if "Almost" in name or "almost" in name or "close" in name else 0.0
    for word, given in _keywords(call).items():
        if word in _TOLERANCES:
            size = _size(given)
            if size is None:
                return None
            total += 10.0**-size if word in _DIGITS else 100 * size if word == "rtol" else size
    return total


def _raised(call: Node) -> Iterator[Asserted]:
    """The class and the text of an expected error or warning."""
    name, words = _name(call), _keywords(call)
    if name not in _UNRELATED:
        return
    given = [one for one in parts(part(call, "arguments")) if one.type != "keyword_argument"]
    for kind in [*given[:1], *(one for word, one in words.items() if word in _TYPES)][:1]:
        yield Asserted("named", kind, ([kind],), others=_UNRELATED[name])
    matched = [one for word, one in words.items() if word in _PATTERNS]
    for pattern in [*matched, *(given[1:2] if name.endswith("Regex") else ())]:
        if _TEXT.fullmatch(text_of_node(pattern)):
            yield Asserted("pattern", pattern, ([pattern],))


# -- tables --------------------------------------------------------------------------------------------------


def _parameters(function: Node) -> set[str]:
    given = parts(part(function, "parameters"))
    return {text_of_node(part(one, "name") or next(iter(parts(one)), one)) for one in given}


def _parametrized(mark: Node, name: str) -> list[Node]:
    call = _called(parts(mark)[0])
    given = parts(part(call, "arguments"))
    if call is None or _name(call) != "parametrize" or len(given) < 2 or "indirect" in _keywords(call):  # noqa: PLR2004 - names, rows
        return []
    is_list = given[0].type in {"list", "tuple"}
    texts = map(text_of_node, parts(given[0]) if is_list else given[:1])
    names = [word.strip() for text in texts for word in text.strip("'\"").split(",")]
    if name not in names:
        return []
    return _column(_rows(given[1], mark), names.index(name) if is_list or len(names) > 1 else None)


def _rows(table: Node | None, scope: Node) -> list[Node]:
    """The rows of a table, in place or behind a name that is used only here; empty if they are not known."""
    call = _called(table)
    over = part(part(call, "function"), "object") if call is not None else table
    if call is not None and last_name(part(call, "function")) != "items":
        return []
    found = _table_behind(over, scope) if over is not None and over.type == "identifier" else over
    if found is None or found.type not in ({"dictionary"} if call is not None else {"list", "tuple"}):
        return []
    return parts(found)


def _table_behind(name: Node, scope: Node) -> Node | None:
    around = [scope, *nodes_around(scope)]
    declared = (find_declaration(above, text_of_node(name)) for above in around[1:])
    found = next((one for one in declared if one is not None), None)
    uses = [one for one in walk(around[-1]) if one.type == "identifier" and one.text == name.text]
    return found if len(uses) == 2 else None  # noqa: PLR2004 - where it is bound, and here


def _column(rows: Sequence[Node], place: int | None) -> list[Node]:
    """One cell of each row; empty if some row has none."""
    cells = [_cell(row, place) for row in rows]
    return [cell for cell in cells if cell is not None] if all(cells) else []


def _cell(row: Node, place: int | None) -> Node | None:
    if row.type == "call" and _name(row) == "param":
        row_cells = [one for one in parts(part(row, "arguments")) if one.type != "keyword_argument"]
        place = place or 0
    elif place is None:
        return None if row.type == "list_splat" else row
    elif row.type in {"tuple", "list"}:
        row_cells = parts(row)
    elif row.type == "pair":
        row_cells = [one for one in (part(row, "key"), part(row, "value")) if one is not None]
    else:
        return None
    is_known = place < len(row_cells) and not any(one.type == "list_splat" for one in row_cells)
    return row_cells[place] if is_known else None
