"""Asks whether what a claimed test sets up matters to what it asserts."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from verdigris.checks.mutants import describe_place
from verdigris.core.test_ids import function_of, split_id
from verdigris.core.value import replace
from verdigris.languages.registry import is_traced, reader_of
from verdigris.storage.draws import lot_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from verdigris.checks.observation import Candidate
    from verdigris.languages.findings import Mutant

_EACH, _MOST = 4, 12
"""Changes of one test, and of all."""


def make_arrangements(candidate: Candidate, claimed: Sequence[str]) -> tuple[Mutant, ...]:
    """Changes of what claimed tests set up, of one case of each function."""
    if candidate.room is None:
        return ()
    asked = {function_of(name): name for name in reversed(claimed) if is_traced(split_id(name).path)}
    return tuple(islice(_list_changes(candidate, asked.values()), _MOST))


def _list_changes(candidate: Candidate, asked: Collection[str]) -> Iterator[Mutant]:
    from verdigris.checks.verdict_checks import traced_tests

    project, tree = candidate.project, candidate.tree
    tests = traced_tests(project, tree) if asked else {}
    texts = {path: text.encode("utf-8", "surrogateescape") for path, text in tests.items()}
    lot = lot_of(project, candidate.start, tree, "arrangements")
    for native in asked:
        changes = reader_of(split_id(native).path).liveness.arrangements(texts, native, lot)
        yield from (replace(change, test=native) for change in islice(changes, _EACH))


def describe_idle(changes: Iterable[Mutant], unnoticed: Collection[Mutant]) -> tuple[str, ...]:
    """A line for each test that passes whatever is changed of what it sets up."""
    by_test: dict[str, list[Mutant]] = {}
    for change in changes:
        by_test.setdefault(change.test, []).append(change)
    return tuple(
        f"{describe_place(own[0])}: {test} passes {' and '.join(dict.fromkeys(one.what for one in own))}:"
        " what it sets up does not matter to what it asserts"
        for test, own in by_test.items()
        if all(change in unnoticed for change in own)
    )
