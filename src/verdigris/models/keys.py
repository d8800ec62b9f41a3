"""The key of an endpoint, read from its variable at the moment of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import ModelMisused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.models.endpoint import Endpoint


def key_of(endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """Nothing where none is configured, or none is set for a server on this machine."""
    name = endpoint.api_key_env
    key = environ.get(name, "").strip() if name else ""
    if name and not key and not endpoint.local:
        raise ModelMisused(
            f"the variable {name}, which holds the key for {endpoint.shown}, is not set",
            hint=f"export {name}=…, or name another variable in api_key_env",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelMisused(
            f"what the variable {name} holds cannot be a key for {endpoint.shown}",
            hint="it has blanks, line ends or letters that no key has",
        )
    return key
