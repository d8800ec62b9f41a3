"""What is sent for an ask, by what the server is known to take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.models.endpoint import Endpoint
    from verdigris.models.protocol import Ask, Message, ToolCall, ToolSpec

Feature = Literal["format", "stream_options", "temperature", "max_tokens", "tools", "stream"]


@value
class Abilities:
    """What a server has not refused yet."""

    formats: tuple[str, ...] = ("json_schema", "json_object")
    """The best first; when none is left, plain text is asked for."""
    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    """Two words for the same thing, of which most servers know the first."""
    refused: frozenset[Feature] = frozenset()

    def without(self, feature: Feature) -> Abilities:
        match feature:
            case "format":
                return replace(self, formats=self.formats[1:])
            case "max_tokens":
                return replace(self, limits=self.limits[1:])
            case _:
                return replace(self, refused=self.refused | {feature})


def request_of(endpoint: Endpoint, ask: Ask, abilities: Abilities) -> dict[str, Any]:
    request: dict[str, Any] = {"model": endpoint.model, "messages": [_message(each) for each in ask.messages]}
    if endpoint.max_tokens is not None and abilities.limits:
        request[abilities.limits[0]] = endpoint.max_tokens
    if ask.schema is not None and abilities.formats:
        request["response_format"] = _format(ask, abilities.formats[0])
    optional: dict[Feature, Any] = {
        "temperature": endpoint.temperature,
        "tools": [_tool(each) for each in ask.tools] or None,
        "stream": True,
        "stream_options": None if "stream" in abilities.refused else {"include_usage": True},
    }
    wanted = {name: given for name, given in optional.items() if given is not None}
    return request | {name: given for name, given in wanted.items() if name not in abilities.refused}


def features_of(request: dict[str, Any]) -> tuple[Feature, ...]:
    """What of a request the server may do without.

    Where tools and a schema are refused together the tools go: `read` asks for files as well.
    """
    keys: dict[str, Feature] = {
        "tools": "tools",
        "response_format": "format",
        "stream_options": "stream_options",
        "temperature": "temperature",
        "max_tokens": "max_tokens",
        "max_completion_tokens": "max_tokens",
        "stream": "stream",
    }
    return tuple(feature for key, feature in keys.items() if key in request)


def _format(ask: Ask, kind: str) -> dict[str, Any]:
    if kind != "json_schema":
        return {"type": kind}
    return {"type": kind, "json_schema": {"name": ask.schema_name, "schema": ask.schema, "strict": True}}


def _message(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": _sendable(message.content)}
    if message.calls:
        sent["tool_calls"] = [_call(each) for each in message.calls]
    if message.role == "tool":
        sent["tool_call_id"] = message.call_id
    return sent


def _sendable(text: str) -> str:
    """Names of files may hold bytes that are no UTF-8, and requests may not."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
