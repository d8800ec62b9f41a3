"""Finds assertions that cannot fail, and the constants that new stubs can return."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.languages.assertions import ROW, is_in_scope
from verdigris.languages.findings import StubAnswer, StubBody, TestFault, draw_word
from verdigris.languages.grammar.literals import Pool, is_plain, other_literals
from verdigris.languages.grammar.probes import is_sure_to_run
from verdigris.languages.grammar.suite import At, GrammarNames
from verdigris.languages.grammar.trees import (
    grammar_of,
    line_of,
    on_one_line,
    part,
    parts,
    short,
    text_of_node,
    tree_of,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.assertions import PlainFact, TestReading, Words
    from verdigris.languages.findings import TestText
    from verdigris.languages.grammar.suite import GrammarSuite
    from verdigris.languages.literals import Chance


if TYPE_CHECKING:
    SuiteOf = Callable[[str], GrammarSuite]

_NEVER = re.compile(
    r"(if|while) \(?\s*(false|0|null|undefined|!1|!true|''|\"\")\s*\)?|else \(?\s*(true|1)\s*\)?"
)
_UNHEARD = {"not awaited": "a promise that nobody waits for: put `await` before it"}
_SPOKEN = frozenset({"fail", "throws", "panics"})
_BLOCKS = frozenset({"statement_block", "statement_list", "block"})


def find_empty_assertions(suite_of: SuiteOf, test: TestText) -> tuple[TestFault, ...] | None:
    """Finds assertions that cannot fail; None if the test or its file cannot be read.

    `suite_of`: makes a reader for a path.
    """
    data = test.texts.get(test.path, "").encode("utf-8", "surrogateescape")
    root, fault = tree_of(test.path, data)
    if fault is not None:
        return None
    suite, plain = (_read_suite(suite_of, test, root, named=named) for named in (True, False))
    faults: dict[int, TestFault] = {}
    for (fact, node, at), (bare, _, _) in zip(_asserted_facts(suite), _asserted_facts(plain), strict=True):
        if is_in_scope(at.scope, test.name) and (why := _fault_of(fact, bare, node, at, suite)):
            faults.setdefault(fact.line, TestFault(test.path, fact.line, f"`{short(fact.what)}` {why}"))
    own = next((one for one in suite.tests if one.name == test.name), None)
    if own is None:
        return None
    for node in walk(root):
        if node.type in _BLOCKS and own.line <= line_of(node) <= own.last:
            for line, why in _find_unreachable(suite_of, suite, node):
                faults.setdefault(line, TestFault(test.path, line, why))
    return tuple(sorted(faults.values(), key=lambda one: one.line))


def _read_suite(suite_of: SuiteOf, test: TestText, root: Node, *, named: bool) -> GrammarSuite:
    """Reads the test file. `named`: names are replaced by their values; otherwise they stay as written."""
    suite = suite_of(test.path) if named else _without_names(suite_of(test.path))
    suite.collect(root)
    for path, text in test.texts.items():
        if path != test.path and grammar_of(path) is not None:
            other = suite_of(path)
            other.collect(tree_of(path, text.encode("utf-8", "surrogateescape"))[0])
            suite.shared = {**suite.shared, **other.functions}
    suite.read(root)
    return suite


def _without_names(suite: GrammarSuite) -> GrammarSuite:
    """A reader that replaces a name only by another name, never by its value."""
    kind = type(suite)

    def bind_names(self: GrammarSuite, node: Node, at: At) -> At:
        names = kind.bind_names(self, node, at).names
        kept = {name: words for name, words in names.values.items() if len(words) == 1 and words[0].name}
        return replace(at, names=GrammarNames(kept, names.local | (names.values.keys() - kept.keys())))

    own = {"bind_names": bind_names, "__slots__": ()}
    made: GrammarSuite = type(f"Unnamed{kind.__name__}", (kind,), own)(suite.path)
    return made


def _asserted_facts(suite: GrammarSuite) -> Iterator[tuple[PlainFact, Node, At]]:
    facts = (fact for fact in suite.facts if fact.check.kind != ROW)
    return ((fact, node, at) for fact, (node, at) in zip(facts, suite.asserted, strict=True))


def _fault_of(fact: PlainFact, bare: PlainFact, node: Node, at: At, suite: GrammarSuite) -> str:
    for guard in at.guards:
        if guard in _UNHEARD:
            return f"is {_UNHEARD[guard]}"
        if _NEVER.fullmatch(guard):
            return f"is never reached: it is under `{guard}`"
    if (caught := _silent_handler(node)) is not None:
        return f"fails unnoticed: the handler of line {line_of(caught)} catches it and reports nothing"
    kind = fact.check.kind.split()[0]
    if kind == "fail":
        sure = not at.guards and is_sure_to_run(suite, node)
        return "fails whatever the code does: assert an answer instead" if sure else ""
    if kind in _SPOKEN or kind == "snapshot":
        return ""
    subject, expected = bare.check.subject, bare.check.expected
    if subject and subject == expected and _is_one_thing(subject):
        return "compares a thing with itself: assert what the code under test answers"
    if _is_settled(fact.check.subject, fact.check.expected):
        return "does not depend on the code under test: its outcome is fixed as written"
    return ""


def _is_one_thing(words: Words) -> bool:
    """Whether a comparison of the expression with itself is certain to hold.

    A call that makes an object does not count, since a class must define when its objects are equal. Nor
    does a call without arguments, since a test may check that it returns the same object each time.
    """
    texts = [word.text for word in words]
    if "(" not in texts:
        return True
    makes = any(
        word.text[:1].isupper() or word.text == "new" for word in words if word.name or word.text == "new"
    )
    asks = any(one == "(" and two != ")" for one, two in pairwise(texts))
    return asks and not makes


def _is_settled(subject: Words, expected: Words) -> bool:
    """Whether only literals are compared. Lists and objects do not count: code may have filled them."""
    words = (*subject, *expected)
    return bool(subject) and not any(word.name or word.text in {"[", "{", "("} for word in words)


def _silent_handler(node: Node) -> Node | None:
    """The handler of the nearest `try` that catches a failure and neither throws nor asserts."""
    inner, above = node, node.parent
    while above is not None and above.type not in {"program", "source_file"}:
        handler = part(above, "handler") if above.type == "try_statement" else None
        if handler is not None and part(above, "body") == inner:
            answer = re.search(
                r"\b(throw|expect|assert|fail|reject|done)\b", text_of_node(part(handler, "body"))
            )
            return handler if answer is None else None
        inner, above = above, above.parent
    return None


def _find_unreachable(suite_of: SuiteOf, suite: GrammarSuite, block: Node) -> Iterator[tuple[int, str]]:
    """Finds assertions after a statement that leaves the block."""
    left: Node | None = None
    for statement in parts(block):
        if left is not None:
            reader = suite_of(suite.path)
            reader.functions = suite.functions
            reader.visit(statement, At("test", test=True))
            for node, _ in reader.asserted:
                what = short(on_one_line(node))
                yield line_of(node), f"`{what}` is never reached: line {line_of(left)} leaves before it"
        elif suite.leaves_block(statement):
            left = statement


NUMBER, TEXT, TRUTH, LIST, TABLE, UNTOLD = "number", "text", "truth", "list", "table", "untold"
_ALTERED = 3
_LEAF = re.compile(r"""\d[\w.]*|b?(?P<quote>["'`])(?:\\.|(?!(?P=quote))[^\\])+(?P=quote)""", re.DOTALL)
"""A literal that others can be drawn for, in a list or a table too."""


def _kind_of_literal(text: str) -> str:
    return TEXT if text[:1] in "\"'`" else NUMBER


@value
class Returned:
    """The kind of value that a function returns, and how its body returns a constant of that kind."""

    kind: str
    form: str
    """The body, with `%s` in the place of the constant."""


@value
class AnswerForms:
    """How one language writes functions and constants."""

    functions: Mapping[str, Callable[[Node], Node | None]]
    """By type of node: a function that finds the body."""
    returned: Callable[[Node, Node], Returned | None]
    """Takes a function and its body; returns None if no constant fits."""
    constants: Mapping[str, tuple[str, ...]]
    """By kind: the empty constant ("" if there is none), then others; `W` is a word, `N` a number."""
    untold: tuple[str, ...] = ()
    """The kinds to try if the kind is not known."""
    answer: str = "%s"
    """What a person is shown of a body, with `%s` in the place of the constant."""
    errors: tuple[str, ...] = ()
    """Bodies that raise."""
    kind_of: Callable[[str], str] = _kind_of_literal
    """The kind of a literal."""


def stub_bodies(
    forms: AnswerForms, path: str, before: bytes, after: bytes, literals: Sequence[str], dice: Random
) -> tuple[StubBody, ...]:
    """The bodies of new stubs, and of old ones that changed. `literals`: the values that tests expect."""
    earlier = {
        name: text_of_node(function) for name, function, _ in _functions(forms, tree_of(path, before)[0])
    }
    bodies = []
    for name, function, body in _functions(forms, tree_of(path, after)[0]):
        if earlier.get(name) == text_of_node(function):
            continue
        returned = forms.returned(function, body)
        answers = () if returned is None else tuple(_list_answers(forms, returned.kind, literals, dice))
        if returned is not None:
            place = line_of(function), body.start_byte, body.end_byte
            bodies.append(StubBody(path, name, *place, returned.form, answers))
    return tuple(bodies)


def _functions(forms: AnswerForms, root: Node) -> Iterator[tuple[str, Node, Node]]:
    for node in walk(root):
        body = forms.functions[node.type](node) if node.type in forms.functions else None
        name = text_of_node(part(node, "name"))
        if body is not None and name:
            yield ".".join((*_owners(node), name)), node, body


def _owners(node: Node) -> list[str]:
    """The classes around a function, and its receiver."""
    owners: list[str] = [text_of_node(part(node, "receiver"))] if part(node, "receiver") is not None else []
    above = node.parent
    while above is not None:
        if "class" in above.type or above.type == "impl_item":
            owners.insert(0, text_of_node(part(above, "name") or part(above, "type")))
        above = above.parent
    return [name for name in owners if name]


def _list_answers(
    forms: AnswerForms, kind: str, literals: Sequence[str], dice: Random
) -> Iterator[StubAnswer]:
    kinds = forms.untold if kind == UNTOLD else (kind,)
    for one in kinds:
        nothing, *values = (forms.answer.replace("%s", text) if text else "" for text in forms.constants[one])
        yield from (StubAnswer(_fill_numbers(text, dice), one) for text in values)
        if nothing:
            yield StubAnswer(nothing, one, empty=True)
    yield from (StubAnswer(_fill_numbers(text, dice), "error") for text in forms.errors)
    for literal in literals:
        mine, leaf = forms.kind_of(literal), _LEAF.search(literal)
        if mine not in kinds or leaf is None:
            continue
        others = other_literals(leaf[0], Pool(), dice)[:_ALTERED]
        for number, text in enumerate([literal, *(literal.replace(leaf[0], one, 1) for one in others)]):
            answer = forms.answer.replace("%s", _write_literal(forms, mine, text))
            yield StubAnswer(answer, "expected", literal=literal, altered=number > 0)


def _write_literal(forms: AnswerForms, kind: str, literal: str) -> str:
    """Writes a literal so that a function can return it, e.g. `"a".to_string()`."""
    form = forms.constants[kind][1]
    quoted = re.search(r'"W[^"]*"', form)
    return form.replace(quoted[0], literal) if kind == TEXT and quoted else literal


def _fill_numbers(text: str, dice: Chance) -> str:
    text = re.sub(r"\bW\b", lambda _: draw_word(dice), text)
    return re.sub(r"\bN\b", lambda _: str(dice.randint(50, 120)), text)


def expected_literals(reading: TestReading, name: str) -> tuple[str, ...]:
    """The numbers and texts that the assertions of a test compare with."""
    literals: dict[str, None] = {}
    for fact in reading.facts:
        if is_in_scope(fact.scope, name) and fact.check.kind != ROW:
            for words in (fact.check.expected, fact.check.subject):
                text = "".join(word.text for word in words)
                if is_plain(text.removeprefix("-")) and text not in {"true", "false"}:
                    literals[text] = None
    return tuple(literals)


def body_of(node: Node) -> Node | None:
    return part(node, "body")


def body_of_value(node: Node) -> Node | None:
    """The body of a function that is assigned to a variable."""
    given = part(node, "value")
    return part(given, "body") if given is not None and "function" in given.type else None
