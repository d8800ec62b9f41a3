"""Whether a change of test files keeps every assertion, which the refactor phase asks for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

from verdigris.core.refactoring import Finding
from verdigris.core.value import value
from verdigris.languages.python.renaming import unmatched
from verdigris.languages.python.testfile import Assertion, TestFile, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@value
class _Test:
    path: str
    name: str
    line: int
    shapes: Counter[str]


def assertions(text: str) -> tuple[Assertion, ...]:
    """Every assertion of a test file in order; SyntaxError when it is no Python."""
    return read(text).assertions


def kept(
    before: Mapping[str, str], after: Mapping[str, str], reader: Reader | None = None
) -> tuple[Finding, ...]:
    """What the change loses: assertions, tests, data; and what it newly skips.

    Names may be renamed one to one and tests moved between files; files that are the same on both sides
    need not be given. `reader`: of languages besides Python.
    """
    reader = reader or _Python()
    old = {path: text for path, text in before.items() if after.get(path) != text}
    new = {path: text for path, text in after.items() if before.get(path) != text}
    then = {path: found for path, text in old.items() if (found := _read(path, text, reader)) is not None}
    now = {path: _read(path, text, reader) for path, text in new.items() if reader.reads(path)}
    unreadable = tuple(Finding(path, 1, "it does not parse") for path, found in now.items() if found is None)
    if unreadable:
        return unreadable
    readable = {path: found for path, found in now.items() if found is not None}
    return (
        *_lost_assertions(then, readable),
        *_lost_tests(then, readable),
        *_new_skips(then, readable),
        *_changed_data(*({p: t for p, t in side.items() if not reader.reads(p)} for side in (old, new))),
    )


class Reader(Protocol):
    def reads(self, path: str) -> bool: ...

    def read(self, path: str, text: str) -> TestFile:
        """SyntaxError where it does not parse."""
        ...


class _Python:
    def reads(self, path: str) -> bool:
        return path.endswith(".py")

    def read(self, path: str, text: str) -> TestFile:  # noqa: ARG002 - Python is Python under any name
        return read(text)


def _read(path: str, text: str, reader: Reader) -> TestFile | None:
    if not reader.reads(path):
        return None
    try:
        return reader.read(path, text)
    except SyntaxError:
        return None


def _lost_assertions(then: Mapping[str, TestFile], now: Mapping[str, TestFile]) -> Iterator[Finding]:
    old = [(path, assertion) for path, found in then.items() for assertion in found.assertions]
    new = [assertion for found in now.values() for assertion in found.assertions]
    for at in unmatched([assertion for _, assertion in old], new):
        path, assertion = old[at]
        yield Finding(path, assertion.line, f"no assertion matches `{assertion.what}` any more")


def _lost_tests(then: Mapping[str, TestFile], now: Mapping[str, TestFile]) -> Iterator[Finding]:
    """A test that is gone by name may be there under a new one, with all that it asserted."""
    old, new = list(_tests(then)), list(_tests(now))
    names = Counter(test.name for test in new)
    gone = [test for test in old if not _take(names, test.name)]
    known = Counter(test.name for test in old)
    fresh = [test for test in new if not _take(known, test.name)]
    for test in gone:
        heir = next((other for other in fresh if test.shapes <= other.shapes), None)
        if heir is None:
            yield Finding(test.path, test.line, f"{test.name} is gone")
        else:
            fresh.remove(heir)


def _take(counter: Counter[str], name: str) -> bool:
    counter[name] -= 1
    return counter[name] >= 0


def _tests(files: Mapping[str, TestFile]) -> Iterator[_Test]:
    for path, found in files.items():
        for name, line in found.tests:
            inside = (a.shape for a in found.assertions if a.scope == name or a.scope.startswith(f"{name}::"))
            yield _Test(path, name, line, Counter(inside))


def _new_skips(then: Mapping[str, TestFile], now: Mapping[str, TestFile]) -> Iterator[Finding]:
    known = Counter(mark.what for found in then.values() for mark in found.skips)
    for path, found in now.items():
        for mark in found.skips:
            if not _take(known, mark.what):
                yield Finding(path, mark.line, f"`{mark.what}` is new")


def _changed_data(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Finding]:
    contents = Counter(new.values())
    for path, text in old.items():
        if not _take(contents, text):
            yield Finding(path, 1, "its content changed")
