"""Constants that new stubs can return in place of their own, in languages that tree-sitter reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertions import ROW, holds
from verdigris.languages.grammar.literals import Pool, is_plain, other_literals
from verdigris.languages.grammar.trees import line_of, part, text_of_node, tree_of, walk
from verdigris.languages.validation import Answer, StubBody, draw_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.assertions import TestReading
    from verdigris.languages.literals import Chance

NUMBER, TEXT, TRUTH, LIST, TABLE, UNTOLD = "number", "text", "truth", "list", "table", "untold"
_ALTERED = 3


@value
class Returned:
    """What a function gives back: of which kind, and how a constant of it is written there."""

    kind: str
    form: str
    """The body, with `%s` where the constant stands."""


@value
class AnswerForms:
    """One language's way to write functions and constants."""

    functions: Mapping[str, Callable[[Node], Node | None]]
    """By type of a node, its body."""
    returned: Callable[[Node, Node], Returned | None]
    """Of a function and its body; None where no constant fits."""
    constants: Mapping[str, tuple[str, ...]]
    """By kind: the empty one, or nothing where there is none, then others; `W` is a word, `N` a number."""
    untold: tuple[str, ...] = ()
    """The kinds that are tried where nothing tells which it is."""


def stub_bodies(
    forms: AnswerForms, path: str, before: bytes, after: bytes, literals: Sequence[str], dice: Random
) -> tuple[StubBody, ...]:
    known = {name for name, *_ in _functions(forms, tree_of(path, before)[0])}
    found = []
    for name, function, body in _functions(forms, tree_of(path, after)[0]):
        if name in known:
            continue
        returned = forms.returned(function, body)
        answers = () if returned is None else tuple(_answers(forms, returned.kind, literals, dice))
        if returned is not None:
            place = line_of(function), body.start_byte, body.end_byte
            found.append(StubBody(path, name, *place, returned.form, answers))
    return tuple(found)


def _functions(forms: AnswerForms, root: Node) -> Iterator[tuple[str, Node, Node]]:
    for node in walk(root):
        body = forms.functions[node.type](node) if node.type in forms.functions else None
        name = text_of_node(part(node, "name"))
        if body is not None and name:
            yield ".".join((*_owners(node), name)), node, body


def _owners(node: Node) -> list[str]:
    """The classes around a function, or what it is a method of."""
    found: list[str] = [text_of_node(part(node, "receiver"))] if part(node, "receiver") is not None else []
    above = node.parent
    while above is not None:
        if "class" in above.type or above.type == "impl_item":
            found.insert(0, text_of_node(part(above, "name") or part(above, "type")))
        above = above.parent
    return [name for name in found if name]


def _answers(forms: AnswerForms, kind: str, literals: Sequence[str], dice: Random) -> Iterator[Answer]:
    kinds = forms.untold if kind == UNTOLD else (kind,)
    for one in kinds:
        nothing, *values = forms.constants[one]
        yield from (Answer(_filled(text, dice), one) for text in values)
        if nothing:
            yield Answer(nothing, one, empty=True)
    for literal in literals:
        mine = TEXT if literal[:1] in "\"'`" else NUMBER
        if mine not in kinds:
            continue
        yield Answer(_written(forms, mine, literal), "expected", literal=literal)
        others = other_literals(literal.removeprefix("-"), Pool(), dice)[:_ALTERED]
        sign = "-" if literal.startswith("-") else ""
        for other in others:
            yield Answer(_written(forms, mine, sign + other), "expected", literal=literal, altered=True)


def _written(forms: AnswerForms, kind: str, literal: str) -> str:
    """A literal as the language returns a value of its kind, e.g. `"a".to_string()`."""
    form = forms.constants[kind][1]
    quoted = re.search(r'"W[^"]*"', form)
    return form.replace(quoted[0], literal) if kind == TEXT and quoted else literal


def _filled(text: str, dice: Chance) -> str:
    text = re.sub(r"\bW\b", lambda _: draw_word(dice), text)
    return re.sub(r"\bN\b", lambda _: str(dice.randint(50, 120)), text)


def expected_literals(reading: TestReading, name: str) -> tuple[str, ...]:
    """Numbers and texts that the assertions of a test compare answers with."""
    found: dict[str, None] = {}
    for fact in reading.facts:
        if holds(name, fact.scope) and fact.check.kind != ROW:
            for words in (fact.check.expected, fact.check.subject):
                text = "".join(word.text for word in words)
                if is_plain(text.removeprefix("-")) and text not in {"true", "false"}:
                    found[text] = None
    return tuple(found)


def body_of(node: Node) -> Node | None:
    return part(node, "body")


def body_of_value(node: Node) -> Node | None:
    """The body of a function that a variable is given."""
    given = part(node, "value")
    return part(given, "body") if given is not None and "function" in given.type else None
