"""A scripted model: an OpenAI-compatible server on a loopback socket that plays one step a request.

By hand: `PYTHONPATH=tests python -m support.openai_server SCRIPT.jsonl [--port 8080]`, one step a line: a
JSON string is an answer; an object has `text` and `calls` or names a fault, as `{"fault": "stall"}`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os.path
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.http_servers import JsonHandler, listening
from support.openai_steps import (
    Answer,
    Call,
    Cut,
    Junk,
    Refusal,
    Request,
    Script,
    Slow,
    Stall,
    Step,
    failing,
    nobody,
    overflow,
    prose,
    rate_limited,
    read_step,
    unsupported,
)

__all__ = [
    "Answer",
    "Call",
    "Cut",
    "Junk",
    "Refusal",
    "Request",
    "Script",
    "Server",
    "Slow",
    "Stall",
    "Step",
    "failing",
    "nobody",
    "overflow",
    "prose",
    "rate_limited",
    "serving",
    "unsupported",
]


@dataclass(slots=True)
class Server:
    """Keeps the requests, and answers with the script; refuses when the script is used up."""

    script: Script
    key: str | None = None
    """Requests without this key are refused with 401."""
    without: frozenset[str] = frozenset()
    """Parameters of a request that this server does not know: it refuses them with 400."""
    models: tuple[str, ...] = ("scripted",)
    only_listed: bool = False
    """The models that it knows; it refuses others with 404."""
    context: int | None = None
    """The most tokens; it refuses more with 400."""
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    """Every request for an answer, refused ones included."""
    errors: list[Exception] = field(default_factory=list)
    """Exceptions from a script that is a function."""
    played: int = 0
    _before: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    def step(self, request: Request) -> Step:
        if refusal := self._refused(request):
            return refusal
        if callable(self.script):
            return self._scripted(self.script, request)
        with self._lock:
            self.played += 1
            if self.played > len(self.script):
                return Refusal(400, f"the script has {len(self.script)} steps and is used up")
            return self.script[self.played - 1]

    def _scripted(self, script: Callable[[Request], Step], request: Request) -> Step:
        try:
            return script(request)
        except Exception as error:  # noqa: BLE001 - raised again when the server is closed
            self.errors.append(error)
            return Refusal(400, f"the script failed: {error!r}")

    def received(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Request:
        with self._lock:
            request = Request(len(self.requests) + 1, body, headers)
            self.requests.append(request)
        return request

    def allowed(self, headers: Mapping[str, str]) -> bool:
        return self.key is None or headers.get("authorization") == f"Bearer {self.key}"

    def usage(self, request: Request, answer: Answer) -> dict[str, Any]:
        """The cached tokens: the part that the prompt shares, from its beginning, with the request before."""
        prompt = prompt_of(request.body)
        with self._lock:
            shared = os.path.commonprefix([self._before, prompt])  # noqa: RUF071 - texts, not paths
            self._before = prompt
        said = answer.text + "".join(arguments(call) for call in answer.calls)
        return {
            "prompt_tokens": tokens(prompt),
            "completion_tokens": tokens(said),
            "total_tokens": tokens(prompt) + tokens(said),
            "prompt_tokens_details": {"cached_tokens": len(shared) // 4},
        }

    def _refused(self, request: Request) -> Refusal | None:
        if not self.allowed(request.headers):
            shown = request.headers.get("authorization", "").removeprefix("Bearer ")
            return Refusal(401, f"Incorrect API key provided: {shown}.", "invalid_api_key")
        if self.only_listed and request.model not in self.models:
            return Refusal(404, f"The model `{request.model}` does not exist", "model_not_found")
        if unknown := sorted(self.without & _used(request.body)):
            return unsupported(unknown[0])
        if self.context is not None and tokens(prompt_of(request.body)) > self.context:
            return overflow()
        return None


def tokens(text: str) -> int:
    return -(-len(text) // 4)


def prompt_of(body: Mapping[str, Any]) -> str:
    return json.dumps([body.get("tools"), *body["messages"]], ensure_ascii=False)


def _used(body: Mapping[str, Any]) -> set[str]:
    """The parameters of a request, with the kind of its response format."""
    return {*body, str((body.get("response_format") or {}).get("type"))}


@contextmanager
def serving(script: Script = (), **settings: Any) -> Iterator[Server]:
    """`script`: steps in order, or a function of the request; `settings`: the fields of `Server`.

    The client's library is loaded first, so that no forked command has to load it.
    """
    importlib.import_module("verdigris.models.client")
    playing = Server(script, **settings)
    with listening(_Handler, playing=playing) as url:
        playing.url = f"{url}/v1"
        try:
            yield playing
        finally:
            playing.closing.set()
            if playing.errors:
                raise playing.errors[0]


class _Handler(JsonHandler):
    playing: Server

    def do_GET(self) -> None:  # noqa: N802 - as the library calls it
        headers = {name.lower(): text for name, text in self.headers.items()}
        if not self.path.endswith("/models"):
            self._refuse(Refusal(404, "Not Found"))
        elif not self.playing.allowed(headers):
            self._refuse(Refusal(401, "Incorrect API key provided", "invalid_api_key"))
        elif "models" in self.playing.without:
            self._refuse(Refusal(404, "Not Found"))
        else:
            models = [{"id": name, "object": "model"} for name in self.playing.models]
            self.answer_json({"object": "list", "data": models})

    def do_POST(self) -> None:  # noqa: N802 - as the library calls it
        body = self.given()
        if not self.path.endswith("/chat/completions"):
            return self._refuse(Refusal(404, "Not Found"))
        request = self.playing.received(body, {name.lower(): text for name, text in self.headers.items()})
        return self._play(self.playing.step(request), request)

    def _play(self, step: Step, request: Request) -> None:
        match step:
            case Slow():
                self.playing.closing.wait(step.seconds)
                self._play(step.then, request)
            case Refusal():
                self._refuse(step)
            case Stall():
                self.begin("text/event-stream")
                self.send_event(chunk(request, {"role": "assistant", "content": step.text}))
                self.playing.closing.wait()
            case Cut():
                self._cut(step, request)
            case Junk():
                self.begin(step.kind)
                self.wfile.write(step.body.encode())
            case str():
                self._answer(Answer(step), request)
            case dict():
                self._answer(Answer(json.dumps(step, ensure_ascii=False)), request)
            case Answer():
                self._answer(step, request)

    def _answer(self, answer: Answer, request: Request) -> None:
        usage = self.playing.usage(request, answer)
        if not request.body.get("stream"):
            return self.answer_json(whole(answer, request, usage))
        self.begin("text/event-stream")
        for delta in deltas(answer):
            self.send_event(chunk(request, delta))
        self.send_event(chunk(request, {}, finish(answer)))
        if answer.usage and (request.body.get("stream_options") or {}).get("include_usage"):
            self.send_event({**chunk(request, {}), "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")
        return None

    def _cut(self, step: Cut, request: Request) -> None:
        if step.quiet:
            self.begin("text/event-stream")
            return self.send_event(chunk(request, {"content": step.text}))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", "100000")  # more than the server sends
        self.end_headers()
        self.send_event(chunk(request, {"content": step.text}))
        self.close_connection = True
        return None

    def _refuse(self, refusal: Refusal) -> None:
        said = {"message": refusal.message, "type": "invalid_request_error", "code": refusal.code or None}
        self.answer_json({"error": said}, refusal.status, refusal.headers)


# -- The documents that such a server sends ---------------------------------------------------


def chunk(request: Request, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def whole(answer: Answer, request: Request, usage: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [_called(call, index) for index, call in enumerate(answer.calls)]
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(answer)}],
        **({"usage": usage} if answer.usage else {}),
    }


def finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _called(call: Call, index: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments(call)}
    return {"index": index, "id": call.id or f"call_{index}", "type": "function", "function": function}


def deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    """Text and arguments in pieces, as real servers send them."""
    yield {"role": "assistant", "content": ""}
    yield from ({"reasoning_content": piece} for piece in _pieces(answer.reasoning))
    yield from ({"content": piece} for piece in _pieces(answer.text))
    for index, call in enumerate(answer.calls):
        begun = _called(call, index)
        begun["function"] = {**begun["function"], "arguments": ""}
        yield {"tool_calls": [begun]}
        for piece in _pieces(arguments(call)):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    size = max(7, len(text) // 20)
    yield from (text[start : start + size] for start in range(0, len(text), size))


def arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m support.openai_server", description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    lines = given.script.read_text(encoding="utf-8").splitlines()
    playing = Server([read_step(line) for line in lines if line.strip()])
    with suppress(KeyboardInterrupt), listening(_Handler, port=given.port, playing=playing) as url:
        print(f"{url}/v1", flush=True)  # noqa: T201 - the program's result
        playing.closing.wait()


if __name__ == "__main__":
    main()
