"""What accepted code owes: decisions that no test notices, and lines that no test runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from zlib import crc32

from verdigris.core.value import field, replace, value

UNASKED = "unasked: "
"""Before a place that no test runs, where that refuses a verdict."""
INSTEAD = " instead of "
"""Between a body that knows nothing and the one that it replaces."""
_SHOWN = 3


@value
class Debt:
    """It is known by its content: it stays when lines above it move, and ends when the code is gone."""

    path: str
    line: int
    """Where it stood when it was found."""
    what: str
    """The code that decides, or that no test runs, on one line."""
    change: str
    """What a mutant makes of it, and no test notices; empty: no test runs it at all."""
    was: str
    """The lines of the file that the mutant changes."""
    now: str
    """The same lines in the mutant."""
    seq: int = 0
    """The event that recorded it."""
    shown: str = ""
    """What a person reads of it, if not the code."""
    tests: Mapping[str, str] = field(default_factory=dict)
    """Files with tests that notice it and are not accepted yet, by blob: it is open again if one changes."""

    @property
    def is_body(self) -> bool:
        """Whether a whole body would do that knows nothing."""
        return INSTEAD in self.shown

    @property
    def id(self) -> str:
        content = f"{self.path}: {self.what}: {self.change}"
        return f"d{crc32(content.encode('utf-8', 'surrogateescape')):08x}"

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def is_noticed(self, blobs: Mapping[str, str]) -> bool:
        """Whether the tests that noticed it are as they were. `blobs`: by path."""
        return bool(self.tests) and all(blobs.get(path) == blob for path, blob in self.tests.items())

    @property
    def payment(self) -> str:
        """What pays it, as a move of whoever wrote the code."""
        does = "notices" if self.change else "runs"
        return f"add a case that {does} {self._shown} in {self.place}"

    def __str__(self) -> str:
        does, instead = ("notices", "add a case that does") if self.change else ("runs", "claim a red for it")
        return f"no test {does} {self._shown} in {self.place}: {instead}, or take it out"

    @property
    def _shown(self) -> str:
        return self.shown or f"`{self.what}`"


def make_debt(path: str, line: int, what: str, change: str, texts: tuple[str, str]) -> Debt:
    """`texts`: the whole file, and the whole mutant."""
    old, new = (text.splitlines(keepends=True) for text in texts)
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    same = 0
    while same < shorter - first and old[-1 - same] == new[-1 - same]:
        same += 1
    first -= first > 0 and first == len(old) - same  # what is only added is found by the line before it
    was, now = ("".join(lines[first : len(lines) - same]) for lines in (old, new))
    return Debt(path, line, what, change, was, now)


def apply_debt(debt: Debt, text: str) -> str | None:
    """The mutant of today's text; None if its lines are gone. Of several places the nearest counts."""
    places = [at for at in _line_starts(text) if text.startswith(debt.was, at)]
    if not places:
        return None
    near = min(places, key=lambda at: abs(text.count("\n", 0, at) + 1 - debt.line))
    return text[:near] + debt.now + text[near + len(debt.was) :]


def is_there(debt: Debt, text: str) -> bool:
    """Whether the code still stands in the text, however it is laid out."""
    what = debt.what.removesuffix("…")
    return debt.was in text or "".join(what.split()) in "".join(text.split())


def list_debts(debts: Iterable[Debt]) -> tuple[str, ...]:
    """A line for each place; the bodies that would do instead of one function's stand in one line."""
    lines: dict[str, list[Debt]] = {}
    for debt in debts:
        key = f"{debt.place} {debt.what}" if debt.is_body else str(debt)
        lines.setdefault(key, []).append(debt)
    return tuple(
        str(replace(alike[0], shown=_name_bodies(alike)))
        if len(alike) > 1 and alike[0].is_body
        else str(alike[0])
        for alike in lines.values()
    )


@value
class WeakReds:
    weak: Mapping[str, tuple[Debt, ...]] = field(default_factory=dict)
    """By native id: the bodies with which the red passes."""
    untried: int = 0
    """Bodies for which the time was too short; the settlement tries them."""

    def lines(self) -> tuple[str, ...]:
        """What a person reads: one line for each function that a red calls."""
        return tuple(
            _describe_weak(test, tuple(alike))
            for test, debts in self.weak.items()
            for _, alike in groupby(debts, key=lambda debt: (debt.path, debt.what))
        )


def _describe_weak(test: str, debts: Sequence[Debt]) -> str:
    """`debts`: bodies of one function with which the red passes."""
    return f"weak: {_name_bodies(debts)} in {debts[0].place} passes {test}: assert what comes out"


def _name_bodies(debts: Sequence[Debt]) -> str:
    bodies = [debt.shown.partition(INSTEAD)[0] for debt in debts]
    if len(bodies) > _SHOWN:
        bodies = [*bodies[:_SHOWN], f"{len(bodies) - _SHOWN} more"]
    named = " or ".join(filter(None, (", ".join(bodies[:-1]), bodies[-1])))
    return f"{named}{INSTEAD}{debts[0].shown.partition(INSTEAD)[2]}"


def _line_starts(text: str) -> Iterator[int]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield at
        at += len(line)
