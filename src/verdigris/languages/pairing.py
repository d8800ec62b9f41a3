"""Pairs what two texts have in common, one to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

T = TypeVar("T")


def pair_up(old: Sequence[T], new: Sequence[T], *keys: Callable[[T], Hashable]) -> dict[int, int]:
    """Maps the index of each new thing to that of its old one; things of an equal first key are paired first.

    Of several with the same key, the first are paired. A key is computed only for what is left.
    """
    pairs: dict[int, int] = {}
    left = list(range(len(old)))
    for key in keys:
        waiting: dict[Hashable, list[int]] = {}
        for at in left:
            waiting.setdefault(key(old[at]), []).append(at)
        for at, thing in enumerate(new):
            if at not in pairs and (fitting := waiting.get(key(thing))):
                pairs[at] = fitting.pop(0)
        left = sorted(at for fitting in waiting.values() for at in fitting)
    return pairs
