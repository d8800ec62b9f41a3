"""The limits of a session, what it costs, and the ways in which it ends."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.models.protocol import Usage

MILLION = 1_000_000


class End(StrEnum):
    DONE = "done"
    REFUSED = "refused-by-the-law"
    """The model stopped, and what it left is not accepted; or repairs of one red were used up."""
    LIMIT = "limit-reached"
    PROVIDER = "no-model"
    INTERRUPTED = "interrupted"


EXIT_CODES = {End.DONE: 0, End.REFUSED: 1, End.LIMIT: 3, End.PROVIDER: 69, End.INTERRUPTED: 130}


@value
class Prices:
    """What a million tokens cost, in whatever currency."""

    input: float
    output: float
    cached: float | None = None
    """None: as `input`."""

    def cost(self, usage: Usage) -> float:
        """Where a server does not say what was cached, all counts as read anew: rather too much."""
        cached = usage.cached if usage.cache_known else 0
        rate = self.input if self.cached is None else self.cached
        fresh = (usage.prompt - cached) * self.input
        return (fresh + cached * rate + usage.completion * self.output) / MILLION


@value
class Limits:
    """0 is no limit."""

    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


@value
class Spent:
    turns: int
    tokens: int
    cost: float | None
    """None where no prices are configured."""
    seconds: float


def reached_limit(limits: Limits, spent: Spent) -> str:
    """Which limit is reached, in words; empty where none is."""
    if limits.turns and spent.turns >= limits.turns:
        return f"{spent.turns} turns were made (--max-turns)"
    if limits.tokens and spent.tokens >= limits.tokens:
        return f"{spent.tokens} tokens were used of {limits.tokens} (--max-tokens)"
    if limits.cost and spent.cost is not None and spent.cost >= limits.cost:
        return f"{spent.cost:.4f} was spent of {limits.cost:g} (--max-cost)"
    if limits.seconds and spent.seconds >= limits.seconds:
        return f"{spent.seconds:.0f} s have passed (--timeout)"
    return ""
