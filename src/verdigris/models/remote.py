"""A model at a server: retries, learns what the server rejects, and checks that it answers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import TYPE_CHECKING, NoReturn, assert_never

from verdigris.core.errors import ContextOverflow, ModelMisused, ModelUnavailable
from verdigris.core.value import replace
from verdigris.models.failure import Meaning, ModelFailure, Patience
from verdigris.models.protocol import Ask, Message, ModelReply, Usage
from verdigris.models.providers import Endpoint, Scrubber, key_of, key_variables
from verdigris.models.request import Abilities, Counter, estimate_ask, request_of

if TYPE_CHECKING:
    from verdigris.models.client import AnswerStream, ModelClient


class RemoteModel(AbstractContextManager["RemoteModel"]):
    def __init__(
        self,
        endpoint: Endpoint,
        *,
        environ: Mapping[str, str] | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        sleep: Callable[[float], object] = time.sleep,
        notice: Callable[[str], object] = lambda _: None,
        hear: Callable[[str], object] | None = None,
    ) -> None:
        """`notice` gets the reason and length of each wait; `hear` gets an answer's lines as they come."""
        self.endpoint = endpoint
        self.counter = Counter()
        self._environ = os.environ if environ is None else environ
        self._patience = patience
        self._sleep, self._notice = sleep, notice
        self._scrub = Scrubber((*key_variables(), endpoint.api_key_env), self._environ)
        self._hear = None if hear is None else lambda text: hear(self._scrub(text))
        self._abilities: dict[bool, Abilities] = {}
        self._client: ModelClient | None = None

    @property
    def name(self) -> str:
        return self.endpoint.word

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def ask(self, ask: Ask) -> ModelReply:
        key = key_of(self.endpoint, self._environ)
        tried = 1
        while isinstance(heard := self._once(ask, key), ModelFailure):
            if heard.feature is not None:
                continue
            delay = self._patience.delay(tried, heard.after)
            if heard.meaning is not Meaning.AGAIN or delay is None:
                self._give_up(heard, tried)
            tried += 1
            self._notice(self._scrub(f"{heard.words}; try {tried} in {delay:.0f} s"))
            self._sleep(delay)
        return self._reply(heard, ask, tried)

    def _once(self, ask: Ask, key: str) -> AnswerStream | ModelFailure:
        # Some servers take a schema, and tools, but not both.
        both = bool(ask.tools)
        abilities = self._abilities.setdefault(both, Abilities())
        request = request_of(self.endpoint, ask, abilities)
        heard = self._open_client().complete(request, key, self._hear)
        if isinstance(heard, ModelFailure) and heard.feature == "tools" and ask.needs_tools:
            return ModelFailure(Meaning.MISUSED, heard.words, "name a model that calls tools")
        if isinstance(heard, ModelFailure) and heard.feature is not None:
            self._abilities[both] = abilities.without(heard.feature)
        return heard

    def _open_client(self) -> ModelClient:
        if self._client is None:
            from verdigris.models.client import ModelClient

            self._client = ModelClient(self.endpoint)
        return self._client

    def _give_up(self, failure: ModelFailure, tried: int) -> NoReturn:
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

    def _reply(self, hearing: AnswerStream, ask: Ask, tried: int) -> ModelReply:
        if hearing.empty and hearing.finish == "length":
            raise ContextOverflow(
                f"{self.endpoint.shown} had no room left for an answer",
                hint="show the model less, or raise max_tokens",
            )
        reply = hearing.reply()
        said = reply.text + "".join(call.arguments for call in reply.calls)
        if reply.usage.estimated:
            usage = Usage(
                self.counter.count_ask(ask), 0, self.counter.count(said), estimated=True, cache_known=False
            )
        else:
            usage = reply.usage
            self.counter.learn(estimate_ask(ask), usage.prompt)
        return replace(reply, usage=usage, model=reply.model or self.endpoint.model, tries=tried)


def _later(failure: ModelFailure) -> str:
    wait = f" in {failure.after:.0f} s" if failure.after else ""
    return f"run again{wait} when the server answers: nothing is lost; `tdd doctor` checks it"


SECONDS = 10.0
_SHOWN = 8
_START = "start the server, or correct base_url in tdd.yaml"
_ONE_TOKEN = Ask((Message("user", "Say yes."),))


def check(endpoint: Endpoint, environ: Mapping[str, str] | None = None, *, seconds: float = SECONDS) -> None:
    """Raises an error that says what is wrong, unless the server answers."""
    from verdigris.models.client import ModelClient

    environ = os.environ if environ is None else environ
    endpoint = replace(endpoint, timeout=min(seconds, endpoint.timeout))
    key = key_of(endpoint, environ)
    with closing(ModelClient(endpoint)) as client:
        listed = client.models(key)
    if isinstance(listed, tuple):
        _require_listed(endpoint, listed)
    elif listed.meaning is Meaning.AGAIN:
        scrub = Scrubber((*key_variables(), endpoint.api_key_env), environ)
        raise ModelUnavailable(scrub(listed.words), hint=listed.hint or _START)
    else:
        _ask_for_a_token(endpoint, environ)


def _require_listed(endpoint: Endpoint, listed: Sequence[str]) -> None:
    """Servers list `llama3` as `llama3:latest`, or behind `models/`."""
    names = {
        name for full in listed for name in (full, full.removesuffix(":latest"), full.removeprefix("models/"))
    }
    if endpoint.model not in names:
        some = ", ".join(listed[:_SHOWN]) + (", …" if len(listed) > _SHOWN else "")
        raise ModelMisused(
            f"the server answers, and does not list the model {endpoint.shown}",
            hint=f"it lists {some}" if listed else "it lists none",
        )


def _ask_for_a_token(endpoint: Endpoint, environ: Mapping[str, str]) -> None:
    """Asks a server that does not list its models; a refusal says what is wrong."""
    with (
        RemoteModel(replace(endpoint, max_tokens=1), environ=environ, patience=Patience(tries=1)) as model,
        suppress(ContextOverflow),  # the token went into reasoning
    ):
        model.ask(_ONE_TOKEN)
