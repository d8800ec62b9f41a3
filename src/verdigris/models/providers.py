"""Finds the server and the key that a model's name means, and hides keys wherever text is written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from verdigris.core.errors import ConfigError, ModelMisused
from verdigris.core.settings import AS_USUAL, ModelSettings
from verdigris.core.value import value
from verdigris.storage.config.keys import LIKE_A_KEY

_DUMMIES = frozenset(
    {"none", "empty", "dummy", "ollama", "lm-studio", "no-key", "not-needed", "unused", "test"}
)
"""What people set where a server wants no key but a client insists: words that texts are full of."""
_SHORTEST = 4
_TELLING = 12
"""From this length on a value is replaced even in the middle of a word."""


class Scrubber:
    """Texts and documents without the values of these variables."""

    def __init__(self, variables: Iterable[str], environ: Mapping[str, str] | None = None) -> None:
        self.variables = tuple(sorted(set(filter(None, variables))))
        self._environ = os.environ if environ is None else environ

    def __call__(self, text: str) -> str:
        for pattern, name in self._patterns():
            text = pattern.sub(f"[{name}]", text)
        return text

    def document(self, document: Any) -> Any:
        """The same JSON document, every text of it scrubbed, keys too."""
        match document:
            case str():
                return self(document)
            case dict():
                return {self(str(key)): self.document(item) for key, item in document.items()}
            case list() | tuple():
                return [self.document(item) for item in document]
            case _:
                return document

    def _patterns(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        return _patterns_of(tuple((name, self._environ.get(name, "")) for name in self.variables))


@lru_cache(16)
def _patterns_of(secrets: tuple[tuple[str, str], ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The longest first: one value may be a part of another."""
    spelled = {form: name for name, secret in secrets for form in _spellings(secret)}
    forms = sorted(spelled, key=len, reverse=True)
    return tuple((_pattern_of(form), spelled[form]) for form in forms)


def _pattern_of(form: str) -> re.Pattern[str]:
    exact = re.escape(form)
    return re.compile(exact if len(form) >= _TELLING else rf"(?<!\w){exact}(?!\w)")


def _spellings(secret: str) -> set[str]:
    """A value as it is, and as JSON, a URL or a server's echo has it."""
    secret = secret.strip()
    if len(secret) < _SHORTEST or secret.lower() in _DUMMIES:
        return set()
    return {secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote(secret)}


_MORE_KEYS = re.compile(
    r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b"
    r"|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


def hide_keys(text: str) -> str:
    """Replaces whatever looks like a key."""
    for pattern in (LIKE_A_KEY, _MORE_KEYS):
        text = pattern.sub("[looks like a key]", text)
    return text


def shown_url(url: str) -> str:
    """An address without the password and the query that it may carry."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(an address that cannot be read)"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


@value
class Provider:
    base_url: str
    api_key_env: str = ""


# No `mistral`, `llama` or `qwen`: `mistral:7b` is a model of Ollama's.
PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "glm": Provider("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": Provider("http://localhost:11434/v1"),
    "llamacpp": Provider("http://localhost:8080/v1"),
    "lmstudio": Provider("http://localhost:1234/v1"),
    "vllm": Provider("http://localhost:8000/v1"),
}


TIMEOUT = 120.0


def split_model(word: str) -> tuple[str, str]:
    """The provider, or nothing, and the model's name: of `qwen2.5-coder:7b` the whole is the name."""
    before, colon, after = word.partition(":")
    return (before, after) if colon and before in PROVIDERS and after else ("", word)


def endpoint_of(word: str, role: ModelSettings = AS_USUAL, llm: ModelSettings = AS_USUAL) -> Endpoint:
    """The role's settings before those of `llm`, and both before what is usual for the provider."""
    provider, name = split_model(word.strip())
    if not name:
        raise ConfigError("a model's name is empty", hint=f"write it as {_forms()}")
    base_url, api_key_env = _place(PROVIDERS.get(provider, Provider("")), role, llm)
    if not base_url:
        raise ConfigError(
            f"no server is configured for the model {word}",
            hint=f"set llm.base_url, or write the model as {_forms()}",
        )
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(
            f"the base URL of the model {word} does not begin with http:// or https://",
            hint="write it as http://localhost:11434/v1",
        )
    temperature = role.temperature if role.temperature is not None else llm.temperature
    return Endpoint(
        word=word.strip(),
        model=name,
        base_url=base_url.rstrip("/"),
        api_key_env=api_key_env,
        temperature=temperature,
        timeout=role.timeout or llm.timeout or TIMEOUT,
        max_tokens=role.max_tokens or llm.max_tokens,
    )


def _place(usual: Provider, role: ModelSettings, llm: ModelSettings) -> tuple[str, str]:
    """The address and the key variable that belongs to it: no key goes to a server that it is not for."""
    if role.base_url:
        return role.base_url, role.api_key_env or ("" if llm.base_url else llm.api_key_env)
    if llm.base_url:
        return llm.base_url, role.api_key_env or llm.api_key_env
    return usual.base_url, role.api_key_env or llm.api_key_env or usual.api_key_env


def key_variables(*given: ModelSettings) -> tuple[str, ...]:
    """Every variable that may hold a key: those that are configured and those that are usual."""
    usual = (provider.api_key_env for provider in PROVIDERS.values())
    return tuple(sorted({*usual, *(each.api_key_env for each in given)} - {""}))


def _forms() -> str:
    return ", ".join(f"{name}:NAME" for name in PROVIDERS)


@value
class Endpoint:
    word: str
    """The model as the configuration names it."""
    model: str
    """The model as the server knows it."""
    base_url: str
    api_key_env: str = ""
    """The variable that holds the key; empty: the server wants none."""
    temperature: float | None = None
    timeout: float = 120.0
    """Seconds without a word from the server."""
    max_tokens: int | None = None

    @property
    def shown(self) -> str:
        return f"{self.model} at {shown_url(self.base_url)}"

    @property
    def local(self) -> bool:
        """Servers on this machine seldom want a key."""
        host = urlsplit(self.base_url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return False


def key_of(endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """The key; empty where none is configured, or none is set for a server on this machine."""
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
