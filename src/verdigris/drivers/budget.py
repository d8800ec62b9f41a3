"""Counts the tokens of a run against its budget, and the share of each prompt that was sent before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.drivers.happenings import Asked, Noted
from verdigris.models.protocol import Usage
from verdigris.models.request import Share, prefix_share, whole_share

if TYPE_CHECKING:
    from verdigris.drivers.happenings import Watcher
    from verdigris.models.protocol import Ask, Model, ModelReply
    from verdigris.models.roles import Role

_LONG = 4_000
"""Tokens, from which on a default context may be too small."""


@value
class MeteredCall:
    ask: Ask
    usage: Usage
    share: Share


class BudgetUsedUp(Exception):
    """Before a call that the budget does not cover any more; a resumed run tries the step again."""


class Meter:
    """The token meter of one run."""

    def __init__(self, limit: int, watch: Watcher) -> None:
        self.usage = Usage()
        self.shares: list[Share] = []
        self._limit = limit
        self._watch = watch
        self._doubted = False
        self._before: dict[str, Ask] = {}
        """By model: a cache is a provider's, and several roles may have the same."""

    @property
    def tokens(self) -> int:
        return self.usage.prompt + self.usage.completion

    @property
    def prefix(self) -> float:
        return whole_share(self.shares).share

    def metered(self, model: Model, step: int, role: Role) -> Metered:
        return Metered(self, model, step, role.name)

    def ask_model(self, model: Model, ask: Ask, step: int, role: str) -> tuple[ModelReply, Share]:
        if self._limit and self.tokens >= self._limit:
            raise BudgetUsedUp(f"the budget of {self._limit} tokens is used up ({self.tokens} were used)")
        share = prefix_share(self._before.get(model.name), ask)
        reply = model.ask(ask)
        self._before[model.name] = ask
        self.shares.append(share)
        self.usage += reply.usage
        used = reply.usage
        self._doubt(used, share)
        self._watch(
            Asked(
                step,
                role,
                used.prompt,
                used.cached,
                used.completion,
                round(share.share, 4),
                self.tokens,
                used.cache_known,
            )
        )
        return reply, share

    def _doubt(self, used: Usage, share: Share) -> None:
        """Some servers cut a long prompt without a word; said once."""
        if self._doubted or used.estimated or share.prompt < _LONG or used.prompt > share.prompt / 2:
            return
        self._doubted = True
        seen = f"the server counted {used.prompt} tokens in a prompt of about {share.prompt}"
        self._watch(Noted(f"{seen}: is its context large enough? (Ollama: OLLAMA_CONTEXT_LENGTH)"))


class Metered:
    """A model whose every call of one step is counted."""

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
