"""Chance, as the core is given it: it draws, and does not know from where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

T = TypeVar("T")


class Chance(Protocol):
    """A `random.Random`, of the system in a verdict and seeded in a test."""

    def choice(self, seq: Sequence[T], /) -> T: ...

    def sample(self, population: Sequence[T], k: int) -> list[T]: ...

    def shuffle(self, x: MutableSequence[Any], /) -> None: ...

    def randint(self, a: int, b: int) -> int: ...

    def random(self) -> float: ...
