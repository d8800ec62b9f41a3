"""Finds the tests that ran what a change of source is about, by what the suite's run recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import function_of, split_id
from verdigris.languages.registry import reader_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from verdigris.core.report import RunUses

_WORD = re.compile(r"\w+")


def find_affected(
    uses: RunUses | None, before: Mapping[str, str | None], after: Mapping[str, str], passed: Iterable[str]
) -> tuple[str, ...] | None:
    """Test functions that ran a function which changed, or may have; None where the run did not record it.

    `before`, `after`: the changed source. `passed`: native ids.
    """
    if uses is None or uses.problem:
        return None
    places = frozenset[int]().union(*(_changed_places(uses, p, before.get(p), t) for p, t in after.items()))
    return tuple(dict.fromkeys(function_of(test) for test in passed if may_run(uses, test, places)))


def _changed_places(uses: RunUses, path: str, before: str | None, after: str) -> frozenset[int]:
    """Numbers of the functions that act differently; of all in the file, where more changed than functions.

    What ran when the file was loaded is not asked for: then every test would have run it.
    """
    early = frozenset(uses.sets[uses.common[""]]) if "" in uses.common else frozenset[int]()
    here = {line: number for number, (at, line) in enumerate(uses.places) if at == path}
    every = frozenset(here.values()) - early
    changed = _changed_functions(path, before, after)
    tracing = reader_of(path).tracing()
    names = None if tracing is None else tracing.name_lines(after, here)
    if changed is None or names is None:
        return every
    numbers = frozenset(number for line, number in here.items() if names[line] in changed)
    return numbers if numbers.isdisjoint(early) else every


def _changed_functions(path: str, before: str | None, after: str) -> frozenset[str] | None:
    """The functions that changed, by qualified name.

    None where more changed: what runs at import, or the meaning of a name that the old text says.
    """
    tracing = reader_of(path).tracing()
    if tracing is None or before is None:
        return None
    delta = tracing.compare_modules(before, after)
    if delta is None or delta.more or (delta.names | delta.classes).intersection(_WORD.findall(before)):
        return None
    return delta.bodies | delta.added


def places_of(uses: RunUses, path: str, text: str, lines: Collection[int]) -> dict[int, frozenset[int]]:
    """The numbers of the functions in which each line stands; lines that stand in none are left out."""
    here = {first: number for number, (at, first) in enumerate(uses.places) if at == path}
    tracing = reader_of(path).tracing()
    named = (tracing and tracing.name_lines(text, {*here, *lines})) or {}
    return {
        line: frozenset(number for first, number in here.items() if named[first] == name)
        for line in lines
        if (name := named.get(line))
    }


def places_in(uses: RunUses, paths: Collection[str]) -> frozenset[int]:
    """The numbers of all functions in these files."""
    return frozenset(number for number, (path, _) in enumerate(uses.places) if path in paths)


def may_run(uses: RunUses, test: str, wanted: frozenset[int]) -> bool:
    """Whether a test ran one of these functions, read its kept result, or did what was not recorded."""
    used = uses.tests.get(test)
    if used is None or used.unsure or not wanted.isdisjoint(used.hits):
        return True
    shared = [uses.common[key] for key in ("", split_id(test).path) if key in uses.common]
    return any(not wanted.isdisjoint(uses.sets[at]) for at in (used.functions, *shared))
