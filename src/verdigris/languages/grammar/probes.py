"""Plans the changed texts of test files: which assertion is changed in which text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.literals import Pool
from verdigris.languages.grammar.opposites import draw_changes, opposite_of, pool_of
from verdigris.languages.grammar.trees import line_of, on_one_line, part, short, text_of_node, tree_of
from verdigris.languages.probes import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.grammar.expectations import Expectations
    from verdigris.languages.grammar.suite import GrammarSuite
    from verdigris.languages.protocol import Language

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
class Draw:
    """How changes of assertions are drawn."""

    language: Language
    forms: Expectations
    dice: Random
    count: int
    """How many of an assertion."""


def probes(read: Sequence[ProbeReading], names: Mapping[str, Sequence[str]], draw: Draw) -> tuple[Probe, ...]:
    """`names`: the tests to try, by their file."""
    pool = Pool()
    for one in read:
        mine = pool_of(draw.forms, [node for node, _ in one.suite.asserted])
        pool = Pool(pool.literals | mine.literals, pool.members | mine.members)
    return tuple(probe for one in read for probe in _probes(one, names.get(one.path, ()), pool, draw))


def _probes(read: ProbeReading, names: Sequence[str], pool: Pool, draw: Draw) -> Iterator[Probe]:
    suite = read.suite
    failing = {mark.scope for mark in suite.marks if mark.kind == "skipped"}
    found: dict[int, tuple[Node, set[str], set[str]]] = {}
    for node, at in suite.asserted:
        mine = {name for name in names if _is_of(draw.language, at.scope, name)}
        if mine and at.scope not in failing:
            _, sure, maybe = found.setdefault(node.start_byte, (node, set(), set()))
            (maybe if at.guards or not surely_runs(suite, node) else sure).update(mine)
    for node, sure, maybe in found.values():
        if changes := draw_changes(draw.forms, node, pool, draw.dice, draw.count):
            what = short(on_one_line(node))
            opposite = opposite_of(draw.forms, node)
            yield Probe(
                read.path, line_of(node), what, changes, frozenset(sure), frozenset(maybe - sure), opposite
            )


def _is_of(language: Language, scope: str, name: str) -> bool:
    """The test that holds another fails with it."""
    return language.makes(scope, name) or language.encloses(scope, name)


def surely_runs(suite: GrammarSuite, node: Node) -> bool:
    helpers = {function.id for function in suite.functions.values()}
    return all(one.id in helpers or _is_run(one) for one in _functions_around(node))


def _functions_around(node: Node) -> Iterator[Node]:
    above = node.parent
    while above is not None:
        if above.type in _FUNCTIONS:
            yield above
        above = above.parent


def _is_run(function: Node) -> bool:
    """An argument of what declares a test or goes through a table."""
    call = function.parent.parent if function.parent is not None else None
    called = part(call, "function")
    while called is not None and called.type == "call_expression":
        called = part(called, "function")
    words = text_of_node(called).split("(")[0].replace("\n", "").split(".")
    return bool(_RUN_AT_ONCE.intersection(word.strip() for word in words))
