"""Where an assertion says what it expects: literals of its own, or of the table that it goes through."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core import languages
from verdigris.kernel.grammar.trees import COMMENTS, first, part, parts, said, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_CALLS = frozenset({"call_expression", "new_expression", "arguments", "argument_list", "macro_invocation"})
_BUILT = re.compile(r"(?:\w+::)*[A-Z]\w*\Z|String::from\Z")
"""What only holds its arguments: constructors, as far as a name tells."""
_CONVERTED = frozenset({"to_string", "to_owned", "into", "to_vec"})
_EQUAL = frozenset({"assert_eq", "debug_assert_eq", "prop_assert_eq", "assert_str_eq"})
_MATCHERS = frozenset(
    {
        *("toBe", "toEqual", "toStrictEqual", "toHaveLength", "toContain", "toContainEqual", "toMatch"),
        "toMatchInlineSnapshot",
        *("toMatchObject", "equal", "strictEqual", "deepEqual", "deepStrictEqual", "eql"),
    }
)
_SIDES = 2
TESTIFY = frozenset({"assert", "require"})
_SAME = frozenset({"Equal", "DeepEqual", "EqualValues", "Exactly"})


def expected(language: str, node: Node) -> Iterator[list[Node]]:
    """Literals that are to be changed together, the likeliest first."""
    for side in sides(language, node):
        yield from ([literal] for literal in reversed(_literals(side)))
    for side in sides(language, node):
        if found := _in_table(language, side):
            yield found


def sides(language: str, node: Node) -> Iterator[Sequence[Node]]:
    match language:
        case languages.RUST:
            yield from _rust(node)
        case languages.GO:
            yield from _go(node)
        case _:
            yield from _node(node)


def _rust(node: Node) -> Iterator[Sequence[Node]]:
    """Within a macro there are but tokens."""
    tree = first(parts(node), "token_tree")
    if tree is None or said(part(node, "macro")) not in _EQUAL:
        return
    sides: list[list[Node]] = [[]]
    for child in tree.children[1:-1]:
        if child.type == ",":
            sides.append([])
        elif child.type not in COMMENTS:
            sides[-1].append(child)
    yield from (side for side in reversed(sides[:_SIDES]) if side)


def _go(node: Node) -> Iterator[Sequence[Node]]:
    """A condition under which the test fails, or testify."""
    if node.type == "binary_expression" and said(part(node, "operator")) == "!=":
        yield from ([side] for name in ("right", "left") if (side := part(node, name)) is not None)
        return
    call = part(node, "operand") if said(part(node, "operator")) == "!" else node
    function, given = part(call, "function"), parts(part(call, "arguments"))
    testify = said(part(function, "operand")) in TESTIFY
    if testify is (call is node) and said(part(function, "field")).removesuffix("f") in _SAME:
        yield from ([one] for one in (given[1:3] if testify else reversed(given)))


def _node(node: Node) -> Iterator[Sequence[Node]]:
    function, given = part(node, "function"), parts(part(node, "arguments"))
    if said(part(function, "property")) not in _MATCHERS or not given or negation(function) is not None:
        return
    asserts = said(part(function, "object")).split(".")[0].split("(")[0] != "expect"
    yield from ([one] for one in ([given[1], given[0]] if asserts and len(given) > 1 else given[:1]))


def negation(chain: Node | None) -> Node | None:
    """The `….not` in what leads to a matcher."""
    while chain is not None and chain.type in {"member_expression", "call_expression"}:
        if said(part(chain, "property")) == "not":
            return chain
        chain = part(chain, "object") or part(chain, "function")
    return None


def _literals(side: Sequence[Node]) -> list[Node]:
    """Those that the value is made of: what a call does with its own is not known."""
    found: list[Node] = []
    for index, node in enumerate(side):
        if node.type == "token_tree" and not _holds(side[:index]):
            return []
        if node.type == "identifier" and said(node) not in _CONVERTED and _is_called(side, index):
            return []
        if node.type == "token_tree":
            found += _literals(node.children[1:-1])
        elif index and side[index - 1].type == ".":
            continue
        else:
            found += _within(node)
    return found


def _is_called(side: Sequence[Node], index: int) -> bool:
    """A name in small letters before parentheses."""
    after = side[index + 1] if index + 1 < len(side) else None
    lower = said(side[index])[:1].islower()
    return lower and after is not None and after.type == "token_tree" and said(after).startswith("(")


def _holds(before: Sequence[Node]) -> bool:
    if not before:
        return True
    last = said(before[-1])
    if last in _CONVERTED or not re.match(r"[\w!]", last):
        return True
    return bool(_BUILT.search("".join(map(said, before)))) or [said(n) for n in before[-2:]] == ["vec", "!"]


def _within(node: Node) -> list[Node]:
    if node.type in _CALLS:
        given = part(node, "arguments")
        built = node.type == "new_expression"
        return [literal for one in parts(given) for literal in _within(one)] if built else []
    if node.type in {"pair", "keyed_element"}:
        return _within(parts(node)[-1])
    if node.type in {"binary_expression", "subscript_expression", "index_expression", "member_expression"}:
        return []
    if not node.named_children or "string" in node.type:
        return [node]
    return [literal for child in parts(node) for literal in _within(child)]


def _in_table(language: str, side: Sequence[Node]) -> list[Node]:
    """Of the rows that a loop around the assertion goes through, in the column that it names."""
    if len(side) != 1:
        return []
    match language:
        case languages.GO if side[0].type == "selector_expression":
            return _go_column(side[0], said(part(side[0], "field")))
        case languages.RUST if side[0].type == "identifier":
            return _rust_column(side[0])
    return []


def _around(node: Node) -> Iterator[Node]:
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def _go_column(node: Node, field: str) -> list[Node]:
    variable = said(part(node, "operand"))
    for loop in _around(node):
        clause = first(parts(loop), "range_clause") if loop.type == "for_statement" else None
        if clause is None or variable not in [said(one) for one in parts(part(clause, "left"))]:
            continue
        table = part(clause, "right")
        if table is not None and table.type == "identifier":
            table = _go_declared(loop, said(table))
        if table is not None and table.type == "composite_literal":
            rows = parts(part(table, "body"))
            cells = [_go_cell(row, field, table) for row in rows]
            return [cell for cell in cells if cell is not None and None not in cells]
    return []


def _go_declared(loop: Node, name: str) -> Node | None:
    for scope in _around(loop):
        for one in parts(scope):
            inner = parts(one)[0] if one.type == "var_declaration" and parts(one) else one
            left = part(inner, "left") or part(inner, "name")
            if said(left) == name:
                values = parts(part(inner, "right") or part(inner, "value"))
                return values[0] if len(values) == 1 else None
    return None


def _go_cell(row: Node, field: str, table: Node) -> Node | None:
    value = first(parts(row), "literal_value") or (row if row.type == "literal_value" else None)
    if row.type == "keyed_element":
        value = next((n for n in walk(parts(row)[-1]) if n.type == "literal_value"), None)
    cells = parts(value)
    if cells and cells[0].type == "keyed_element":
        told = [parts(cell)[-1] for cell in cells if said(parts(cell)[0]) == field]
    else:
        kind = next(
            (n for n in walk(part(table, "type") or table) if n.type == "field_declaration_list"), None
        )
        names = [said(n) for one in parts(kind) for n in one.children_by_field_name("name")]
        told = cells[names.index(field) :][:1] if field in names else []
    literals = [literal for cell in told for literal in _within(cell)]
    return literals[-1] if literals else None


def _rust_column(node: Node) -> list[Node]:
    """`for (a, b) in [(1, 2), …]`."""
    name = said(node)
    for loop in _around(node):
        pattern = part(loop, "pattern") if loop.type == "for_expression" else None
        names = [said(one) for one in parts(pattern)]
        table = part(loop, "value")
        while table is not None and table.type == "reference_expression":
            table = part(table, "value")
        if name in names and table is not None and table.type == "array_expression":
            index = names.index(name)
            cells = [parts(row)[index] for row in parts(table) if len(parts(row)) == len(names)]
            literals = [_within(cell) for cell in cells]
            return [one[-1] for one in literals] if all(literals) else []
    return []
