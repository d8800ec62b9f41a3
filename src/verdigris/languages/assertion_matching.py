"""Checks that a change of test files keeps every assertion, up to renaming."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.core.verdict import LostAssertion
from verdigris.languages.assertions import TestFile
from verdigris.languages.literals import NOTHING_RENAMED
from verdigris.languages.pairing import pair_up
from verdigris.languages.registry import has_grammar, reader_of
from verdigris.languages.weakening import is_given_up

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from verdigris.languages.assertions import Assertion
    from verdigris.languages.literals import RenamedWords


@value
class _TestShapes:
    path: str
    name: str
    line: int
    shapes: Counter[str]


def find_losses(
    before: Mapping[str, str],
    after: Mapping[str, str],
    revised: Collection[str] = (),
    renamed: RenamedWords = NOTHING_RENAMED,
) -> tuple[LostAssertion, ...]:
    """Lists the assertions, tests and data that a change loses, and the tests that it newly skips.

    Names may be renamed one to one, and tests may move between files. Files that are the same on both sides
    may be left out. `revised`: tests that were given up with a reason. `renamed`: what was renamed in source.
    """
    old = {path: text for path, text in before.items() if after.get(path) != text}
    new = {path: text for path, text in after.items() if before.get(path) != text}
    then = {
        path: found for path, text in old.items() if (found := _read_file(path, text, revised)) is not None
    }
    now = {path: _read_file(path, text, revised) for path, text in new.items() if _is_read(path)}
    unreadable = tuple(
        LostAssertion(path, 1, "it does not parse") for path, found in now.items() if found is None
    )
    if unreadable:
        return unreadable
    readable = {path: found for path, found in now.items() if found is not None}
    return (
        *_lost_assertions(then, readable, renamed),
        *_lost_tests(then, readable),
        *_new_skips(then, readable),
        *_changed_data(*({p: t for p, t in side.items() if not _is_read(p)} for side in (old, new))),
    )


def _is_read(path: str) -> bool:
    return reader_of(path).tests.reads(path)


def _read_file(path: str, text: str, revised: Collection[str]) -> TestFile | None:
    if not _is_read(path):
        return None
    try:
        file = reader_of(path).tests.read_test_file(path, text)
    except SyntaxError:
        return None
    if not has_grammar(path):
        return file  # the caller has removed the tests that were given up from its text
    return TestFile(
        tuple(a for a in file.assertions if not is_given_up(path, a.scope, revised)),
        tuple(t for t in file.tests if not is_given_up(path, t[0], revised)),
        file.skips,
    )


def _lost_assertions(
    then: Mapping[str, TestFile], now: Mapping[str, TestFile], renamed: RenamedWords
) -> Iterator[LostAssertion]:
    old = [(path, assertion) for path, found in then.items() for assertion in found.assertions]
    new = [assertion for found in now.values() for assertion in found.assertions]
    pairs = match_assertions([assertion for _, assertion in old], new, renamed)
    for path, assertion in (one for at, one in enumerate(old) if at not in pairs):
        yield LostAssertion(path, assertion.line, f"no assertion matches `{assertion.what}` any more")


def _lost_tests(then: Mapping[str, TestFile], now: Mapping[str, TestFile]) -> Iterator[LostAssertion]:
    """A test whose name is gone is not lost if a new test has all its assertions: it was renamed."""
    old, new = list(_shapes_of_tests(then)), list(_shapes_of_tests(now))
    pairs = pair_up(old, new, lambda test: test.name)
    kept = frozenset(pairs.values())
    fresh = [test for at, test in enumerate(new) if at not in pairs]
    for test in (test for at, test in enumerate(old) if at not in kept):
        heir = next((other for other in fresh if test.shapes <= other.shapes), None)
        if heir is None:
            yield LostAssertion(test.path, test.line, f"{test.name} is gone")
        else:
            fresh.remove(heir)


def _shapes_of_tests(files: Mapping[str, TestFile]) -> Iterator[_TestShapes]:
    for path, found in files.items():
        for name, line in found.tests:
            inside = (a.shape for a in found.assertions if a.scope == name or a.scope.startswith(f"{name}::"))
            yield _TestShapes(path, name, line, Counter(inside))


def _new_skips(then: Mapping[str, TestFile], now: Mapping[str, TestFile]) -> Iterator[LostAssertion]:
    old, new = ([(p, mark) for p, file in side.items() for mark in file.skips] for side in (then, now))
    pairs = pair_up(old, new, lambda skip: skip[1].what)
    for path, mark in (skip for at, skip in enumerate(new) if at not in pairs):
        yield LostAssertion(path, mark.line, f"`{mark.what}` is new")


def _changed_data(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[LostAssertion]:
    then = list(old.items())
    kept = frozenset(pair_up(then, list(new.items()), lambda file: file[1]).values())
    for path, _ in (file for at, file in enumerate(then) if at not in kept):
        yield LostAssertion(path, 1, "its content changed")


_STEPS = 20_000
"""After this many steps the search gives up and takes the first match of each assertion."""
_DEEP = 400
"""The most assertions that one search takes, since each adds a level of recursion."""

Key = tuple[str, str, str]
_RENAMED = ("renamed", "renamed")
"""Stands for the scope of names whose definitions were renamed."""


@dataclass(slots=True)
class _Renaming:
    """Which old name became which new one: globals in the whole change, locals in one pair of functions."""

    known: RenamedWords = NOTHING_RENAMED
    """Renamings of definitions in source: one name may keep its meaning in one class, and not in another."""
    there: dict[Key, str] = field(default_factory=dict)
    back: dict[Key, str] = field(default_factory=dict)

    def extend(self, old: Assertion, new: Assertion) -> list[tuple[Key, Key]] | None:
        """Adds the names of one pair and returns what is new; None, without a change, on a contradiction."""
        added: list[tuple[Key, Key]] = []
        for one, two in zip(old.names, new.names, strict=True):
            pair = (old.scope, new.scope) if one.local else ("", "")
            if not one.local and one.text != two.text and self.known.has(one.text, two.text):
                pair = _RENAMED
            forth, back = (*pair, one.text), (*pair, two.text)
            if self.there.get(forth, two.text) != two.text or self.back.get(back, one.text) != one.text:
                self.undo(added)
                return None
            if forth not in self.there:
                self.there[forth], self.back[back] = two.text, one.text
                added.append((forth, back))
        return added

    def undo(self, added: list[tuple[Key, Key]]) -> None:
        for forth, back in added:
            del self.there[forth], self.back[back]


def match_assertions(
    old: Sequence[Assertion], new: Sequence[Assertion], renamed: RenamedWords = NOTHING_RENAMED
) -> dict[int, int]:
    """Maps the index of each matched old assertion to the index of the new one."""
    choices = _candidates(old, new)
    # Assertions with the fewest candidates come first, since they decide the renaming for the others.
    order = sorted(range(len(old)), key=lambda at: (len(choices[at]), at))
    search = _Search(old, new, choices, order, _Renaming(renamed))
    if all(choices) and len(old) <= _DEEP and search.fits(0):
        return search.used
    return _first_fit(search)


def _candidates(old: Sequence[Assertion], new: Sequence[Assertion]) -> list[list[int]]:
    """New assertions of the same shape; those in the same function and with the same names come first."""
    by_shape: dict[str, list[int]] = defaultdict(list)
    for at, assertion in enumerate(new):
        by_shape[assertion.shape].append(at)

    def nearness(assertion: Assertion, at: int) -> tuple[bool, bool, int]:
        return new[at].scope != assertion.scope, new[at].names != assertion.names, at

    return [sorted(by_shape[a.shape], key=partial(nearness, a)) for a in old]


@dataclass(slots=True)
class _Search:
    old: Sequence[Assertion]
    new: Sequence[Assertion]
    choices: list[list[int]]
    order: list[int]
    renaming: _Renaming
    used: dict[int, int] = field(default_factory=dict)
    """Maps old indexes to new ones."""
    taken: set[int] = field(default_factory=set)
    steps: int = 0

    def fits(self, level: int) -> bool:
        if level == len(self.order):
            return True
        at = self.order[level]
        for choice in self.choices[at]:
            self.steps += 1
            if self.steps > _STEPS:
                return False
            if (
                choice in self.taken
                or (added := self.renaming.extend(self.old[at], self.new[choice])) is None
            ):
                continue
            self.used[at] = choice
            self.taken.add(choice)
            if self.fits(level + 1):
                return True
            del self.used[at]
            self.taken.discard(choice)
            self.renaming.undo(added)
        return False


def _first_fit(search: _Search) -> dict[int, int]:
    old, new, choices = search.old, search.new, search.choices
    left = sorted(search.order, key=lambda at: all(new[c].names != old[at].names for c in choices[at][:1]))
    renaming, used, taken = _Renaming(search.renaming.known), dict[int, int](), set[int]()
    # Assertions that kept their names or did not move come first, so that findings name those that changed.
    for moved in (False, True):
        lost = []
        for at in left:
            near = (c for c in choices[at] if c not in taken and (moved or new[c].scope == old[at].scope))
            fit = next((c for c in near if renaming.extend(old[at], new[c]) is not None), None)
            if fit is None:
                lost.append(at)
            else:
                used[at] = fit
                taken.add(fit)
        left = lost
    return used
