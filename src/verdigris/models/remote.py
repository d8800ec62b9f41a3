"""A model at a server: asks it, patiently, and learns what the server does not take."""

from __future__ import annotations

import os
import random
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Self, assert_never

from verdigris.core.errors import ContextOverflow, ModelMisused, ModelUnavailable
from verdigris.models.counting import Counter, estimate_ask
from verdigris.models.failure import Failure, Meaning
from verdigris.models.keys import key_of
from verdigris.models.patience import Patience
from verdigris.models.protocol import Usage
from verdigris.models.providers import key_variables
from verdigris.models.request import Abilities, request_of
from verdigris.models.secrets import Scrubber

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verdigris.models.client import Client
    from verdigris.models.endpoint import Endpoint
    from verdigris.models.hearing import Hearing
    from verdigris.models.protocol import Ask, Reply


class Remote(AbstractContextManager["Remote"]):
    def __init__(
        self,
        endpoint: Endpoint,
        *,
        environ: Mapping[str, str] | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        sleep: Callable[[float], object] = time.sleep,
        jitter: Callable[[], float] = random.random,
        notice: Callable[[str], object] = lambda _: None,
    ) -> None:
        """`notice` is told why and how long is waited, while it is."""
        self.endpoint = endpoint
        self.counter = Counter()
        self._environ = os.environ if environ is None else environ
        self._patience = patience
        self._sleep, self._jitter, self._notice = sleep, jitter, notice
        self._scrub = Scrubber((*key_variables(), endpoint.api_key_env), self._environ)
        self._abilities: dict[bool, Abilities] = {}
        self._client: Client | None = None

    @property
    def name(self) -> str:
        return self.endpoint.word

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def ask(self, ask: Ask) -> Reply:
        key = key_of(self.endpoint, self._environ)
        tried = 1
        while isinstance(heard := self._once(ask, key), Failure):
            if heard.feature is not None:
                continue
            delay = self._patience.delay(tried, heard.after, self._jitter())
            if heard.meaning is not Meaning.AGAIN or delay is None:
                self._give_up(heard, tried)
            tried += 1
            self._notice(self._scrub(f"{heard.words}; try {tried} in {delay:.0f} s"))
            self._sleep(delay)
        return self._reply(heard, ask, tried)

    def _once(self, ask: Ask, key: str) -> Hearing | Failure:
        # Some servers take a schema, and tools, but not both.
        both = bool(ask.tools)
        abilities = self._abilities.setdefault(both, Abilities())
        heard = self._opened().complete(request_of(self.endpoint, ask, abilities), key)
        if isinstance(heard, Failure) and heard.feature is not None:
            self._abilities[both] = abilities.without(heard.feature)
        return heard

    def _opened(self) -> Client:
        if self._client is None:
            from verdigris.models.client import Client

            self._client = Client(self.endpoint)
        return self._client

    def _give_up(self, failure: Failure, tried: int) -> NoReturn:
        words = self._scrub(failure.words)
        hint = self._scrub(failure.hint) or None
        match failure.meaning:
            case Meaning.OVERFLOW:
                raise ContextOverflow(words, hint=hint or "show the model less, or take one that reads more")
            case Meaning.MISUSED:
                raise ModelMisused(words, hint=hint)
            case Meaning.AGAIN | Meaning.UNAVAILABLE | Meaning.LESS:
                times = f" ({tried} tries)" if tried > 1 else ""
                raise ModelUnavailable(words + times, hint=hint or _later(failure))
            case _:
                assert_never(failure.meaning)

    def _reply(self, hearing: Hearing, ask: Ask, tried: int) -> Reply:
        if hearing.empty and hearing.finish == "length":
            raise ContextOverflow(
                f"{self.endpoint.shown} had no room left for an answer",
                hint="show the model less, or raise max_tokens",
            )
        reply = hearing.reply()
        said = reply.text + "".join(call.arguments for call in reply.calls)
        if reply.usage.estimated:
            usage = Usage(self.counter.count_ask(ask), 0, self.counter.count(said), estimated=True)
        else:
            usage = reply.usage
            self.counter.learn(estimate_ask(ask), usage.prompt)
        return replace(reply, usage=usage, model=reply.model or self.endpoint.model, tries=tried)


def _later(failure: Failure) -> str:
    wait = f" in {failure.after:.0f} s" if failure.after else ""
    return f"run again{wait} when the server answers: nothing is lost; `tdd doctor` checks it"
