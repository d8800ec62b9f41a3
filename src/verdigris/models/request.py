"""Builds the request for a server, and counts its tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from verdigris.core.value import replace, value

if TYPE_CHECKING:
    from verdigris.models.protocol import Ask, Message, ToolCall, ToolSpec
    from verdigris.models.providers import Endpoint


Feature = Literal["format", "stream_options", "temperature", "max_tokens", "tools", "stream"]


@value
class Abilities:
    """What a server has not refused yet."""

    formats: tuple[str, ...] = ("json_schema", "json_object")
    """The best first; when none is left, plain text is requested."""
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
    request: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [sent_message(each) for each in ask.messages],
    }
    if endpoint.max_tokens is not None and abilities.limits:
        request[abilities.limits[0]] = endpoint.max_tokens
    if ask.schema is not None and abilities.formats:
        request["response_format"] = _format(ask, abilities.formats[0])
    optional: dict[Feature, Any] = {
        "temperature": endpoint.temperature,
        "tools": list(map(sent_tool, _sorted_tools(ask))) or None,
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


def sent_message(message: Message) -> dict[str, Any]:
    """The message as the servers' interface has it."""
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


def _sorted_tools(ask: Ask) -> list[ToolSpec]:
    """They stand before all else in a prompt: another order would be another prompt to a cache."""
    return sorted(ask.tools, key=lambda tool: tool.name)


def sent_tool(tool: ToolSpec) -> dict[str, Any]:
    """The tool as the servers' interface describes functions."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


_PIECE = re.compile(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<space>\s+)|(?P<marks>[!-/:-@\[-`{-~]+)"
    r"|(?P<picture>[\U00010000-\U0010ffff])|(?P<foreign>[\x80-\uffff]+)|."
)
_LINE_END = re.compile(r"(?<=\S)(?=\n)")
"""Where a piece always ends: only white space joins a line to the next one."""
_MESSAGE = 4
"""Tokens around a message: its role and its ends."""


@lru_cache(256)
def estimate(text: str) -> int:
    """Within a fifth of what OpenAI's tokenizers make of code and prose; of other scripts mostly more."""
    return round(sum(map(_estimate_line, _LINE_END.split(text))))


@lru_cache(4096)
def _estimate_line(line: str) -> float:
    """Cached: the next prompt has most lines of the last one."""
    return sum(map(_cost, _PIECE.finditer(line)))


def _cost(piece: re.Match[str]) -> float:
    size = piece.end() - piece.start()
    match piece.lastgroup:
        case "word":
            return 1 if size <= 8 else size / 5.5  # noqa: PLR2004 - measured
        case "digits":
            return -(-size // 3)
        case "space":
            return 0 if piece.group() == " " else 1
        case "marks":
            return max(1.0, size / 2.5)
        case "picture":
            return 2
        case "foreign":
            return len(piece.group().encode(errors="surrogatepass")) / 3.3
        case _:
            return 1


def estimate_ask(ask: Ask) -> int:
    return estimate(prompt_text(ask)) + _MESSAGE * len(ask.messages)


def prompt_text(ask: Ask) -> str:
    """What a server makes a prompt of, in its order: the tools, then the messages.

    A schema is left out: servers enforce it by a grammar, and only some also put it before all else.
    """
    tools = [f"{tool.name}\n{tool.description}\n{json.dumps(tool.parameters)}" for tool in _sorted_tools(ask)]
    return "\n".join([*tools, *map(_message_text, ask.messages)])


def _message_text(message: Message) -> str:
    calls = [f"{call.name} {call.arguments}" for call in message.calls]
    return "\n".join([message.role, *filter(None, [message.call_id]), message.content, *calls])


class Counter:
    """Estimates, corrected by the share of them that a server's reports came to."""

    def __init__(self) -> None:
        self._estimated = 0.0
        self._reported = 0.0

    def learn(self, estimated: int, reported: int) -> None:
        """Recent reports weigh more: a model may be exchanged behind its name."""
        if estimated > 0 and reported > 0:
            self._estimated = self._estimated / 2 + estimated
            self._reported = self._reported / 2 + reported

    @property
    def ratio(self) -> float:
        return min(4.0, max(0.25, self._reported / self._estimated)) if self._estimated else 1.0

    def count(self, text: str) -> int:
        return round(estimate(text) * self.ratio)

    def count_ask(self, ask: Ask) -> int:
        return round(estimate_ask(ask) * self.ratio)


@value
class Share:
    """The parts of a prompt, in estimated tokens."""

    prompt: int
    shared: int
    """From its beginning, with the call before."""

    @property
    def share(self) -> float:
        return self.shared / self.prompt if self.prompt else 0.0


def prefix_share(before: Ask | None, now: Ask) -> Share:
    text = prompt_text(now)
    shared = "" if before is None else text[: _common(prompt_text(before), text)]
    return Share(estimate(text), min(estimate(shared), estimate(text)))


def whole_share(shares: Sequence[Share]) -> Share:
    """The share of many calls together; the first has no call before it, and counts nevertheless."""
    return Share(sum(each.prompt for each in shares), sum(each.shared for each in shares))


def _common(one: str, other: str) -> int:
    """How many characters they share from the beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
