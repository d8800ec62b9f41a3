"""Which literals of a change are new, which were only moved, and which are a copy of what was there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence


@value
class Literal:
    value: str
    place: str
    """What stands right around it, without names and other literals."""


@value
class Surplus:
    found: dict[int, bool]
    """Literals after the change, by index, that no literal from before stands for; true for a mere copy."""
    left: tuple[int, ...]
    """Literals before the change, by index, that stand nowhere now."""


def compare_literals(old: Sequence[Literal], new: Sequence[Literal]) -> Surplus:
    """One to one: first those in the same place, then those that moved.

    A copy of a value that the code knew is weak, unless another value went from just such a place: that is a
    constant that was changed.
    """
    after = _without(list(range(len(new))), [(one.value, one.place) for one in new], old, by_place=True)
    before = _without(list(range(len(old))), [(one.value, one.place) for one in old], new, by_place=True)
    olds, news = [old[at] for at in before], [new[at] for at in after]
    found = _without(after, [(one.value, "") for one in news], olds, by_place=False)
    left = _without(before, [(one.value, "") for one in olds], news, by_place=False)
    values, emptied = {one.value for one in old}, {old[at].place for at in left}
    weak = {at: new[at].value in values and new[at].place not in emptied for at in found}
    return Surplus(weak, tuple(left))


def _without(
    indexes: list[int], keys: list[tuple[str, str]], others: Sequence[Literal], *, by_place: bool
) -> list[int]:
    had = Counter((one.value, one.place if by_place else "") for one in others)
    kept = []
    for at, key in zip(indexes, keys, strict=True):
        had[key] -= 1
        if had[key] < 0:
            kept.append(at)
    return kept
