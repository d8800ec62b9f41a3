"""Compares the literals of a change, and changes the inputs of tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

from verdigris.core.report import Status
from verdigris.core.value import value
from verdigris.core.verdict import first_line
from verdigris.languages.pairing import pair_up
from verdigris.languages.probes import ByteEdit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableSequence, Sequence

    from verdigris.core.report import TestReport, TestResult, VariantOutcome


T = TypeVar("T")


class Chance(Protocol):
    """The part of `random.Random` that is used here: the system's in a verdict, a seeded one in tests."""

    def choice(self, seq: Sequence[T], /) -> T: ...

    def sample(self, population: Sequence[T], k: int) -> list[T]: ...

    def shuffle(self, x: MutableSequence[Any], /) -> None: ...

    def randint(self, a: int, b: int) -> int: ...

    def random(self) -> float: ...


@value
class Literal:
    value: str
    place: str
    """The code right around it, without names and other literals."""


@value
class Surplus:
    found: dict[int, bool]
    """Indexes of literals that are new; True if the literal only copies a value that was there before."""
    left: tuple[int, ...]
    """Indexes of old literals that are gone."""


_LONGEST_LINE = 160


def one_line(text: str) -> str:
    """Makes a text one printable line that is short enough to be put into code."""
    words = "".join(sign if sign.isprintable() else " " for sign in text).split()
    line = " ".join(words)
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..."


def quote_line(text: str) -> str:
    """Writes one line as a string literal that Python, JavaScript, Go and Rust all accept."""
    escaped = one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def compare_literals(old: Sequence[Literal], new: Sequence[Literal]) -> Surplus:
    """Pairs literals one to one, first those in the same place, then those that moved; returns the rest.

    A new literal that copies a known value counts as a mere copy, unless an old literal in such a place is
    gone: then a constant was changed.
    """
    pairs = pair_up(old, new, lambda one: (one.value, one.place), lambda one: one.value)
    kept = frozenset(pairs.values())
    left = tuple(at for at in range(len(old)) if at not in kept)
    values, emptied = {one.value for one in old}, {old[at].place for at in left}
    fresh = (at for at in range(len(new)) if at not in pairs)
    return Surplus({at: new[at].value in values and new[at].place not in emptied for at in fresh}, left)


_WORD = re.compile(r"\w+")


@value
class RenamedWords:
    """Which names may have become which: a literal that follows a renaming is the same."""

    places: tuple[tuple[frozenset[str], frozenset[str]], ...]
    """The names that only the old and those that only the new text has, of each place and of all together."""

    @classmethod
    def of(cls, old: Mapping[str, frozenset[str]], new: Mapping[str, frozenset[str]]) -> RenamedWords:
        """`old`, `new`: the names by place: a file, a class."""
        both = [(old[path], new[path]) for path in old.keys() & new.keys()]
        both.append((frozenset().union(*old.values()), frozenset().union(*new.values())))
        return cls(tuple((before - after, after - before) for before, after in both))

    def has(self, old: str, new: str) -> bool:
        return old == new or any(old in gone and new in fresh for gone, fresh in self.places)

    def covers(self, old: Literal, new: Literal) -> bool:
        words, others = _WORD.findall(old.value), _WORD.findall(new.value)
        return (
            old.place == new.place
            and _WORD.sub("", old.value) == _WORD.sub("", new.value)
            and len(words) == len(others)
            and all(self.has(a, b) for a, b in zip(words, others, strict=True))
        )


NOTHING_RENAMED = RenamedWords(())
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


@value
class Replaced(ByteEdit):
    """A literal and its replacement."""

    line: int
    was: str


@value
class EndOfTest:
    """How a test ended, reduced to what can be compared between two trees."""

    status: Status
    what: str = ""


def other_value(found: object, lot: Chance) -> object:
    """Draws another value of the same type that is near the given one."""
    match found:
        case int() | float():
            return lot.choice([one for one in (found + 1, found - 1, 0) if one != found])
        case str():
            return lot.choice([one for one in _other_texts(found, lot) if one != found])
        case _:
            return found


def _other_texts(text: str, lot: Chance) -> Iterator[str]:
    at = lot.randint(0, len(text) - 1) if text else 0
    yield f"{text}{text[:1] or 'x'}"
    yield text[:at] + text[at + 1 :]
    yield text.swapcase()
    yield text[1:2] + text[:1] + text[2:]
    yield ""
    yield f"{text} {text}"


def answers(report: TestReport) -> dict[str, EndOfTest]:
    return {result.native_id: _end_of_test(result) for result in report.results}


def variant_answers(outcome: VariantOutcome) -> dict[str, EndOfTest]:
    """The same, of one run of a set."""
    statuses = {"passed": Status.PASS, "skipped": Status.SKIP}
    return {
        test: _failed(outcome.messages.get(test)) if how == "failed" else EndOfTest(statuses[how])
        for test, how in outcome.outcomes.items()
    }


def _end_of_test(result: TestResult) -> EndOfTest:
    failure = result.failure
    if failure is None or result.status is not Status.FAIL:
        return EndOfTest(result.status)
    return _failed(failure.message if failure.assertion else None)


def _failed(message: str | None) -> EndOfTest:
    """`message`: the assertion's. Input that makes no sense may raise another error after an honest change.

    So all errors count as one.
    """
    what = "an error" if message is None else _ADDRESS.sub("…", first_line(message))
    return EndOfTest(Status.FAIL, what)


def differences(
    before: Mapping[str, EndOfTest], after: Mapping[str, EndOfTest]
) -> dict[str, tuple[EndOfTest, EndOfTest]]:
    both = before.keys() & after.keys()
    return {name: (before[name], after[name]) for name in sorted(both) if before[name] != after[name]}


_LENGTH = 3
_COMMON = frozenset(
    {10, 12, 16, 20, 24, 25, 30, 31, 32, 50, 60, 64, 99, 100, 128, 255, 256, 365, 404, 500, 512}
)


def is_telling(found: object) -> TypeGuard[str | int | float | bytes]:
    """Whether a literal is so rare that source which holds it has copied it from a test."""
    match found:
        case bool() | None:
            return False
        case str() | bytes():
            return len(found) >= _LENGTH
        case int():
            return abs(found) >= 10 and abs(found) not in _COMMON and found % 1000 != 0  # noqa: PLR2004 - two digits
        case float():
            return found != int(found) if abs(found) < 1e15 else False  # noqa: PLR2004 - beyond it all are whole
        case _:
            return False
