"""A scripted model: an Anthropic Messages server on a loopback socket that plays one step a request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

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
    handler = type("Handler", (_Handler,), {"answer": staticmethod(playing.answer)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    playing.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield playing
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Callable[[dict[str, Any]], Step]

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        self._json({"data": [], "has_more": False})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self._json({"input_tokens": 1})
        if not path.endswith("/messages"):
            return self._json({})
        message = _message(self.answer(body), str(body.get("model")))
        return self._stream(message) if body.get("stream") else self._json(message)

    def _json(self, document: Mapping[str, Any]) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, message: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in _events(message):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


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
