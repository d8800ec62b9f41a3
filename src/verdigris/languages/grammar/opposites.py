"""Changes an assertion so that honest code fails it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core import languages
from verdigris.core.value import value
from verdigris.languages.grammar.expected import TESTIFY, expected, negation, sides
from verdigris.languages.grammar.literals import Pool, far_numbers, is_plain, other_literals
from verdigris.languages.grammar.trees import COMMENTS, first, part, parts, said, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

    from tree_sitter import Node

_WORDS = {
    languages.NODE: {
        **{one: f"not{one[0].upper()}{one[1:]}" for one in ("equal", "strictEqual", "deepEqual")},
        "deepStrictEqual": "notDeepStrictEqual",
        "throws": "doesNotThrow",
        "rejects": "doesNotReject",
        "match": "doesNotMatch",
    },
    languages.RUST: {"assert_eq": "assert_ne"},
    languages.GO: {
        **{one: f"Not{one}" for one in ("Equal", "Nil", "Contains", "Empty", "Zero", "Same", "EqualValues")},
        "True": "False",
        "NoError": "Error",
    },
}
"""Where another word says the opposite of the same arguments."""
_OPPOSITE = {
    lang: words | {opposite: word for word, opposite in words.items()} for lang, words in _WORDS.items()
}
_ANOTHER = (
    "(v=>typeof v==='number'?(v+1>v?v+1:v-1>-Infinity&&v/2!==v?v/2:7):"
    "typeof v==='bigint'?v+1n:typeof v==='boolean'?!v:"
    "typeof v==='string'?(new Set(v).size>1?v.slice(1)+v[0]:v+(v[0]??'0')):"
    "Array.isArray(v)?(v.length?v.slice(1):[0]):v&&typeof v==='object'?{...v,KEY:1}:'KEY')("
)
_MEMBER = {
    languages.RUST: re.compile(r"(?:\w+::)+[A-Z]\w*\Z"),
    languages.NODE: re.compile(r"[A-Z]\w*(?:\.\w+)*\.[A-Z]\w*\Z"),
}
_OUTPUT = re.compile(r"//\s*(?:unordered )?output:", re.IGNORECASE)


@value
class Edit:
    start: int
    """In bytes."""
    end: int
    text: str


@value
class Change:
    edits: tuple[Edit, ...]
    plausible: bool = True
    """Not where values are compared, and it is only the opposite that is asserted."""


def pool_of(language: str, assertions: Iterable[Node]) -> Pool:
    """What the assertions of a suite expect."""
    literals: set[str] = set()
    members: set[str] = set()
    for node in assertions:
        for one in expected(language, node):
            literals |= {said(literal) for literal in (*one.literals, *one.rows) if is_plain(said(literal))}
            if text := _member(language, one.side):
                members.add(text)
    return Pool(frozenset(literals), frozenset(members))


def draw_changes(language: str, node: Node, pool: Pool, dice: Random, count: int) -> tuple[Change, ...]:
    """Up to `count` different ones; `node`: as the reading of a suite names an assertion.

    None where nothing can be written that honest code fails.
    """
    if node.type in COMMENTS:
        return tuple(Change((edit,)) for edit in _outputs(node, pool, dice)[:count])
    if near := _nearby(language, node):
        edits = [_put(near, text) for text in far_numbers(said(near), dice)]
        return tuple(Change((edit,)) for edit in edits[:count])
    for one in expected(language, node):
        if one.rows:
            found = [*_rows_changed(one.rows, pool, dice, count)]
        else:
            found = [
                *_literal_changes(one.literals, pool, dice),
                *_side_changes(language, one.side, pool, dice),
            ]
            dice.shuffle(found)
        if found:
            return tuple(Change(edits) for edits in found[:count])
    for side in sides(language, node) if language == languages.NODE else ():
        return (Change(_spoilt(side[0], dice)),)
    negated = opposite_of(language, node)
    return () if negated is None else (negated,)


def opposite_of(language: str, node: Node) -> Change | None:
    """What compares no values has no other value: there the opposite is all that can be asked."""
    negated = None if node.type in COMMENTS else _negated(language, node)
    compares = any(True for _ in sides(language, node))
    return Change(negated, plausible=not compares) if negated else None


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    for edit in sorted(set(edits), key=lambda one: one.start, reverse=True):
        data = data[: edit.start] + edit.text.encode("utf-8", "surrogateescape") + data[edit.end :]
    return data


def _put(node: Node, text: str) -> Edit:
    return Edit(node.start_byte, node.end_byte, text)


# -- another value -------------------------------------------------------------------------------------------


def _literal_changes(literals: Sequence[Node], pool: Pool, dice: Random) -> Iterator[tuple[Edit, ...]]:
    """Of each literal the first few that were drawn for it."""
    for literal in literals:
        for text in other_literals(said(literal), pool, dice)[:3]:
            yield (_put(literal, text),)


def _rows_changed(rows: Sequence[Node], pool: Pool, dice: Random, count: int) -> Iterator[tuple[Edit, ...]]:
    drawn = [other_literals(said(row), pool, dice) for row in rows]
    if all(drawn):
        for turn in range(min(count, max(map(len, drawn)))):
            yield tuple(_put(row, texts[turn % len(texts)]) for row, texts in zip(rows, drawn, strict=True))


def _side_changes(
    language: str, side: Sequence[Node], pool: Pool, dice: Random
) -> Iterator[tuple[Edit, ...]]:
    """Another member of an enumeration, or one item less."""
    if (member := _member(language, side)) and (kin := pool.kin(member)):
        yield (Edit(side[0].start_byte, side[-1].end_byte, dice.choice(kin)),)
    items = _items(language, side)
    if len(items) > 1 and all(is_plain(said(item).lstrip("-")) for item in items):
        at = dice.randrange(1, len(items))
        start, end = items[at - 1].end_byte, items[at].end_byte
        lines = items[at].end_point[0] - items[at - 1].end_point[0]
        yield (Edit(start, end, "\n" * lines),)


def _member(language: str, side: Sequence[Node]) -> str:
    text = "".join(map(said, side))
    form = _MEMBER.get(language)
    return text if form is not None and form.match(text) else ""


def _items(language: str, side: Sequence[Node]) -> list[Node]:
    """Of a list that may be shorter."""
    last = side[-1]
    match language:
        case languages.RUST if [said(n) for n in side[:-1]] == ["vec", "!"]:
            inner = last.children[1:-1]
            return [n for n in inner if n.type != ","] if not any(n.type == ";" for n in inner) else []
        case languages.GO if last.type == "composite_literal" and said(part(last, "type")).startswith("[]"):
            return parts(part(last, "body"))
        case languages.NODE if last.type == "array":
            return parts(last)
    return []


def _nearby(language: str, node: Node) -> Node | None:
    """The expected number of an assertion with a tolerance that is known to be small."""
    function, given = part(node, "function"), parts(part(node, "arguments"))
    word = said(part(function, "property") or part(function, "field")).removesuffix("f")
    if language == languages.NODE and word == "toBeCloseTo" and given and negation(function) is None:
        digits = said(given[1]) if len(given) > 1 else "2"
        return given[0] if given[0].type == "number" and digits.isdigit() else None
    if language == languages.GO and word == "InDelta" and said(part(function, "operand")) in TESTIFY:
        small = len(given) > 3 and re.fullmatch(r"0?\.[0-4]\d*|\d(?:\.\d+)?e-\d+", said(given[3]))  # noqa: PLR2004
        return (
            next((n for n in given[1:3] if n.type in {"float_literal", "int_literal"}), None)
            if small
            else None
        )
    return None


def _outputs(node: Node, pool: Pool, dice: Random) -> list[Edit]:
    """What an example is to print: the rest of the line, or the next one."""
    found = _OUTPUT.match(said(node))
    text = said(node)[found.end() :] if found else ""
    start = node.end_byte - len(text.encode("utf-8", "surrogateescape"))
    following = node.next_sibling
    if not text.strip() and following is not None and following.type in COMMENTS:
        text, start = said(following).removeprefix("//"), following.start_byte + 2
    size = len(text.encode("utf-8", "surrogateescape"))
    if set(text) & set("\"'`\\"):
        return []
    drawn = other_literals(f"`{text}`", pool, dice)
    return [Edit(start, start + size, other[1:-1]) for other in drawn if other[1:-1].split() != text.split()]


# -- the opposite --------------------------------------------------------------------------------------------


def _negated(language: str, node: Node) -> tuple[Edit, ...] | None:
    match language:
        case languages.GO if node.parent is not None and node.parent.type == "if_statement":
            return _not(node)
        case languages.GO if said(part(part(node, "function"), "operand")) not in TESTIFY:
            return None
        case languages.GO:
            return _worded(language, part(part(node, "function"), "field"))
        case languages.RUST:
            return _rust(node)
        case _:
            return _node(node)


def _spoilt(node: Node, dice: Random) -> tuple[Edit, ...]:
    """Where types do not matter, any value can be made another one of its kind when it comes to it."""
    key = "".join(dice.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(5))
    return (
        Edit(node.start_byte, node.start_byte, _ANOTHER.replace("KEY", key)),
        Edit(node.end_byte, node.end_byte, ")"),
    )


def _not(node: Node) -> tuple[Edit, ...]:
    return (Edit(node.start_byte, node.start_byte, "!("), Edit(node.end_byte, node.end_byte, ")"))


def _worded(language: str, word: Node | None) -> tuple[Edit, ...] | None:
    opposite = _OPPOSITE[language].get(said(word))
    if word is None or opposite is None:
        return None
    return (Edit(word.start_byte, word.end_byte, opposite),)


def _rust(node: Node) -> tuple[Edit, ...] | None:
    macro, tree = part(node, "macro"), first(parts(node), "token_tree")
    if said(macro) != "assert" or tree is None:
        return _worded(languages.RUST, macro)
    inner = [child for child in tree.children[1:-1] if child.type not in COMMENTS]
    comma = next((at for at, child in enumerate(inner) if child.type == ","), len(inner))
    if not comma:
        return None
    start, end = inner[0].start_byte, inner[comma - 1].end_byte
    return (Edit(start, start, "!("), Edit(end, end, ")"))


def _node(node: Node) -> tuple[Edit, ...] | None:
    function = part(node, "function") if node.type == "call_expression" else node
    if function is None:
        return None
    if (inner := negation(function)) is not None:
        before = part(inner, "object") or inner
        return (Edit(before.end_byte, inner.end_byte, ""),)
    if any(said(part(n, "function")).split(".")[0] == "expect" for n in walk(function)):
        word = part(function, "property")
        return None if word is None else (Edit(word.start_byte, word.start_byte, "not."),)
    given = parts(part(node, "arguments"))
    if said(function) in {"assert", "assert.ok"} and given:
        return _not(given[0])
    return _worded(languages.NODE, part(function, "property"))
