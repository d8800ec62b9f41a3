"""Probes of Python tests: which assertions a test reaches, also in helpers and bases, and how they change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from verdigris.core.test_ids import function_of, split_id
from verdigris.languages.grammar.content import content_probes
from verdigris.languages.grammar.literals import replace_by_grammar
from verdigris.languages.grammar.probes import AssertionPlace, failure_probes, make_probes
from verdigris.languages.grammar.trees import tree_of
from verdigris.languages.protocol import Liveness
from verdigris.languages.python.arrangements import find_arrangements
from verdigris.languages.python.content import content_edits
from verdigris.languages.python.expectations import PythonExpectations
from verdigris.languages.python.tests.assertion_places import reached_assertions
from verdigris.languages.python.tests.code import Files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.findings import Mutant
    from verdigris.languages.literals import Chance, Replaced
    from verdigris.languages.probes import Probe

_STATEMENTS = frozenset({"assert_statement", "expression_statement", "with_statement"})


class PythonLiveness(Liveness):
    tried_texts = (1000, 6)

    def probes(
        self, texts: Mapping[str, bytes], asked: Iterable[str], dice: Random, count: int
    ) -> tuple[Probe, ...]:
        return make_probes(_places(texts, asked), PythonExpectations(), dice, count)

    def failures_after(
        self, texts: Mapping[str, bytes], asked: Iterable[str], places: Collection[tuple[str, int]]
    ) -> tuple[Probe, ...]:
        wanted = (place for place in _places(texts, asked) if (place.path, place.line) in places)
        return failure_probes(wanted, PythonExpectations())

    def contents(
        self, texts: Mapping[str, bytes], asked: Iterable[str], *, strict: bool = False
    ) -> tuple[Probe, ...]:
        return content_probes(_places(texts, asked), partial(content_edits, strict=strict))

    def arrangements(self, texts: Mapping[str, bytes], native: str, lot: Chance) -> Iterator[Mutant]:
        where = split_id(native)
        return find_arrangements(self.language, texts, (where.path, where.function), lot)

    def why_unread(self, texts: Mapping[str, bytes], native: str) -> str:
        where, files = split_id(native), Files(_texts(texts))
        code = files.code(where.path)
        if code is None:
            return "its file cannot be read as Python"
        if files.function(code, where.function) is None:
            return "its function was not found"
        return super().why_unread(texts, native)

    def other_inputs(
        self, path: str, data: bytes, lot: Chance, tried: Collection[int] = ()
    ) -> tuple[Replaced, ...]:
        text = data.decode("utf-8", "surrogateescape")
        return replace_by_grammar(path, data, self.language.tests.written_tests(path, text, ()), lot, tried)


def _places(texts: Mapping[str, bytes], asked: Iterable[str]) -> Iterator[AssertionPlace]:
    """The assertions of the asked tests, with those of helpers and of inherited tests, in their order."""
    files = Files(_texts(texts))
    roots: dict[str, Node] = {}
    sure: dict[tuple[str, int], set[str]] = {}
    maybe: dict[tuple[str, int], set[str]] = {}
    nodes: dict[tuple[str, int], Node] = {}
    for function in dict.fromkeys(map(function_of, asked)):
        where = split_id(function)
        code = files.code(where.path)
        for at in () if code is None else reached_assertions(files, code, where.function):
            path, point = at.code.path, (at.node.lineno - 1, at.node.col_offset)
            if path not in roots:
                roots[path] = tree_of(path, texts[path])[0]
            node = _statement_at(roots[path], point)
            if node is not None:
                place = path, node.start_byte
                nodes.setdefault(place, node)
                (maybe if at.guarded else sure).setdefault(place, set()).add(function)
    for place, node in nodes.items():
        tests = (frozenset(of.get(place, ())) for of in (sure, maybe))
        yield AssertionPlace(place[0], node, *tests)


def _statement_at(root: Node, point: tuple[int, int]) -> Node | None:
    """The statement that begins here."""
    node = root.descendant_for_point_range(point, point)
    while node is not None and node.type not in _STATEMENTS:
        node = node.parent
    return node if node is not None and tuple(node.start_point) == point else None


def _texts(texts: Mapping[str, bytes]) -> dict[str, str]:
    return {path: data.decode("utf-8", "surrogateescape") for path, data in texts.items()}
