"""A scripted model: an Anthropic Messages server on a loopback socket that plays one step a request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from support.http_servers import JsonHandler, listening

Step: TypeAlias = "str | ToolCall | tuple[ToolCall, ...]"
Script: TypeAlias = "Step | Callable[[Mapping[str, Any]], Step]"
"""A function makes its step from the request."""
USAGE = {
    "input_tokens": 1,
    "output_tokens": 1,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    input: Mapping[str, Any]


def use(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments)


def bash(command: str, **more: Any) -> ToolCall:
    return use("Bash", command=command, description="a step", **more)


@dataclass(slots=True)
class Model:
    """Keeps the requests, and answers with the script, then with the word `done`."""

    script: Sequence[Script]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    served: int = 0

    def answer(self, body: dict[str, Any]) -> Step:
        """Requests without tools (titles, summaries) do not move the script."""
        if not body.get("tools"):
            return "ok"
        with self.lock:
            self.requests.append(body)
            step = self.script[self.served] if self.served < len(self.script) else "done"
            self.served += 1
        return step(body) if callable(step) else step

    def results(self) -> list[str]:
        """Every tool result that the model got, in order, as text."""
        if not self.requests:
            return []
        blocks = [block for message in self.requests[-1]["messages"] for block in _blocks(message)]
        return [_text(block.get("content")) for block in blocks if block.get("type") == "tool_result"]

    def told(self) -> str:
        """Everything that the client sent to the model in the last request, except the system prompt."""
        if not self.requests:
            return ""
        return json.dumps(self.requests[-1]["messages"], ensure_ascii=False)


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content)


@contextmanager
def model(*script: Script) -> Iterator[Model]:
    playing = Model(script)
    with listening(_Handler, answer=staticmethod(playing.answer)) as playing.url:
        yield playing


class _Handler(JsonHandler):
    answer: Callable[[dict[str, Any]], Step]

    def do_HEAD(self) -> None:  # noqa: N802 - as the library calls it
        self.answer_json({})

    def do_GET(self) -> None:  # noqa: N802 - as the library calls it
        self.answer_json({"data": [], "has_more": False})

    def do_POST(self) -> None:  # noqa: N802 - as the library calls it
        body, path = self.given(), self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self.answer_json({"input_tokens": 1})
        if not path.endswith("/messages"):
            return self.answer_json({})
        message = _message(self.answer(body), str(body.get("model")))
        if not body.get("stream"):
            return self.answer_json(message)
        self.begin("text/event-stream")
        for event in _events(message):
            self.send_event(event, event["type"])
        return None


_numbers = iter(range(10**9))


def _message(step: Step, name: str) -> dict[str, Any]:
    calls = step if isinstance(step, tuple) else () if isinstance(step, str) else (step,)
    text = step if isinstance(step, str) else "next"
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
    blocks += [
        {"type": "tool_use", "id": f"toolu_{next(_numbers):020}", "name": c.name, "input": dict(c.input)}
        for c in calls
    ]
    return {
        "id": f"msg_{next(_numbers):020}",
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        start, delta = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _parts(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    arguments = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
