"""A model, its questions and its replies, whichever server it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from verdigris.core.value import value


@value
class ToolCall:
    id: str
    name: str
    arguments: str
    """JSON as the model wrote it: not parsed, perhaps broken."""


@value
class Message:
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    """Of an assistant: the tools that it called."""
    call_id: str = ""
    """Of a tool's answer: the call that it answers."""


@value
class ToolSpec:
    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments."""


@value
class Usage:
    prompt: int = 0
    cached: int = 0
    """How much of the prompt the provider had in its cache."""
    completion: int = 0
    estimated: bool = False
    """At least one of the numbers is our estimate, since the server did not report it."""
    cache_known: bool = True
    """Whether the server reported how much was cached; if not, `cached` is 0 and means nothing."""

    def since(self, other: Usage) -> Usage:
        """The difference to an earlier count."""
        return Usage(
            self.prompt - other.prompt,
            self.cached - other.cached,
            self.completion - other.completion,
            self.estimated,
            self.cache_known,
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.estimated or other.estimated,
            self.cache_known and other.cache_known,
        )


@value
class Ask:
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """The answer's JSON schema: sent where the server takes one, so the caller still parses strictly."""
    schema_name: str = "answer"
    tools: tuple[ToolSpec, ...] = ()
    needs_tools: bool = False
    """A server that takes no tools is an error, and is not asked without them."""


@value
class ModelReply:
    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish: str = ""
    model: str = ""
    tries: int = 1


class Model(Protocol):
    @property
    def name(self) -> str: ...

    def ask(self, ask: Ask) -> ModelReply:
        """Raises `ModelUnavailable`, `ContextOverflow` or `ModelMisused`."""
        ...
