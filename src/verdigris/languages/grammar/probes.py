"""Finds the assertions of a suite, each with changes of the expected value that honest code fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.expectations import literals_within, rows_of
from verdigris.languages.grammar.literals import Pool, far_numbers, is_plain, other_literals
from verdigris.languages.grammar.trees import (
    COMMENTS,
    line_of,
    on_one_line,
    part,
    short,
    text_of_node,
    tree_of,
)
from verdigris.languages.probes import ByteEdit, Probe, ProbeChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.grammar.expectations import Expectations
    from verdigris.languages.grammar.suite import GrammarSuite
    from verdigris.languages.protocol import Language


_BUILT = re.compile(r"(?:\w+::)*[A-Z]\w*\Z|String::from\Z")
"""Matches calls that only hold their arguments: constructors, recognised by their names."""
_CONVERTED = frozenset({"to_string", "to_owned", "into", "to_vec"})
_COMPUTING = frozenset({"*", "/", "%", "^", "|", "<<", ">>", "as"})
"""Operators that may give the same value for another operand."""


@value
class Expected:
    """One side of an assertion that may hold the expected value."""

    side: Sequence[Node]
    literals: Sequence[Node] = ()
    """Literals that can be changed one by one."""
    rows: Sequence[Node] = ()
    """One literal of each table row or helper call; they have to be changed together."""


def find_expected(forms: Expectations, node: Node) -> Iterator[Expected]:
    """Yields the sides of an assertion; the most likely one comes first."""
    found = [*forms.sides(node)]
    for side in found:
        yield Expected(side, _literals(side))
    compared = [word for side in found for word in side] if not forms.has_inner_calls else [node]
    for side in found:
        if len(side) == 1 and (rows := rows_of(forms, side[0], node, compared)):
            yield Expected(side, rows=rows)


def _literals(side: Sequence[Node]) -> list[Node]:
    """The literals that make up a value; empty if a call computes it, since its result is not known."""
    found: list[Node] = []
    if any(text_of_node(node) in _COMPUTING for node in side[1:]):
        return []
    for index, node in enumerate(side):
        if node.type == "token_tree" and not _only_holds_literals(side[:index]):
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
    """Whether a lower-case name is followed by parentheses."""
    after = side[index + 1] if index + 1 < len(side) else None
    lower = text_of_node(side[index])[:1].islower()
    return lower and after is not None and after.type == "token_tree" and text_of_node(after).startswith("(")


def _only_holds_literals(before: Sequence[Node]) -> bool:
    if not before:
        return True
    last = text_of_node(before[-1])
    if last in _CONVERTED or not re.match(r"[\w!]", last):
        return True
    return bool(_BUILT.search("".join(map(text_of_node, before)))) or [
        text_of_node(n) for n in before[-2:]
    ] == ["vec", "!"]


_OUTPUT = re.compile(r"//\s*(?:unordered )?output:", re.IGNORECASE)


def pool_of(forms: Expectations, assertions: Iterable[Node]) -> Pool:
    """The values that the assertions of a suite expect."""
    literals: set[str] = set()
    members: set[str] = set()
    for node in assertions:
        for one in find_expected(forms, node):
            literals |= {
                text_of_node(literal)
                for literal in (*one.literals, *one.rows)
                if is_plain(text_of_node(literal))
            }
            if text := _member(forms, one.side):
                members.add(text)
    return Pool(frozenset(literals), frozenset(members))


def draw_changes(
    forms: Expectations, node: Node, pool: Pool, dice: Random, count: int
) -> tuple[ProbeChange, ...]:
    """Draws up to `count` different changes of an assertion; none if honest code could pass each of them.

    `node`: an assertion from `GrammarSuite.asserted`.
    """
    if node.type in COMMENTS:
        return tuple(ProbeChange((edit,)) for edit in _output_changes(node, pool, dice)[:count])
    if near := forms.approximate_number(node):
        edits = [_replace_node(near, text) for text in far_numbers(text_of_node(near), dice)]
        return tuple(ProbeChange((edit,)) for edit in edits[:count])
    for one in find_expected(forms, node):
        if one.rows:
            found = [*_row_changes(one.rows, pool, dice, count)]
        else:
            found = [
                *_literal_changes(one.literals, pool, dice),
                *_side_changes(forms, one.side, pool, dice),
            ]
            dice.shuffle(found)
        if found:
            return tuple(ProbeChange(edits) for edits in found[:count])
    for side in forms.sides(node):
        if (spoilt := forms.spoil_value(side[0], dice)) is not None:
            return (ProbeChange(spoilt),)
    negated = opposite_of(forms, node)
    return () if negated is None else (negated,)


def opposite_of(forms: Expectations, node: Node) -> ProbeChange | None:
    """The opposite assertion; it is a plausible change only if the assertion compares no values."""
    negated = None if node.type in COMMENTS else forms.opposite_edits(node)
    compares = any(True for _ in forms.sides(node))
    return ProbeChange(negated, plausible=not compares) if negated else None


def _replace_node(node: Node, text: str) -> ByteEdit:
    return ByteEdit(node.start_byte, node.end_byte, text)


# -- another value -------------------------------------------------------------------------------------------


def _literal_changes(literals: Sequence[Node], pool: Pool, dice: Random) -> Iterator[tuple[ByteEdit, ...]]:
    """Yields a few changes for each literal."""
    for literal in literals:
        for text in other_literals(text_of_node(literal), pool, dice)[:3]:
            yield (_replace_node(literal, text),)


def _row_changes(
    rows: Sequence[Node], pool: Pool, dice: Random, count: int
) -> Iterator[tuple[ByteEdit, ...]]:
    drawn = [other_literals(text_of_node(row), pool, dice) for row in rows]
    if all(drawn):
        for turn in range(min(count, max(map(len, drawn)))):
            yield tuple(
                _replace_node(row, texts[turn % len(texts)]) for row, texts in zip(rows, drawn, strict=True)
            )


def _side_changes(
    forms: Expectations, side: Sequence[Node], pool: Pool, dice: Random
) -> Iterator[tuple[ByteEdit, ...]]:
    """Changes the side to another member of its enumeration, or drops an item of a list."""
    if (member := _member(forms, side)) and (kin := pool.other_members(member)):
        yield (ByteEdit(side[0].start_byte, side[-1].end_byte, dice.choice(kin)),)
    items = forms.items(side)
    if len(items) > 1 and all(is_plain(text_of_node(item).lstrip("-")) for item in items):
        at = dice.randrange(1, len(items))
        start, end = items[at - 1].end_byte, items[at].end_byte
        lines = items[at].end_point[0] - items[at - 1].end_point[0]
        yield (ByteEdit(start, end, "\n" * lines),)


def _member(forms: Expectations, side: Sequence[Node]) -> str:
    text = "".join(map(text_of_node, side))
    return text if forms.member is not None and forms.member.match(text) else ""


def _output_changes(node: Node, pool: Pool, dice: Random) -> list[ByteEdit]:
    """Changes of the output that a Go example expects: the rest of the comment, or the next one."""
    found = _OUTPUT.match(text_of_node(node))
    text = text_of_node(node)[found.end() :] if found else ""
    start = node.end_byte - len(text.encode("utf-8", "surrogateescape"))
    following = node.next_sibling
    if not text.strip() and following is not None and following.type in COMMENTS:
        text, start = text_of_node(following).removeprefix("//"), following.start_byte + 2
    size = len(text.encode("utf-8", "surrogateescape"))
    if set(text) & set("\"'`\\"):
        return []
    drawn = other_literals(f"`{text}`", pool, dice)
    return [
        ByteEdit(start, start + size, other[1:-1]) for other in drawn if other[1:-1].split() != text.split()
    ]


def negate(node: Node) -> tuple[ByteEdit, ...]:
    return (ByteEdit(node.start_byte, node.start_byte, "!("), ByteEdit(node.end_byte, node.end_byte, ")"))


def swap_word(words: Mapping[str, str], word: Node | None) -> tuple[ByteEdit, ...] | None:
    """The edit that puts the opposite word; `words` lists each pair in one direction only."""
    opposite = {**words, **{two: one for one, two in words.items()}}.get(text_of_node(word))
    if word is None or opposite is None:
        return None
    return (ByteEdit(word.start_byte, word.end_byte, opposite),)


_FUNCTIONS = frozenset(
    {
        *("arrow_function", "function_expression", "generator_function", "method_definition"),
        *("func_literal", "closure_expression", "async_block"),
    }
)
_RUN_AT_ONCE = frozenset({"forEach", "each", "for", "Run", "describe", "it", "test", "suite", "context"})


@value
class ProbeReading:
    """One test file, read for its assertions."""

    path: str
    suite: GrammarSuite


def readings(suite_of: Callable[[str], GrammarSuite], texts: Mapping[str, bytes]) -> tuple[ProbeReading, ...]:
    """Reads the files that a grammar parses as a whole."""
    found = []
    for path, data in texts.items():
        root, fault = tree_of(path, data)
        if fault is None:
            suite = suite_of(path)
            suite.collect(root)
            suite.read(root)
            found.append(ProbeReading(path, suite))
    return tuple(found)


@value
class ProbeDraw:
    """How changes of assertions are drawn."""

    language: Language
    forms: Expectations
    dice: Random
    count: int
    """The number of changes for each assertion."""


def probes(
    read: Sequence[ProbeReading], names: Mapping[str, Sequence[str]], draw: ProbeDraw
) -> tuple[Probe, ...]:
    """Probes of the named tests; `names`: tests by file."""
    pool = Pool()
    for one in read:
        mine = pool_of(draw.forms, [node for node, _ in one.suite.asserted])
        pool = Pool(pool.literals | mine.literals, pool.members | mine.members)
    return tuple(probe for one in read for probe in _probes(one, names.get(one.path, ()), pool, draw))


def _probes(read: ProbeReading, names: Sequence[str], pool: Pool, draw: ProbeDraw) -> Iterator[Probe]:
    suite = read.suite
    failing = {mark.scope for mark in suite.marks if mark.kind == "skipped"}
    found: dict[int, tuple[Node, set[str], set[str]]] = {}
    for node, at in suite.asserted:
        mine = {name for name in names if _fails_with_scope(draw.language, at.scope, name)}
        if mine and at.scope not in failing:
            _, sure, maybe = found.setdefault(node.start_byte, (node, set(), set()))
            (maybe if at.guards or not is_sure_to_run(suite, node) else sure).update(mine)
    for node, sure, maybe in found.values():
        if changes := draw_changes(draw.forms, node, pool, draw.dice, draw.count):
            what = short(on_one_line(node))
            opposite = opposite_of(draw.forms, node)
            yield Probe(
                read.path, line_of(node), what, changes, frozenset(sure), frozenset(maybe - sure), opposite
            )


def _fails_with_scope(language: Language, scope: str, name: str) -> bool:
    """Whether a failure in this scope fails the named test, which may contain the scope."""
    return language.ids.makes(scope, name) or language.ids.encloses(scope, name)


def is_sure_to_run(suite: GrammarSuite, node: Node) -> bool:
    helpers = {function.id for function in suite.functions.values()}
    return all(one.id in helpers or _is_called_at_once(one) for one in _functions_around(node))


def _functions_around(node: Node) -> Iterator[Node]:
    above = node.parent
    while above is not None:
        if above.type in _FUNCTIONS:
            yield above
        above = above.parent


def _is_called_at_once(function: Node) -> bool:
    """Whether the function is passed to a call that runs it: of a test, or of a loop over a table."""
    call = function.parent.parent if function.parent is not None else None
    called = part(call, "function")
    while called is not None and called.type == "call_expression":
        called = part(called, "function")
    words = text_of_node(called).split("(")[0].replace("\n", "").split(".")
    return bool(_RUN_AT_ONCE.intersection(word.strip() for word in words))
