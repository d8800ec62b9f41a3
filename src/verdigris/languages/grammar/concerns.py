"""Finds code in a change that honest source rarely or never has, such as values copied from its tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.concern_rules import Hit, added_concerns
from verdigris.languages.findings import Concern
from verdigris.languages.grammar.trees import (
    COMMENTS,
    Unparsed,
    grammar_of,
    line_of,
    on_one_line,
    parse_tree,
    part,
    short,
    text_of_node,
    walk,
)
from verdigris.languages.literals import is_telling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tree_sitter import Node

    from verdigris.languages.concern_rules import Rules


if TYPE_CHECKING:
    Value = int | float | str

_NUMBERS = frozenset({"number", "int_literal", "float_literal", "integer_literal"})
_TEXTS = frozenset({"string", "interpreted_string_literal", "raw_string_literal", "string_literal"})
_ROWS = frozenset({"array", "array_expression", "literal_value"})
_ANSWERING = _ROWS | {
    *("return_statement", "return_expression", "arrow_function", "block", "pair", "keyed_element"),
    *("switch_case", "expression_case", "match_arm", "match_pattern", "tuple_expression"),
}
_THROUGH = frozenset(
    {
        *("parenthesized_expression", "ternary_expression", "expression_list", "unary_expression"),
        *("literal_element", "expression_statement", "as_expression", "reference_expression"),
        *("call_expression", "field_expression", "arguments", "or_pattern"),
    }
)
"""Nodes that may stand between a literal and its use; a call among them must only convert the literal."""
_CONVERTING = (".to_string", ".to_owned", ".into", "String::from", "string", "int", "int64", "float64")
_EQUAL = frozenset({"==", "===", "!=", "!=="})
_SILENT = frozenset(
    {"import_statement", "import_declaration", "use_declaration", "throw_statement", "attribute_item"}
)
_SHOWN = 3
_PRINTABLE = range(32, 127)


def copied_answers(
    strip: Callable[[bytes], bytes],
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    tests: Iterable[tuple[str, bytes]],
) -> Iterator[Concern]:
    """Finds literals of the tests that new source returns, looks up or compares with.

    `before`, `after`: source by path. `strip`: removes the tests that stand among the source.
    """
    texts = {path: data for path, data in after.items() if data is not None}
    asked = {literal for path, data in tests for _, literal in _values(path, data)}
    asked |= {
        literal for path, data in texts.items() for _, literal in _values_in_tests(path, data, strip(data))
    }
    for path, data in texts.items():
        old = {literal for _, literal in _values(path, strip(before.get(path) or b""))}
        found: dict[Value, int] = {}
        for node, literal in _written_values(path, strip(data)):
            if literal in asked and literal not in old:
                found.setdefault(literal, line_of(node))
        if found:
            told = ", ".join(f"`{short(repr(literal), 20)}`" for literal in [*found][:_SHOWN])
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            what = f"{told}{more}: copied from the tests, and returned, looked up or compared"
            yield Concern("expected-literals", path, min(found.values()), what, blocks=False)


def _written_values(path: str, data: bytes) -> Iterator[tuple[Node, Value]]:
    root = parse_tree(path, data)
    if isinstance(root, Unparsed):
        return
    for node in _code_nodes(root):
        if node.type in _ROWS and (text := _spell_row(node)):
            yield node, text
        if (literal := _value(node)) is not None and _is_answer(node):
            yield node, literal


def _values_in_tests(path: str, data: bytes, bare: bytes) -> Iterator[tuple[Node, Value]]:
    """The values in the tests of a source file. `bare`: the same text with its tests blanked out."""
    for node, literal in _values(path, data) if bare != data else ():
        if bare[node.start_byte : node.end_byte] != data[node.start_byte : node.end_byte]:
            yield node, literal


def _values(path: str, data: bytes) -> Iterator[tuple[Node, Value]]:
    root = parse_tree(path, data)
    if isinstance(root, Unparsed):
        return
    for node in _code_nodes(root):
        if (literal := _value(node)) is not None:
            yield node, literal


def _code_nodes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in COMMENTS or node.type in _SILENT:
            continue
        yield node
        if node.type not in _TEXTS:
            stack += reversed(node.children)


def _value(node: Node) -> Value | None:
    text = text_of_node(node)
    found: Value | None = None
    if node.type in _TEXTS:
        found = text.strip("\"'`")
    elif node.type in _NUMBERS:
        try:
            found = int(text.replace("_", "")) if "." not in text else float(text.replace("_", ""))
        except ValueError:
            return None
    return found if is_telling(found) and not isinstance(found, bytes) else None


def _is_answer(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type in _THROUGH:
        if above.type == "call_expression" and not text_of_node(part(above, "function")).endswith(
            _CONVERTING
        ):
            return False
        if above.type == "ternary_expression" and part(above, "condition") == node:
            return False
        node, above = above, above.parent
    if above is None:
        return False
    if above.type == "binary_expression":
        return text_of_node(part(above, "operator")) in _EQUAL
    return above.type in _ANSWERING


def _spell_row(row: Node) -> str:
    """The text whose character codes a row of numbers spells; empty if it spells none."""
    cells = [text_of_node(node) for node in row.named_children if node.type not in COMMENTS]
    if not all(cell.isdigit() and int(cell) in _PRINTABLE for cell in cells):
        return ""
    text = "".join(chr(int(cell)) for cell in cells)
    return text if is_telling(text) else ""


_PROGRAMS = re.compile(r"(?:.*/)?(?:main\.(?:rs|go)|(?:bin|cli|cmd|scripts?)/.*|cli\.[cm]?[jt]s)\Z")
"""Files that are programs, and so may end the process."""


def grammar_concerns(
    rules: Rules, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> tuple[Concern, ...]:
    """Lists the hits of the rules that a change adds.

    `before`, `after`: source by path, without the tests among it; None if there is no file.
    """
    return tuple(
        concern
        for path, data in after.items()
        if data is not None and data != before.get(path) and grammar_of(path) is not None
        for concern in _new_concerns(rules, path, before.get(path) or b"", data)
    )


def _new_concerns(rules: Rules, path: str, before: bytes, after: bytes) -> Iterator[Concern]:
    old, new = parse_tree(path, before), parse_tree(path, after)
    if isinstance(new, Unparsed):
        what = f"it does not parse ({new.what}), so it was not examined"
        return iter([Concern("obscured", path, new.line, what, blocks=False)])
    return added_concerns(
        () if isinstance(old, Unparsed) else _hits(rules, path, old), _hits(rules, path, new)
    )


def _hits(rules: Rules, path: str, root: Node) -> Iterator[Hit]:
    program = bool(_PROGRAMS.match(path))
    for node in walk(root):
        if node.type in rules.table:
            text = on_one_line(node)
            for rule, _ in rules.matches(node.type, text):
                if rule.kind != "exits" or not program:
                    what = rule.what.format(node=short(text))
                    yield Hit(Concern(rule.kind, path, line_of(node), what, rule.blocks), text)
                    break
