"""Compares two readings of a suite and lists what it lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.languages.assertion_matching import match_assertions
from verdigris.languages.assertions import HELPER, ROW
from verdigris.languages.findings import Weakening
from verdigris.languages.weakening import Suite, describe_losses, is_given_up, losses_between

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from verdigris.languages.assertions import Mark, PlainFact, TestReading, TestSeen
    from verdigris.languages.weakening import Key


def plain_weakenings(
    before: Mapping[str, TestReading], after: Mapping[str, TestReading], *, revised: Collection[str] = ()
) -> tuple[Weakening, ...]:
    """Lists what the tests lost; files that did not change may be left out."""
    unreadable = tuple(
        Weakening("unreadable", path, 1, "", "it does not parse")
        for path, reading in sorted(after.items())
        if not reading.whole and (path not in before or before[path].whole)
    )
    if unreadable:
        return unreadable
    old, new = PlainState(before), PlainState(after)
    # A test must not be disabled by turning it into a function that is never called.
    known = {fact.scope for fact in old.facts}
    new.facts = [fact for fact in new.facts if not fact.scope.endswith(HELPER) or fact.scope in known]
    pairs = match_assertions([fact.match for fact in old.facts], [fact.match for fact in new.facts])
    losing = losses_between(old, new, pairs)
    return describe_losses(loss for loss in losing if not is_given_up(loss.path, loss.scope, revised))


@dataclass(slots=True)
class PlainState(Suite):
    files: Mapping[str, TestReading]
    facts: list[PlainFact] = field(init=False)
    tests: dict[Key, int] = field(init=False)
    _seen: dict[Key, TestSeen] = field(init=False)

    def __post_init__(self) -> None:
        self.facts = [fact for reading in self.files.values() for fact in reading.facts]
        self._seen = {(p, test.name): test for p, reading in self.files.items() for test in reading.tests}
        self.tests = {key: test.line for key, test in self._seen.items()}

    def body(self, key: Key) -> str:
        return self._seen[key].body

    def find_hidden(self, body: str) -> str:
        places = ((p, reading.functions.get(body)) for p, reading in self.files.items())
        return next((f"{path}:{name}" for path, name in places if name and body), "")

    def still_asserts(self, scope: str, what: str) -> bool:
        return what == ROW or any(what in test.body for test in self._seen.values() if test.name == scope)

    def marks(self) -> Iterator[tuple[str, Mark]]:
        for path, reading in self.files.items():
            yield from ((path, mark) for mark in reading.marks)
