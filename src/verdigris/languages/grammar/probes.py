"""Finds the assertions of a suite and the tests that reach them, and makes a probe of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.languages.grammar.changes import Draw, draw_changes, opposite_of, pair_of_values, pool_of
from verdigris.languages.grammar.trees import (
    last_line,
    line_of,
    on_one_line,
    part,
    short,
    text_of_node,
    tree_of,
)
from verdigris.languages.probes import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.grammar.expectations import Asserted, Expectations
    from verdigris.languages.grammar.suite import GrammarSuite
    from verdigris.languages.probes import ProbeChange
    from verdigris.languages.protocol import Language


@value
class AssertionPlace:
    """Where an assertion stands, and which of the asked tests reach it, by their native ids."""

    path: str
    node: Node
    sure: frozenset[str]
    maybe: frozenset[str] = frozenset()
    """Those that may not reach it, because of a condition or a callback."""

    @property
    def line(self) -> int:
        return line_of(self.node)


def make_probes(
    places: Iterable[AssertionPlace], forms: Expectations, dice: Random, count: int
) -> tuple[Probe, ...]:
    """Makes a probe of each part of an assertion. `count`: the most changes of each."""
    asserted = [(place, one) for place in places for one in forms.asserted(place.node)]
    pool = pool_of(forms, (one for _, one in asserted))
    compared: dict[tuple[frozenset[str], str], set[str]] = {}
    for place, one in asserted:
        compared.setdefault(_subject(place, one), set()).update(text_of_node(s[0]) for s in one.sides[:1])
    found: list[Probe] = []
    for place, one in asserted:
        if place.sure | place.maybe:
            draw = Draw(forms, pool, dice, frozenset(compared[_subject(place, one)]))
            found += _probes_of(draw, place, one, count)
    return tuple(found)


def _subject(place: AssertionPlace, one: Asserted) -> tuple[frozenset[str], str]:
    """The tests, and the assertion without the most likely expected value."""
    expected = "".join(text_of_node(side[0]) for side in one.sides[:1])
    return place.sure | place.maybe, text_of_node(one.node).replace(expected, "", 1)


def _probes_of(draw: Draw, place: AssertionPlace, one: Asserted, count: int) -> Iterator[Probe]:
    opposite = opposite_of(draw.forms, one)
    if changes := draw_changes(draw, one, count):
        yield _probe(place, changes, opposite)
    elif pair := pair_of_values(draw, one):
        yield _probe(place, pair, opposite, joint=True)
    elif opposite is not None:
        yield _probe(place, (opposite,), opposite)


def _probe(
    place: AssertionPlace,
    changes: tuple[ProbeChange, ...],
    opposite: ProbeChange | None = None,
    *,
    joint: bool = False,
) -> Probe:
    node = place.node
    what, maybe = short(on_one_line(node)), place.maybe - place.sure
    return Probe(place.path, place.line, what, changes, place.sure, maybe, opposite, joint, last_line(node))


def failure_probes(places: Iterable[AssertionPlace], forms: Expectations) -> tuple[Probe, ...]:
    """Adds a failure after each assertion, to see if it is reached and noticed; every test may pass."""
    found = ((place, forms.failure_after(place.node)) for place in places)
    return tuple(
        _probe(AssertionPlace(place.path, place.node, frozenset(), place.sure | place.maybe), (change,))
        for place, change in found
        if change is not None
    )


def places_of(
    language: Language,
    suite_of: Callable[[str], GrammarSuite],
    texts: Mapping[str, bytes],
    asked: Iterable[str],
) -> Iterator[AssertionPlace]:
    """The assertions of the asked tests, in those files that a grammar parses as a whole."""
    asked = tuple(asked)
    for path, data in texts.items():
        root, fault = tree_of(path, data)
        if fault is None:
            suite = suite_of(path)
            suite.collect(root)
            suite.read(root)
            yield from _places(language, path, suite, [name for name in asked if split_id(name).path == path])


def _places(
    language: Language, path: str, suite: GrammarSuite, asked: Sequence[str]
) -> Iterator[AssertionPlace]:
    failing = {mark.scope for mark in suite.marks if mark.kind == "skipped"}
    found: dict[int, tuple[Node, set[str], set[str]]] = {}
    for node, at in suite.asserted:
        _, sure, maybe = found.setdefault(node.start_byte, (node, set(), set()))
        if at.scope not in failing:
            mine = {name for name in asked if _fails_with_scope(language, at.scope, name[len(path) + 2 :])}
            (maybe if at.guards or not is_sure_to_run(suite, node) else sure).update(mine)
    for node, sure, maybe in found.values():
        yield AssertionPlace(path, node, frozenset(sure), frozenset(maybe))


def _fails_with_scope(language: Language, scope: str, name: str) -> bool:
    """Whether a failure in this scope fails the named test, which may contain the scope."""
    return language.ids.makes(scope, name) or language.ids.encloses(scope, name)


_FUNCTIONS = frozenset(
    {
        *("arrow_function", "function_expression", "generator_function", "method_definition"),
        *("func_literal", "closure_expression", "async_block"),
    }
)
_RUN_AT_ONCE = frozenset({"forEach", "each", "for", "Run", "describe", "it", "test", "suite", "context"})


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
