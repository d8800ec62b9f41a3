"""The assertions of a test file as values, in languages that tree-sitter reads."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from verdigris.core.value import field, value
from verdigris.languages.findings import TestFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@value
class Name:
    text: str
    local: bool


@value
class Assertion:
    line: int
    what: str
    """As a person reads it."""
    scope: str
    """The function it stands in, as `Class::name`."""
    shape: str
    """Structure, operators and literals, with what guards it; a place for each name."""
    names: tuple[Name, ...]


@value
class Skip:
    line: int
    what: str


@value
class TestFile:
    __test__ = False

    assertions: tuple[Assertion, ...] = ()
    tests: tuple[tuple[str, int], ...] = ()
    """`Class::name` and line of all that a runner would collect by name."""
    skips: tuple[Skip, ...] = ()


@value
class Mark:
    kind: str
    line: int
    what: str
    scope: str
    """The test, class or function that it stands in or on; empty for the whole file."""


def holds(outer: str, inner: str) -> bool:
    """Whether a test, class or describe is the other one, or stands around it; names as ids have them."""
    return not outer or inner == outer or inner.startswith((f"{outer}::", f"{outer}/", f"{outer} › "))


def skip_of(name: str, marks: Iterable[Mark]) -> str:
    """What keeps a test from being run, on it or on what stands around it; empty where nothing does."""
    kinds = {"skipped", "deselected"}
    return next((mark.what for mark in marks if mark.kind in kinds and holds(mark.scope, name)), "")


class AssertionChange(StrEnum):
    SAME = "same"
    STRONGER = "stronger"
    WEAKER = "weaker"
    CHANGED = "changed"
    UNRELATED = "unrelated"


ROW = "row"
"""The kind, and the words, of a row of a table."""
HELPER = "()"
"""Ends the scope of a function that no test of its file was seen to call."""


@value
class Word:
    """A token; names can be renamed, local ones within their test."""

    text: str
    name: bool = False
    local: bool = False
    called: bool = False


Words = tuple[Word, ...]


@value
class Check:
    """How much of its subject an assertion pins: 0 nothing, 1 that it is truthy, 5 its value."""

    kind: str
    rank: float
    subject: Words
    expected: Words = ()
    slack: float = 0.0
    """How far a number may be off."""


@value
class PlainFact:
    path: str
    line: int
    what: str
    scope: str
    guards: tuple[str, ...]
    check: Check
    match: Assertion
    """As the same test would say it after a rename of its own variables."""
    loose: Assertion
    """The same, with every name open to be another."""
    case: str = ""

    def calls(self) -> set[str]:
        return {word.text for word in self._words() if word.called}

    def _words(self) -> Words:
        return (*self.check.subject, *self.check.expected)

    def names(self) -> set[str]:
        return {word.text for word in self._words() if word.name}

    def against(self, other: PlainFact) -> AssertionChange:
        was, is_ = self.check, other.check
        if ROW in {was.kind, is_.kind}:
            return _row(was, is_)
        if (was.kind, _text(was.subject), _text(was.expected), was.slack) == (
            is_.kind,
            _text(is_.subject),
            _text(is_.expected),
            is_.slack,
        ):
            return AssertionChange.SAME
        if is_.rank == 0:
            return AssertionChange.WEAKER if was.rank else AssertionChange.SAME
        if not self.names() & other.names():
            return AssertionChange.UNRELATED
        if was.rank != is_.rank:
            if is_.rank < was.rank:
                return AssertionChange.WEAKER
            return AssertionChange.STRONGER if self.names() <= other.names() else AssertionChange.CHANGED
        return _alike(was, is_)


def _row(was: Check, is_: Check) -> AssertionChange:
    if was.kind != is_.kind:
        return AssertionChange.UNRELATED
    return AssertionChange.SAME if _text(was.subject) == _text(is_.subject) else AssertionChange.UNRELATED


def _alike(was: Check, is_: Check) -> AssertionChange:
    one, two = _text(was.subject), _text(is_.subject)
    if was.slack != is_.slack and one == two:
        return AssertionChange.WEAKER if is_.slack > was.slack else AssertionChange.STRONGER
    if _text(was.expected) == _text(is_.expected) and was.kind == is_.kind:
        if _is_call_on(two, one):
            return AssertionChange.WEAKER
        if _is_call_on(one, two):
            return AssertionChange.STRONGER
    return AssertionChange.CHANGED


def _is_call_on(outer: str, inner: str) -> bool:
    """`f ( 1 ) . trim ( )` keeps less of the answer than `f ( 1 )`."""
    return outer != inner and "(" in inner and (outer.startswith(f"{inner} .") or f"( {inner} )" in outer)


def _text(words: Iterable[Word]) -> str:
    return " ".join(word.text for word in words)


def assertion(
    line: int, what: str, scope: str, guards: Sequence[str], words: Words, *, loose: bool
) -> Assertion:
    """`loose`: every name may be another one, not only a test's own."""
    shown = [word if word.name and (loose or word.local) else None for word in words]
    places = tuple(Name(word.text, word.local) for word in shown if word is not None)
    texts = [word.text if open_ is None else "$" for word, open_ in zip(words, shown, strict=True)]
    return Assertion(line, what, scope, "|".join([*guards, " ".join(texts)]), places)


@value
class TestSeen:
    __test__ = False

    name: str
    line: int
    body: str
    last: int = 0
    """The line where it ends."""


@value
class TestReading:
    """One file."""

    tests: tuple[TestSeen, ...] = ()
    facts: tuple[PlainFact, ...] = ()
    marks: tuple[Mark, ...] = ()
    functions: Mapping[str, str] = field(default_factory=dict)
    """By body, the name and line of each function that is no test."""
    whole: bool = True
    """All of the file could be read."""

    def facts_of(self, name: str) -> TestFacts:
        """The facts of the test of this name, with what stands within it."""
        own = [fact for fact in self.facts if holds(name, fact.scope)]
        rows = sum(fact.check.kind == ROW for fact in own)
        return TestFacts(len(own) - rows, rows, skip_of(name, self.marks))

    def as_test_file(self) -> TestFile:
        skips = (Skip(mark.line, mark.what) for mark in self.marks)
        return TestFile(
            tuple(fact.loose for fact in self.facts),
            tuple((test.name, test.line) for test in self.tests),
            tuple(skips),
        )
