"""Compares two states of a suite, in any language, and lists lost tests, assertions, cases and new skips."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.core.languages import file_end
from verdigris.core.value import value
from verdigris.languages.assertions import AssertionChange, is_in_scope
from verdigris.languages.findings import Weakening

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from verdigris.languages.assertions import Fact, Mark


Key = tuple[str, str]


class Suite(ABC):
    """A suite: its tests, and all that they assert."""

    tests: dict[Key, int]
    """The line of each collected test, by path and name."""
    facts: Sequence[Fact]

    def names(self) -> Counter[str]:
        return Counter(name for _, name in self.tests)

    @abstractmethod
    def body(self, key: Key) -> str: ...

    @abstractmethod
    def find_hidden(self, body: str) -> str:
        """The place of a function with this body that is not collected as a test; empty if there is none."""

    @abstractmethod
    def still_asserts(self, scope: str, what: str) -> bool:
        """Whether the test still contains an assertion with this text."""

    @abstractmethod
    def marks(self) -> Iterable[tuple[str, Mark]]:
        """The marks that take tests out of a run, each with its path."""


@value
class Loss:
    kind: str
    path: str
    line: int
    before: str
    after: str
    scope: str


def losses_between(old: Suite, new: Suite, pairs: Mapping[int, int]) -> Iterator[Loss]:
    """Lists the losses. `pairs`: maps the index of an old fact to that of the new fact that matches it."""
    yield from _lost_facts(old, new, pairs)
    yield from _new_marks(old, new, pairs)


def describe_losses(losing: Iterable[Loss]) -> tuple[Weakening, ...]:
    weakenings = (Weakening(loss.kind, loss.path, loss.line, loss.before, loss.after) for loss in losing)
    return tuple(dict.fromkeys(weakenings))


def _lost_facts(old: Suite, new: Suite, pairs: Mapping[int, int]) -> Iterator[Loss]:
    lost = [fact for at, fact in enumerate(old.facts) if at not in pairs]
    heirs = _heirs(old, new, pairs)
    gone = list(_gone_tests(old, new, lost, heirs))
    yield from gone
    scopes = {(loss.path, loss.scope) for loss in gone}
    places = _NewAssertions(new, set(pairs.values()))
    for fact in lost:
        if (fact.path, fact.scope) not in scopes:
            yield from places.loss(fact, heirs.get((fact.path, fact.scope), fact.scope))


def _heirs(old: Suite, new: Suite, pairs: Mapping[int, int]) -> dict[Key, str]:
    """Maps each old test whose name is gone to its new name.

    That is the test which now has most of its assertions; or, if these changed too, the test of the same
    name in the class to which most tests of its class moved.
    """
    names = new.names()
    votes: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for at, to in pairs.items():
        fact, other = old.facts[at], new.facts[to]
        if (fact.path, fact.scope) in old.tests and not names[fact.scope]:
            votes[fact.path, fact.scope][other.scope] += 1
    heirs = {key: counter.most_common(1)[0][0] for key, counter in votes.items()}
    classes: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for (path, scope), heir in heirs.items():
        classes[path, _class_of(scope)][_class_of(heir)] += 1
    for path, scope in old.tests:
        owners = classes[path, _class_of(scope)]
        if (path, scope) not in heirs and not names[scope] and _class_of(scope) and owners:
            named = f"{owners.most_common(1)[0][0]}::{scope.rpartition('::')[2]}"
            if names[named]:
                heirs[path, scope] = named
    return heirs


def _class_of(scope: str) -> str:
    return scope.rpartition("::")[0]


def _gone_tests(old: Suite, new: Suite, lost: list[Fact], heirs: dict[Key, str]) -> Iterator[Loss]:
    names = new.names()
    losing = {(fact.path, fact.scope) for fact in lost}
    asserting = {(fact.path, fact.scope) for fact in old.facts}
    known = old.names()
    fresh = [key for key in new.tests if not known[key[1]]]
    for key, line in old.tests.items():
        path, name = key
        names[name] -= 1
        if names[name] >= 0 or key in heirs or (key in asserting and key not in losing):
            continue
        body = old.body(key)
        twin = next((other for other in fresh if new.body(other) == body), None)
        if twin is not None:
            fresh.remove(twin)
            continue
        hidden = new.find_hidden(body)
        yield Loss("uncollected" if hidden else "removed", path, line, name, hidden, name)


@dataclass(slots=True)
class _NewAssertions:
    """Searches the new suite for assertions that replace those without a match."""

    new: Suite
    used: set[int]
    by_scope: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for at, fact in enumerate(self.new.facts):
            self.by_scope[fact.scope].append(at)

    def loss(self, fact: Fact, scope: str) -> Iterator[Loss]:
        spare = [(at, self.new.facts[at]) for at in self.by_scope[scope] if at not in self.used]
        if any(_covers(fact, other) for _, other in spare):
            return
        spare.sort(key=lambda pair: (pair[1].case != fact.case, pair[1].what != fact.what))
        for wanted in (
            _kind_if_guarded,
            _kind_if_restated,
            _kind_if_weaker,
            _kind_if_row_changed,
            _kind_if_changed,
        ):
            for at, other in spare:
                kind = wanted(fact, other)
                if kind:
                    self.used.add(at)
                    if kind != "kept":
                        yield _loss(kind, fact, other)
                    return
        # The assertion may still be there, while no table has this row.
        lacks_row = bool(fact.case) and self.new.still_asserts(scope, fact.what)
        yield _loss("cases" if lacks_row else "dropped", fact, None)


def _loss(kind: str, fact: Fact, other: Fact | None) -> Loss:
    if kind in {"cases", "row"}:
        after = "" if other is None else other.case
        return Loss("changed" if kind == "row" else kind, fact.path, fact.line, fact.case, after, fact.scope)
    after = "" if other is None else other.what
    if kind == "guarded" and other is not None:
        after = f"{'; '.join(other.guards)}: {other.what}"
    return Loss(kind, fact.path, fact.line, fact.what, after, fact.scope)


def _covers(fact: Fact, other: Fact) -> bool:
    """Whether the other assertion demands at least as much, under no further conditions."""
    if not set(other.guards) <= set(fact.guards):
        return False
    return fact.compare_with(other) in {AssertionChange.SAME, AssertionChange.STRONGER}


def _kind_if_guarded(fact: Fact, other: Fact) -> str:
    more = set(other.guards) - set(fact.guards)
    return (
        "guarded"
        if more and fact.compare_with(other) in {AssertionChange.SAME, AssertionChange.STRONGER}
        else ""
    )


def _kind_if_restated(fact: Fact, other: Fact) -> str:
    """The text is the same, but its subject is made differently, e.g. by a factory, not a constructor."""
    if fact.what != other.what or fact.case != other.case or fact.guards != other.guards:
        return ""
    was, is_ = fact.calls(), other.calls()
    if was and not is_:
        return "weaker"
    return "changed" if was == is_ else "kept"


def _kind_if_weaker(fact: Fact, other: Fact) -> str:
    return "weaker" if fact.compare_with(other) is AssertionChange.WEAKER else ""


def _kind_if_row_changed(fact: Fact, other: Fact) -> str:
    return "row" if fact.case and other.case and fact.case != other.case and fact.what == other.what else ""


def _kind_if_changed(fact: Fact, other: Fact) -> str:
    return "changed" if fact.case == other.case else ""


def _new_marks(old: Suite, new: Suite, pairs: Mapping[int, int]) -> Iterator[Loss]:
    """Lists new marks on tests that existed before; the author of a new test may skip it."""
    known = Counter((mark.kind, mark.what) for _, mark in old.marks())
    fresh = _find_new_tests(old, new, pairs)
    origins = _TestOrigins(old, new, pairs)
    for path, mark in new.marks():
        known[mark.kind, mark.what] -= 1
        is_known = known[mark.kind, mark.what] >= 0 and not origins.is_new_skip(path, mark)
        if is_known or _has_only_new_tests(mark.scope, path, fresh, new):
            continue
        yield Loss(
            mark.kind, path, mark.line, _mark_before(old, path, mark), _first_line(mark.what), mark.scope
        )


def _mark_before(old: Suite, path: str, mark: Mark) -> str:
    """The earlier mark of the same kind on the same test or class; empty if there was none."""
    place = (path, mark.kind, mark.scope)
    return next(
        (_first_line(was.what) for file, was in old.marks() if (file, was.kind, was.scope) == place), ""
    )


class _TestOrigins:
    """Maps tests to the earlier tests that they were, so that a skip which moves to another is noticed."""

    def __init__(self, old: Suite, new: Suite, pairs: Mapping[int, int]) -> None:
        self.old, self.new = old, new
        self.heirs: defaultdict[Key, set[Key]] = defaultdict(set)
        for at, to in pairs.items():
            fact, other = old.facts[at], new.facts[to]
            self.heirs[other.path, other.scope].add((fact.path, fact.scope))

    def is_new_skip(self, path: str, mark: Mark) -> bool:
        """Whether a mark skips a test that had no such mark before, even if another test had it."""
        if mark.kind != "skipped" or not mark.scope:
            return False
        tests = [key for key in self.new.tests if key[0] == path and is_in_scope(key[1], mark.scope)]
        return any((then := self._earlier_tests(key)) and not self._had_mark(then, mark) for key in tests)

    def _earlier_tests(self, key: Key) -> set[Key]:
        if key in self.old.tests:
            return {key}
        same = {other for other in self.old.tests if other[1] == key[1]}
        return same or {other for other in self.heirs[key] if other in self.old.tests}

    def _had_mark(self, then: set[Key], mark: Mark) -> bool:
        return any(
            path == was and (was_mark.kind, was_mark.what) == (mark.kind, mark.what)
            for was, was_mark in self.old.marks()
            for path, name in then
            if is_in_scope(name, was_mark.scope)
        )


def _first_line(what: str) -> str:
    lines = what.splitlines()
    return next((line for line in lines if line.startswith(("def ", "async def "))), lines[0])


def _find_new_tests(old: Suite, new: Suite, pairs: Mapping[int, int]) -> set[tuple[str, str]]:
    """The tests that replace no earlier test."""
    heirs = {(new.facts[at].path, new.facts[at].scope) for at in pairs.values()}
    names = old.names()
    return {key for key in new.tests if key not in heirs and not names[key[1]]}


def _has_only_new_tests(scope: str, path: str, fresh: set[tuple[str, str]], new: Suite) -> bool:
    under = [key for key in new.tests if key[0] == path and is_in_scope(key[1], scope)]
    return bool(under) and all(key in fresh for key in under)


def data_weakenings(
    before: Mapping[str, str], after: Mapping[str, str], revised: Collection[str]
) -> tuple[Weakening, ...]:
    """Lists files whose earlier content is in no file any more."""
    contents = Counter(after.values())
    weakenings: list[Weakening] = []
    for path, text in before.items():
        contents[text] -= 1
        if contents[text] < 0 and not is_given_up(path, "", revised):
            weakenings.append(Weakening("data", path, 1, text, after.get(path, "")))
    return tuple(weakenings)


def is_given_up(path: str, scope: str, revised: Iterable[str], *, whole: bool = False) -> bool:
    """Whether `revised` (test ids, paths and folders) names this scope of this file.

    Unless names are `whole`, they may begin with the modules that lead to the file, as in Rust.
    """
    for entry in revised:
        end = file_end(entry)
        named, name = (entry, "") if end < 0 else (entry[:end], entry[end + 2 :])
        if not name and (path == named or path.startswith(f"{named.rstrip('/')}/")):
            return True
        is_full_name = not whole and f"::{name}".endswith(f"::{scope}")
        if name and path == named and (is_in_scope(scope, name) or is_full_name):
            return True
    return False
