"""What honest code must fail: the changes of each kind of assertion, as a table.

Code that equals anything that looks like an answer passes with a changed value as well.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.conditions import is_interpolated
from verdigris.languages.grammar.expectations import Asserted, literals_within, rows_of
from verdigris.languages.grammar.literals import Pool, far_numbers, is_plain, other_literals
from verdigris.languages.grammar.trees import COMMENTS, part, parts, short, text_of_node, walk
from verdigris.languages.probes import ByteEdit, ProbeChange, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.grammar.expectations import Expectations

    _Edits = tuple[ByteEdit, ...]

_BUILT = re.compile(r"(?:\w+::)*[A-Z]\w*\Z|String::from\Z")
"""Matches calls that only hold their arguments: constructors, recognised by their names."""
_CONVERTED = frozenset({"to_string", "to_owned", "into", "to_vec"})
_QUOTED = re.compile(r"""(r?#*["'`])(.*)(["'`]#*)""", re.DOTALL)
_LONG = re.compile(r"[^.^$*+?{}\[\]\\|()]{6,}")
"""A text, and no pattern, that stands nowhere by chance if it is misspelt."""
_COMPUTING = frozenset({"*", "/", "%", "^", "|", "<<", ">>", "as"})
"""Operators that may give the same value for another operand."""


def _literals(side: Sequence[Node]) -> list[Node]:
    """The literals that make up a value; empty if a call computes it, since its result is not known."""
    literals: list[Node] = []
    if any(text_of_node(node) in _COMPUTING for node in side[1:]):
        return []
    for index, node in enumerate(side):
        if node.type == "token_tree" and not _only_holds_literals(side[:index]):
            return []
        if node.type == "identifier" and text_of_node(node) not in _CONVERTED and _is_called(side, index):
            return []
        if node.type == "token_tree":
            literals += _literals(node.children[1:-1])
        elif index and side[index - 1].type == ".":
            continue
        else:
            literals += literals_within(node)
    return literals


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


def pool_of(forms: Expectations, asserted: Iterable[Asserted]) -> Pool:
    """The values that assertions expect."""
    literals: set[str] = set()
    members: set[str] = set()
    for one in asserted:
        for side in one.sides if one.kind in _COMPARED else ():
            texts = (text_of_node(node) for node in _values(forms, one, side))
            literals |= {text for text in texts if is_plain(text)}
            if text := _member(forms, side):
                members.add(text)
    return Pool(frozenset(literals), frozenset(members), any_size=bool(forms.unlike))


def _values(forms: Expectations, one: Asserted, side: Sequence[Node]) -> list[Node]:
    """The literals of a side, with those behind a name."""
    rows = _rows_of(forms, one, side)
    return [*_literals(side), *(literal for row in rows for literal in literals_within(row))]


def _rows_of(forms: Expectations, one: Asserted, side: Sequence[Node]) -> list[Node]:
    compared = [one.node] if forms.has_inner_calls else [word for side in one.sides for word in side]
    return rows_of(forms, side[0], one.node, compared) if len(side) == 1 else []


@value
class Draw:
    """How the changes of one part of an assertion are drawn."""

    forms: Expectations
    pool: Pool
    dice: Random
    apart: frozenset[str] = frozenset()
    """Values with which the same tests compare the same subject: honest code may equal several of them."""

    def literals(self, node: Node, slack: float = 0) -> list[str]:
        """Other literals than this one; none for a text with expressions inside."""
        if any(is_interpolated(one) for one in (node, *node.children)):
            return []
        text = text_of_node(node)
        if slack:
            return far_numbers(text, self.dice, slack)
        return other_literals(text, self.pool, self.dice, self.apart)

    def any_value(self) -> str:
        """A value that the suite expects somewhere, of whatever type."""
        return self.dice.choice(sorted(self.pool.literals) or ["7"])


def _equal(draw: Draw, one: Asserted) -> list[ProbeChange]:
    """Another value on the side that has one: one change of each literal before any is changed again."""
    for side in one.sides:
        drawn: list[list[_Edits]] = [
            [(_replace_node(node, text),) for text in _others(draw, one, node)] for node in _literals(side)
        ]
        drawn += [] if one.slack else [_side_changes(draw, side)]
        draw.dice.shuffle(drawn)
        turns = [edits for turn in zip_longest(*drawn) for edits in turn if edits is not None]
        if turns:
            return [ProbeChange(edits, told_change(side, edits)) for edits in turns]
    for side in one.sides:
        rows = _rows_of(draw.forms, one, side)
        if turns := [*_row_changes(draw, rows, one.slack)]:
            what = f"every value of {short(text_of_node(side[0]))} → another"
            return [ProbeChange(edits, what) for edits in turns]
    return []


def _others(draw: Draw, one: Asserted, literal: Node) -> list[str]:
    """A few other literals. Of two equal items none becomes what stands beside it: sets may be equal then."""
    beside = [text_of_node(node) for node in literal.parent.named_children] if literal.parent else []
    beside_it = beside if beside.count(text_of_node(literal)) > 1 else []
    return [text for text in draw.literals(literal, one.slack) if text not in beside_it][:_FEW]


def _spoilt(draw: Draw, one: Asserted) -> list[ProbeChange]:
    """Another value at run time."""
    for side in one.sides:
        if (edits := draw.forms.spoil_value(side[0], draw.dice)) is not None:
            return [ProbeChange(edits, f"{short(text_of_node(side[0]))} → another value")]
    return []


def _near(draw: Draw, one: Asserted) -> list[ProbeChange]:
    [side] = one.sides
    texts = far_numbers(text_of_node(side[0]), draw.dice, one.slack)
    edits = [(_replace_node(side[0], text),) for text in texts]
    return [ProbeChange(edit, told_change(side, edit)) for edit in edits]


def _holds(draw: Draw, one: Asserted) -> list[ProbeChange]:
    """Other items, all at once: which of them is found is not known."""
    [side] = one.sides
    items = parts(side[0])
    texts, edits = {text_of_node(item) for item in items}, []
    for item in items:
        literals = _literals([item])
        others = [text for text in draw.literals(literals[0]) if text not in texts] if literals else []
        edits += [_replace_node(literals[0], others[0])] if others else []
    if not items or len(edits) < len(items):
        return []
    return [ProbeChange(tuple(edits), f"{short(text_of_node(side[0]))} → other items")]


def _named(draw: Draw, one: Asserted) -> list[ProbeChange]:
    [side] = one.sides
    old = text_of_node(side[0])
    edit = (_replace_node(side[0], draw.dice.choice([name for name in one.others if name not in old])),)
    return [ProbeChange(edit, told_change(side, edit))]


def _beyond(draw: Draw, one: Asserted) -> list[ProbeChange]:  # noqa: ARG001 - as the others
    """A number that nothing is beyond."""
    [side] = one.sides
    edits = (_replace_node(side[0], one.others[0]),)
    return [ProbeChange(edits, told_change(side, edits))]


def _pattern(draw: Draw, one: Asserted) -> list[ProbeChange]:
    """Another word, and misspellings of a long one: a short one may stand in the message by chance."""
    [side] = one.sides
    text = text_of_node(side[0])
    quoted = _QUOTED.fullmatch(text)
    opening, inside, closing = ("", text, "") if quoted is None else quoted.groups()
    alone = Draw(draw.forms, Pool(), draw.dice)
    texts = alone.literals(side[0])[:_FEW] if _LONG.fullmatch(inside) else []
    letters, size = ("123456789", 7) if text.isdigit() else ("bcdfghjklmnpqrstvwxz", 9)
    texts.append(f"{opening}{''.join(draw.dice.choice(letters) for _ in range(size))}{closing}")
    draw.dice.shuffle(texts)
    edits = [(_replace_node(side[0], text),) for text in texts]
    return [ProbeChange(edit, told_change(side, edit)) for edit in edits]


def _given(draw: Draw, one: Asserted) -> list[ProbeChange]:
    """Another value among the arguments, or one argument more."""
    for side in draw.dice.sample(one.sides, len(one.sides)):
        if changes := _equal(draw, Asserted("equal", one.node, (side,))):
            return changes
    arguments = part(one.node, "arguments")
    if arguments is None:
        return []
    start = arguments.start_byte + 1
    more = f"{draw.any_value()}{', ' if one.sides else ''}"
    what = f"{short(text_of_node(one.node))} → with one more argument"
    return [ProbeChange((ByteEdit(start, start, more),), what)]


_OUTPUT = re.compile(r"//\s*(?:unordered )?output:", re.IGNORECASE)


def _output(draw: Draw, one: Asserted) -> list[ProbeChange]:
    """Changes of the output that a Go example expects: the rest of the comment, or the next one."""
    node = one.node
    match = _OUTPUT.match(text_of_node(node))
    text = text_of_node(node)[match.end() :] if match else ""
    start = node.end_byte - len(text.encode("utf-8", "surrogateescape"))
    following = node.next_sibling
    if not text.strip() and following is not None and following.type in COMMENTS:
        text, start = text_of_node(following).removeprefix("//"), following.start_byte + 2
    size = len(text.encode("utf-8", "surrogateescape"))
    if set(text) & set("\"'`\\"):
        return []
    others = (other[1:-1] for other in other_literals(f"`{text}`", draw.pool, draw.dice))
    edits = [ByteEdit(start, start + size, other) for other in others if other.split() != text.split()]
    return [ProbeChange((edit,), f"{short(text)} → {short(edit.text)}") for edit in edits]


CHANGES: Mapping[str, tuple[Callable[[Draw, Asserted], list[ProbeChange]], ...]] = {
    "equal": (_equal, _spoilt),
    "near": (_near,),
    "holds": (_holds,),
    "named": (_named,),
    "pattern": (_pattern,),
    "given": (_given,),
    "beyond": (_beyond,),
    "output": (_output,),
    "unknown": (),
    "true": (),
}
"""By kind of what is asserted: the changes that honest code must fail, the most telling ones first.

The first function that makes changes counts. Where none does, the opposite is asserted.
"""
_COMPARED = frozenset({"equal", "given"})
_FEW = 3


def draw_changes(draw: Draw, one: Asserted, count: int) -> tuple[ProbeChange, ...]:
    """Draws up to `count` different changes; none if honest code could pass each of them."""
    for changes in CHANGES[one.kind]:
        if drawn := changes(draw, one):
            return tuple(drawn[:count])
    return ()


def pair_of_values(draw: Draw, one: Asserted) -> tuple[ProbeChange, ...]:
    """Replaces a side without a literal by two different values in turn: no honest value equals both."""
    side = next((side for side in one.sides if one.is_free and not _does_more(side)), None)
    if side is None:
        return ()
    literals = sorted(draw.pool.literals - {text_of_node(side[0])})
    different = {_value_of(text): text for text in draw.dice.sample(literals, len(literals))}
    pair = [*different.values(), *(text for text in ("0", "'a'") if _value_of(text) not in different)][:2]
    edits = [(_replace_node(side[0], text),) for text in pair]
    return tuple(ProbeChange(edit, told_change(side, edit)) for edit in edits)


def _value_of(text: str) -> float | str:
    """Equal for literals that may be equal."""
    if text in _NUMBERED:
        return _NUMBERED[text]
    try:
        return float(text) if "." in text or "e" in text.lower() else float(int(text, 0))
    except ValueError:
        return text.strip("rbuRBU'\"")


_NUMBERED = {"True": 1.0, "False": 0.0}


_DOING_MORE = frozenset({"named_expression", "await", "yield"})


def _does_more(side: Sequence[Node]) -> bool:
    """Whether the rest of the test may need what happens here."""
    return any(inner.type in _DOING_MORE for node in side for inner in walk(node))


def opposite_of(forms: Expectations, one: Asserted) -> ProbeChange | None:
    """The opposite assertion, or a failure after it; plausible only if the assertion compares no values."""
    if one.kind == "output":
        return None
    if negated := forms.opposite_edits(one.node):
        what = f"{short(text_of_node(one.node))} → its opposite"
        return ProbeChange(negated, what, plausible=one.kind != "equal")
    return forms.failure_after(one.node)


def told_change(side: Sequence[Node], edits: Iterable[ByteEdit]) -> str:
    """What a side was changed to, as a person is told."""
    data, start = side[0].text or b"", side[0].start_byte
    inner = [ByteEdit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    if len(side) > 1 or any(edit.start < 0 or edit.end > len(data) for edit in inner):
        return f"{short(text_of_node(side[0]))} → another value"
    return " → ".join(short(text.decode("utf-8", "replace")) for text in (data, apply_edits(data, inner)))


def _replace_node(node: Node, text: str) -> ByteEdit:
    return ByteEdit(node.start_byte, node.end_byte, text)


def _row_changes(draw: Draw, rows: Sequence[Node], slack: float) -> Iterator[_Edits]:
    """Changes all values behind a name at once, the last literal of each."""
    last = [literals_within(row)[-1:] for row in rows]
    drawn: list[list[_Edits]] = [
        [(_replace_node(node, text),) for node in nodes for text in draw.literals(node, slack)]
        for nodes in last
    ]
    if any(drawn) and draw.forms.unlike:
        drawn = [edits or [_unlike(draw.forms, row)] for edits, row in zip(drawn, rows, strict=True)]
    if rows and all(drawn):
        for turn in range(max(map(len, drawn))):
            yield tuple(edit for edits in drawn for edit in edits[turn % len(edits)])


def _unlike(forms: Expectations, node: Node) -> _Edits:
    before, _, after = forms.unlike.partition("%s")
    return (ByteEdit(node.start_byte, node.start_byte, before), ByteEdit(node.end_byte, node.end_byte, after))


def _side_changes(draw: Draw, side: Sequence[Node]) -> list[_Edits]:
    """Another member of its enumeration, a list without one of its items, or an empty list filled."""
    forms = draw.forms
    changes: list[_Edits] = []
    if (member := _member(forms, side)) and (kin := draw.pool.other_members(member)):
        changes.append((ByteEdit(side[0].start_byte, side[-1].end_byte, draw.dice.choice(kin)),))
    if filled := forms.empties.get("".join(map(text_of_node, side))):
        text = filled.replace("%s", draw.any_value())
        changes.append((ByteEdit(side[0].start_byte, side[-1].end_byte, text),))
    items = forms.items(side)
    texts = [text_of_node(item) for item in items]
    if len(items) > 1 and all(is_plain(text.lstrip("-")) for text in texts) and len({*texts}) == len(texts):
        at = draw.dice.randrange(1, len(items))
        start, end = items[at - 1].end_byte, items[at].end_byte
        lines = items[at].end_point[0] - items[at - 1].end_point[0]
        changes.append((ByteEdit(start, end, "\n" * lines),))
    return changes


def _member(forms: Expectations, side: Sequence[Node]) -> str:
    text = "".join(map(text_of_node, side))
    return text if forms.member is not None and forms.member.match(text) else ""


def negate(node: Node) -> tuple[ByteEdit, ...]:
    return (ByteEdit(node.start_byte, node.start_byte, "!("), ByteEdit(node.end_byte, node.end_byte, ")"))


def swap_word(words: Mapping[str, str], word: Node | None) -> tuple[ByteEdit, ...] | None:
    """The edit that puts the opposite word; `words` lists each pair in one direction only."""
    opposite = {**words, **{two: one for one, two in words.items()}}.get(text_of_node(word))
    if word is None or opposite is None:
        return None
    return (ByteEdit(word.start_byte, word.end_byte, opposite),)
