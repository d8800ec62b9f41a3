"""Does an endpoint answer, and does it know the model? Asked without spending tokens where that can be."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.errors import ContextOverflow, ModelMisused, VerdigrisError
from verdigris.core.value import value
from verdigris.models.failure import Meaning
from verdigris.models.keys import key_of
from verdigris.models.patience import Patience
from verdigris.models.protocol import Ask, Message
from verdigris.models.providers import key_variables
from verdigris.models.remote import Remote
from verdigris.models.secrets import Scrubber

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.models.endpoint import Endpoint

SECONDS = 10.0
_SHOWN = 8
_START = "start the server, or correct base_url in tdd.yaml"
_ONE_TOKEN = Ask((Message("user", "Say yes."),))


@value
class Checked:
    answers: bool
    words: str
    hint: str = ""


def check(
    endpoint: Endpoint, environ: Mapping[str, str] | None = None, *, seconds: float = SECONDS
) -> Checked:
    environ = os.environ if environ is None else environ
    quick = replace(endpoint, timeout=min(seconds, endpoint.timeout))
    try:
        return _check(quick, environ)
    except VerdigrisError as error:
        return Checked(answers=False, words=error.message, hint=error.hint or "")


def _check(endpoint: Endpoint, environ: Mapping[str, str]) -> Checked:
    from verdigris.models.client import Client

    key = key_of(endpoint, environ)
    client = Client(endpoint)
    try:
        listed = client.models(key)
    finally:
        client.close()
    if isinstance(listed, tuple):
        return _listed(endpoint, listed)
    if listed.meaning is Meaning.AGAIN:
        scrub = Scrubber((*key_variables(), endpoint.api_key_env), environ)
        return Checked(answers=False, words=scrub(listed.words), hint=listed.hint or _START)
    return _asked(endpoint, environ)


def _listed(endpoint: Endpoint, listed: Sequence[str]) -> Checked:
    """Servers list `llama3` as `llama3:latest`, or behind `models/`."""
    names = {
        name for full in listed for name in (full, full.removesuffix(":latest"), full.removeprefix("models/"))
    }
    if endpoint.model in names:
        return Checked(answers=True, words=f"{endpoint.shown} answers")
    some = ", ".join(listed[:_SHOWN]) + (", …" if len(listed) > _SHOWN else "")
    return Checked(
        answers=False,
        words=f"the server answers, and does not list the model {endpoint.shown}",
        hint=f"it lists {some}" if listed else "it lists none",
    )


def _asked(endpoint: Endpoint, environ: Mapping[str, str]) -> Checked:
    """Not every server can list its models: one token is asked for, and a refusal tells what is wrong."""
    with Remote(replace(endpoint, max_tokens=1), environ=environ, patience=Patience(tries=1)) as model:
        try:
            model.ask(_ONE_TOKEN)
        except ModelMisused as error:
            return Checked(answers=False, words=error.message, hint=error.hint or "")
        except ContextOverflow:
            pass  # the token went into reasoning
    return Checked(answers=True, words=f"{endpoint.shown} answers")
