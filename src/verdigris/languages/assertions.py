"""The assertions of a test file as values; some of these only for languages that tree-sitter parses."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

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
    """The text that a person is shown."""
    scope: str
    """The function it stands in, as `Class::name`."""
    shape: str
    """Guards, structure, operators and literals, with a placeholder for each name."""
    names: tuple[Name, ...]


@value
class Mark:
    kind: str
    line: int
    what: str
    scope: str
    """The test, class or function that the mark is in or on; empty for the whole file."""


@value
class TestFile:
    __test__ = False

    assertions: tuple[Assertion, ...] = ()
    tests: tuple[tuple[str, int], ...] = ()
    """`Class::name` and line of each test that a runner would collect by its name."""
    skips: tuple[Mark, ...] = ()


def is_in_scope(name: str, scope: str) -> bool:
    """Whether a test, class or describe is the scope or is inside it; everything is in the empty scope."""
    return not scope or name == scope or name.startswith((f"{scope}::", f"{scope}/", f"{scope} › "))


def skip_of(name: str, marks: Iterable[Mark]) -> str:
    """The mark, on a test or on a group around it, that keeps it from running; empty if there is none."""
    kinds = {"skipped", "deselected"}
    return next((mark.what for mark in marks if mark.kind in kinds and is_in_scope(name, mark.scope)), "")


class AssertionChange(StrEnum):
    SAME = "same"
    STRONGER = "stronger"
    WEAKER = "weaker"
    CHANGED = "changed"
    UNRELATED = "unrelated"


ROW = "row"
"""The kind of a check, and the shown text of a fact, that stand for one row of a table."""
HELPER = "()"
"""Suffix of a fact's scope if it stands in a function that no test of the file is seen to call."""


@value
class Word:
    """A token. A `name` can be renamed; a `local` name has a meaning of its own in each test."""

    text: str
    name: bool = False
    local: bool = False
    called: bool = False


Words = tuple[Word, ...]


@value
class Check:
    """What an assertion checks. `rank`: how much it pins: 0 nothing, 1 that it is truthy, 5 the value."""

    kind: str
    rank: float
    subject: Words
    expected: Words = ()
    slack: float = 0.0
    """How far a number may differ from the expected one."""


@value
class Fact:
    """One thing that a test asserts."""

    path: str
    line: int
    what: str
    """The assertion as it is written."""
    scope: str
    """The test that makes it."""
    guards: tuple[str, ...]
    match: Assertion
    """Matches the same assertion after a rename of the test's own variables."""
    case: str
    """The row of a table for which it is asserted; else empty."""

    def compare_with(self, other: Any) -> AssertionChange:
        """How the assertion changed, if the other one replaces it."""
        raise NotImplementedError

    def calls(self) -> set[str]:
        """The functions that the assertion calls."""
        raise NotImplementedError


@value
class PlainFact(Fact):
    check: Check
    loose: Assertion
    """Matches the same assertion after a rename of any name."""

    def calls(self) -> set[str]:
        return {word.text for word in self._words() if word.called}

    def _words(self) -> Words:
        return (*self.check.subject, *self.check.expected)

    def names(self) -> set[str]:
        return {word.text for word in self._words() if word.name}

    def compare_with(self, other: PlainFact) -> AssertionChange:
        was, is_ = self.check, other.check
        if ROW in {was.kind, is_.kind}:
            return _compare_rows(was, is_)
        if (was.kind, _join_words(was.subject), _join_words(was.expected), was.slack) == (
            is_.kind,
            _join_words(is_.subject),
            _join_words(is_.expected),
            is_.slack,
        ):
            return AssertionChange.SAME
        names, others = self.names(), other.names()
        change = compare_ranks(was.rank, is_.rank, related=bool(names & others), keeps=names <= others)
        return change or _compare_same_rank(was, is_)


def compare_ranks(was: float, is_: float, *, related: bool, keeps: bool) -> AssertionChange | None:
    """What the ranks decide; None if both assertions pin alike. `keeps`: the new one has all old names."""
    if is_ == 0:
        return AssertionChange.WEAKER if was else AssertionChange.SAME
    if not related:
        return AssertionChange.UNRELATED
    if is_ > was:
        return AssertionChange.STRONGER if keeps else AssertionChange.CHANGED
    return AssertionChange.WEAKER if is_ < was else None


def _compare_rows(was: Check, is_: Check) -> AssertionChange:
    if was.kind != is_.kind:
        return AssertionChange.UNRELATED
    return (
        AssertionChange.SAME
        if _join_words(was.subject) == _join_words(is_.subject)
        else AssertionChange.UNRELATED
    )


def _compare_same_rank(was: Check, is_: Check) -> AssertionChange:
    before, after = _join_words(was.subject), _join_words(is_.subject)
    if was.slack != is_.slack and before == after:
        return AssertionChange.WEAKER if is_.slack > was.slack else AssertionChange.STRONGER
    if _join_words(was.expected) == _join_words(is_.expected) and was.kind == is_.kind:
        if _is_call_on(after, before):
            return AssertionChange.WEAKER
        if _is_call_on(before, after):
            return AssertionChange.STRONGER
    return AssertionChange.CHANGED


def _is_call_on(outer: str, inner: str) -> bool:
    """Whether the outer text calls something on the inner: `f ( 1 ) . trim ( )` shows less than `f ( 1 )`."""
    return outer != inner and "(" in inner and (outer.startswith(f"{inner} .") or f"( {inner} )" in outer)


def _join_words(words: Iterable[Word]) -> str:
    return " ".join(word.text for word in words)


def assertion(
    line: int, what: str, scope: str, guards: Sequence[str], words: Words, *, loose: bool
) -> Assertion:
    """`loose`: leaves every name open to a rename, not only the test's own."""
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
    """What was read from one test file."""

    tests: tuple[TestSeen, ...] = ()
    facts: tuple[PlainFact, ...] = ()
    marks: tuple[Mark, ...] = ()
    functions: Mapping[str, str] = field(default_factory=dict)
    """Maps the body of each function that is no test to its name and line."""
    whole: bool = True
    """True if the whole file could be read."""

    def facts_of(self, name: str) -> TestFacts:
        """The facts of the named test, with those of the tests inside it."""
        own = [fact for fact in self.facts if is_in_scope(fact.scope, name)]
        rows = sum(fact.check.kind == ROW for fact in own)
        return TestFacts(len(own) - rows, rows, skip_of(name, self.marks))

    def as_test_file(self) -> TestFile:
        tests = tuple((test.name, test.line) for test in self.tests)
        return TestFile(tuple(fact.loose for fact in self.facts), tests, self.marks)
