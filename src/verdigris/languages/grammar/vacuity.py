"""Finds what a test seems to assert and does not, in languages that tree-sitter reads."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from verdigris.languages.assertions import ROW, holds
from verdigris.languages.grammar.probes import surely_runs
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
from verdigris.languages.validation import TestFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from verdigris.languages.assertions import PlainFact, Words
    from verdigris.languages.grammar.suite import GrammarSuite
    from verdigris.languages.validation import TestText

    SuiteOf = Callable[[str], GrammarSuite]

_NEVER = re.compile(
    r"(if|while) \(?\s*(false|0|null|undefined|!1|!true|''|\"\")\s*\)?|else \(?\s*(true|1)\s*\)?"
)
_UNHEARD = {"not awaited": "a promise that nobody waits for: put `await` before it"}
_SPOKEN = frozenset({"fail", "throws", "panics"})
_BLOCKS = frozenset({"statement_block", "statement_list", "block"})


def find_empty_assertions(suite_of: SuiteOf, test: TestText) -> tuple[TestFault, ...] | None:
    """`suite_of`: a reader for a path. None where the file cannot be read whole."""
    data = test.texts.get(test.path, "").encode("utf-8", "surrogateescape")
    root, fault = tree_of(test.path, data)
    if fault is not None:
        return None
    suite, plain = (_read(suite_of, test, root, named=named) for named in (True, False))
    found: dict[int, TestFault] = {}
    for (fact, node, at), (bare, _, _) in zip(_asserted(suite), _asserted(plain), strict=True):
        if holds(test.name, at.scope) and (why := _fault_of(fact, bare, node, at, suite)):
            found.setdefault(fact.line, TestFault(test.path, fact.line, f"`{short(fact.what)}` {why}"))
    own = next((one for one in suite.tests if one.name == test.name), None)
    if own is None:
        return None
    for node in walk(root):
        if node.type in _BLOCKS and own.line <= line_of(node) <= own.last:
            for line, why in _dead(suite_of, suite, node):
                found.setdefault(line, TestFault(test.path, line, why))
    return tuple(sorted(found.values(), key=lambda one: one.line))


def _read(suite_of: SuiteOf, test: TestText, root: Node, *, named: bool) -> GrammarSuite:
    """`named`: with what names stand for; else as it is written."""
    suite = suite_of(test.path) if named else _Unnamed.of(suite_of(test.path))
    suite.collect(root)
    for path, text in test.texts.items():
        if path != test.path and grammar_of(path) is not None:
            other = suite_of(path)
            other.collect(tree_of(path, text.encode("utf-8", "surrogateescape"))[0])
            suite.shared = {**suite.shared, **other.functions}
    suite.read(root)
    return suite


class _Unnamed:
    """Makes a reader for which every name stands for itself, or for the one that it is given."""

    @staticmethod
    def of(suite: GrammarSuite) -> GrammarSuite:
        kind = type(suite)

        def bound(self: GrammarSuite, node: Node, at: At) -> At:
            names = kind.bound(self, node, at).names
            kept = {name: words for name, words in names.values.items() if len(words) == 1 and words[0].name}
            return replace(at, names=GrammarNames(kept, names.local | (names.values.keys() - kept.keys())))

        made: GrammarSuite = type(f"Unnamed{kind.__name__}", (kind,), {"bound": bound, "__slots__": ()})(
            suite.path
        )
        return made


def _asserted(suite: GrammarSuite) -> Iterator[tuple[PlainFact, Node, At]]:
    facts = (fact for fact in suite.facts if fact.check.kind != ROW)
    return ((fact, node, at) for fact, (node, at) in zip(facts, suite.asserted, strict=True))


def _fault_of(fact: PlainFact, bare: PlainFact, node: Node, at: At, suite: GrammarSuite) -> str:
    for guard in at.guards:
        if guard in _UNHEARD:
            return f"is {_UNHEARD[guard]}"
        if _NEVER.fullmatch(guard):
            return f"is never reached: it stands under `{guard}`"
    if (caught := _silent_handler(node)) is not None:
        return f"fails unheard: the handler of line {line_of(caught)} catches it and says nothing"
    kind = fact.check.kind.split()[0]
    if kind == "fail":
        sure = not at.guards and surely_runs(suite, node)
        return "fails whatever the code does: assert an answer instead" if sure else ""
    if kind in _SPOKEN or kind == "snapshot":
        return ""
    subject, expected = bare.check.subject, bare.check.expected
    if subject and subject == expected and _is_one_thing(subject):
        return "compares a thing with itself: assert what the code under test answers"
    if _is_settled(fact.check.subject, fact.check.expected):
        return "speaks of nothing that the code under test does: its outcome is settled as written"
    return ""


def _is_one_thing(words: Words) -> bool:
    """Two calls may well differ: equal objects have to be made equal, and a call without arguments may be a
    question for the one object that there is.
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
    """Literals alone; a list or an object may have been filled meanwhile."""
    words = (*subject, *expected)
    return bool(subject) and not any(word.name or word.text in {"[", "{", "("} for word in words)


def _silent_handler(node: Node) -> Node | None:
    """What catches an assertion's failure in the nearest `try`, and neither throws nor asserts."""
    inner, above = node, node.parent
    while above is not None and above.type not in {"program", "source_file"}:
        handler = part(above, "handler") if above.type == "try_statement" else None
        if handler is not None and part(above, "body") == inner:
            told = re.search(
                r"\b(throw|expect|assert|fail|reject|done)\b", text_of_node(part(handler, "body"))
            )
            return handler if told is None else None
        inner, above = above, above.parent
    return None


def _dead(suite_of: SuiteOf, suite: GrammarSuite, block: Node) -> Iterator[tuple[int, str]]:
    """Assertions behind a statement that leaves the block."""
    left: Node | None = None
    for statement in parts(block):
        if left is not None:
            reader = suite_of(suite.path)
            reader.functions = suite.functions
            reader.visit(statement, At("test", test=True))
            for node, _ in reader.asserted:
                what = short(on_one_line(node))
                yield line_of(node), f"`{what}` is never reached: line {line_of(left)} leaves before it"
        elif suite.leaving(statement):
            left = statement
