"""The steps of a scripted model: answer, refuse, or fail as servers do."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Step: TypeAlias = "str | dict[str, Any] | Answer | Refusal | Stall | Cut | Junk | Slow"
Script: TypeAlias = "Sequence[Step] | Callable[[Request], Step]"


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: Mapping[str, Any] | str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    reasoning: str = ""
    usage: bool = True
    """False: tokens are not reported, even if the request asks for them."""


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    message: str
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stall:
    """Some words, then silence."""

    text: str = "and then"


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends in the middle of the answer; `quiet`: the stream looks complete."""

    text: str = '{"half of an'
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Junk:
    """A body that is not an answer, with status 200."""

    body: str = "data: {broken\n\n"
    kind: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Slow:
    """The first byte comes late."""

    then: Step
    seconds: float


def rate_limited(after: str | None = "0", message: str = "Rate limit reached for requests") -> Refusal:
    headers = {} if after is None else {"retry-after": after}
    return Refusal(429, message, "rate_limit_exceeded", headers)


def failing(status: int = 500) -> Refusal:
    return Refusal(status, "The server had an error while processing your request")


def overflow() -> Refusal:
    said = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    )
    return Refusal(400, said, "context_length_exceeded")


def unsupported(word: str) -> Refusal:
    return Refusal(400, f"Unsupported parameter: '{word}' is not supported with this model.")


def prose(document: Mapping[str, Any]) -> str:
    return (
        f"Sure! Here is what I would do:\n\n```json\n{json.dumps(document)}\n```\nTell me if you need more."
    )


def nobody() -> str:
    """A base URL where connections are refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


FAULTS: Mapping[str, Callable[[], Step]] = {
    "429": rate_limited,
    "500": failing,
    "stall": Stall,
    "cut": Cut,
    "junk": Junk,
    "overflow": overflow,
    "401": lambda: Refusal(401, "Incorrect API key provided", "invalid_api_key"),
}


@dataclass(frozen=True, slots=True)
class Request:
    number: int
    """Counted from 1."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def model(self) -> str:
        return str(self.body.get("model"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def text(self) -> str:
        """Everything that the model is shown."""
        return "\n".join(str(message.get("content") or "") for message in self.messages)

    @property
    def last(self) -> str:
        return str(self.messages[-1].get("content") or "")

    @property
    def schema(self) -> str:
        """The name of the requested schema, or nothing."""
        wanted = self.body.get("response_format") or {}
        return str((wanted.get("json_schema") or {}).get("name", ""))


def read_step(line: str) -> Step:
    step = json.loads(line)
    if isinstance(step, str):
        return step
    if "fault" in step:
        return FAULTS[step["fault"]]()
    calls = tuple(Call(c["name"], c["arguments"]) for c in step.get("calls", ()))
    return Answer(str(step.get("text", "")), calls)
