"""Whether one set of assertions is another up to a consistent, one-to-one renaming."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.languages.python.testfile import Assertion

_STEPS = 20_000
"""Work after which the search gives up and takes the first fit."""
_DEEP = 400
"""Assertions that one search may hold; each is a level of recursion."""

Key = tuple[str, str, str]


@dataclass(slots=True)
class _Renaming:
    """Global names have one meaning in the whole change, local ones within one pair of functions."""

    there: dict[Key, str] = field(default_factory=dict)
    back: dict[Key, str] = field(default_factory=dict)

    def extend(self, old: Assertion, new: Assertion) -> list[tuple[Key, Key]] | None:
        """Take in one pair and say what was added; None, and nothing changed, when it contradicts."""
        added: list[tuple[Key, Key]] = []
        for one, two in zip(old.names, new.names, strict=True):
            pair = (old.scope, new.scope) if one.local else ("", "")
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


def unmatched(old: Sequence[Assertion], new: Sequence[Assertion]) -> list[int]:
    """Indexes of old assertions that no new one matches, one to one, under a single renaming."""
    pairs = matched(old, new)
    return [at for at in range(len(old)) if at not in pairs]


def matched(old: Sequence[Assertion], new: Sequence[Assertion]) -> dict[int, int]:
    """Which new assertion stands for which old one, by index."""
    choices = _choices(old, new)
    # The fewest choices first: they decide the renaming for the others.
    order = sorted(range(len(old)), key=lambda at: (len(choices[at]), at))
    search = _Search(old, new, choices, order)
    if all(choices) and len(old) <= _DEEP and search.fits(0):
        return search.used
    return _first_fit(old, new, choices, order)


def _choices(old: Sequence[Assertion], new: Sequence[Assertion]) -> list[list[int]]:
    """Candidates of the same shape: those in the same function, with the same names, before the others."""
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
    renaming: _Renaming = field(default_factory=_Renaming)
    used: dict[int, int] = field(default_factory=dict)
    """By old index, the new one."""
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


def _first_fit(
    old: Sequence[Assertion], new: Sequence[Assertion], choices: list[list[int]], order: list[int]
) -> dict[int, int]:
    renaming, used, left = _Renaming(), dict[int, int](), order
    taken: set[int] = set()
    # What stayed where it was is settled first, so that the findings name what did change.
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
