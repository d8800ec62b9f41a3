"""Finds where an assertion says what it expects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core import languages
from verdigris.core.value import value
from verdigris.languages.grammar.tables import literals_within, rows_of
from verdigris.languages.grammar.trees import COMMENTS, first, part, parts, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_BUILT = re.compile(r"(?:\w+::)*[A-Z]\w*\Z|String::from\Z")
"""What only holds its arguments: constructors, as far as a name tells."""
_CONVERTED = frozenset({"to_string", "to_owned", "into", "to_vec"})
_EQUAL = frozenset({"assert_eq", "debug_assert_eq", "prop_assert_eq", "assert_str_eq"})
_MATCHERS = frozenset(
    {
        *("toBe", "toEqual", "toStrictEqual", "toHaveLength", "toMatchInlineSnapshot", "lengthOf"),
        *("toMatchObject", "equal", "strictEqual", "deepEqual", "deepStrictEqual", "eql"),
    }
)
_SIDES = 2
_COMPUTING = frozenset({"*", "/", "%", "^", "|", "<<", ">>", "as"})
"""After these, another operand may well make the same value."""
TESTIFY = frozenset({"assert", "require"})
_SAME = frozenset({"Equal", "DeepEqual", "EqualValues", "Exactly"})


@value
class Expected:
    """One side of an assertion, where it says what it expects."""

    side: Sequence[Node]
    literals: Sequence[Node] = ()
    """Each may be another one by itself."""
    rows: Sequence[Node] = ()
    """One of each row or call that the assertion speaks of: they are other ones together."""


def expected(language: str, node: Node) -> Iterator[Expected]:
    """The likeliest side first."""
    found = [*sides(language, node)]
    for side in found:
        yield Expected(side, _literals(side))
    compared = [word for side in found for word in side] if language != languages.NODE else [node]
    for side in found:
        if len(side) == 1 and (rows := rows_of(language, side[0], node, compared)):
            yield Expected(side, rows=rows)


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
    if any(said(node) in _COMPUTING for node in side[1:]):
        return []
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
            found += literals_within(node)
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
