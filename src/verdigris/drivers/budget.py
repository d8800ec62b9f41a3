"""Counts the tokens and the cost of a run against its limits, and how much of each prompt was sent before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from verdigris.core.settings import Prices
from verdigris.core.value import value
from verdigris.drivers.happenings import Asked, Noted, Watcher
from verdigris.models.protocol import Ask, Model, ModelReply, Usage
from verdigris.models.request import Share, prefix_share, whole_share
from verdigris.models.roles import Role

_LONG = 4_000
"""A prompt of so many tokens may be too long for a server's default context."""
_MILLION = 1_000_000
_HOUR = 3600.0


@value
class Limits:
    """The limits at which a run ends; 0: no limit."""

    rounds: int = 0
    """Turns of a session, iterations of a program."""
    tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0


@value
class Spent:
    """What a run has used so far."""

    rounds: int = 0
    tokens: int = 0
    money: float | None = 0.0
    """None: no prices are configured."""
    seconds: float = 0.0


def reached_limit(limits: Limits, spent: Spent, round_name: str) -> str:
    """The limit that is reached, in words; empty if none is."""
    if limits.rounds and spent.rounds >= limits.rounds:
        made = f"1 {round_name}" if limits.rounds == 1 else f"{limits.rounds} {round_name}s"
        return f"the limit of {made} is reached"
    if limits.seconds and spent.seconds >= limits.seconds:
        return f"{_duration(spent.seconds)} have passed, and the limit is {_duration(limits.seconds)}"
    if limits.tokens and spent.tokens >= limits.tokens:
        return f"{spent.tokens} tokens are used, and the limit is {limits.tokens}"
    if limits.money and spent.money is not None and spent.money >= limits.money:
        return f"{spent.money:.4g} is spent, and the limit is {limits.money:g}"
    return ""


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < _HOUR else f"{seconds / _HOUR:.1f} hours"


def cost_of(usage: Usage, prices: Prices) -> float:
    """If a server does not say how much was cached, everything counts as uncached."""
    cached = usage.cached if usage.cache_known else 0
    rate = prices.input if prices.cached is None else prices.cached
    fresh = (usage.prompt - cached) * prices.input
    return (fresh + cached * rate + usage.completion * prices.output) / _MILLION


class StepTokens(TypedDict):
    """The fields of `StepEnded` that count tokens."""

    prompt: int
    cached: int
    completion: int


def as_tokens(used: Usage) -> StepTokens:
    return {"prompt": used.prompt, "cached": used.cached, "completion": used.completion}


@value
class MeteredCall:
    ask: Ask
    usage: Usage
    share: Share


class BudgetUsedUp(Exception):
    """The budget does not cover another call; a resumed run tries the step again."""


class Meter:
    """What one run uses: tokens, and money if each role that is asked has a price."""

    def __init__(self, limit: int, watch: Watcher, prices: Mapping[str, Prices] | None = None) -> None:
        """`limit`: of tokens; `prices`: by role."""
        self.usage = Usage()
        self.cost: float | None = 0.0 if prices else None
        """None: unknown, because a role that was asked has no price."""
        self._prices = prices or {}
        self.shares: list[Share] = []
        self._limit = limit
        self._watch = watch
        self._doubted = False
        self._before: dict[str, Ask] = {}
        """By model, its last prompt: roles with the same model share a provider's cache."""

    @property
    def tokens(self) -> int:
        return self.usage.prompt + self.usage.completion

    @property
    def prefix(self) -> float:
        return whole_share(self.shares).share

    def meter_model(self, model: Model, step: int, role: Role) -> Metered:
        return Metered(self, model, step, role.name)

    def ask_model(self, model: Model, ask: Ask, step: int, role: str) -> tuple[ModelReply, Share]:
        if self._limit and self.tokens >= self._limit:
            raise BudgetUsedUp(f"the budget of {self._limit} tokens is used up ({self.tokens} were used)")
        share = prefix_share(self._before.get(model.name), ask)
        reply = model.ask(ask)
        self._before[model.name] = ask
        self.shares.append(share)
        self.usage += reply.usage
        used, prices = reply.usage, self._prices.get(role)
        self.cost = None if self.cost is None or prices is None else self.cost + cost_of(used, prices)
        self._doubt(used, share)
        counts, prefix = (used.prompt, used.cached, used.completion), round(share.share, 4)
        self._watch(Asked(step, role, *counts, prefix, self.tokens, used.cache_known, self.cost))
        return reply, share

    def _doubt(self, used: Usage, share: Share) -> None:
        """Notes once that the server seems to cut long prompts."""
        if self._doubted or used.estimated or share.prompt < _LONG or used.prompt > share.prompt / 2:
            return
        self._doubted = True
        seen = f"the server counted {used.prompt} tokens in a prompt of about {share.prompt}"
        self._watch(Noted(f"{seen}: is its context large enough? (Ollama: OLLAMA_CONTEXT_LENGTH)"))


class Metered:
    """A model whose calls in one step are counted."""

    def __init__(self, meter: Meter, model: Model, step: int, role: str) -> None:
        self.calls: list[MeteredCall] = []
        self._meter, self._model, self._step, self._role = meter, model, step, role

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self.calls), Usage())

    def ask(self, ask: Ask) -> ModelReply:
        reply, share = self._meter.ask_model(self._model, ask, self._step, self._role)
        self.calls.append(MeteredCall(ask, reply.usage, share))
        return reply
