"""A scripted model: an OpenAI-compatible server on a loopback socket that plays one step a request.

By hand: `PYTHONPATH=tests python -m support.openai_server SCRIPT.jsonl [--port 8080]`, one step a line: a
JSON string is an answer; an object has `text` and `calls` or names a fault, as `{"fault": "stall"}`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os.path
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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
from support.openai_wire import arguments, chunk, deltas, finish, whole

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
    server = _listening(playing, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield playing
    finally:
        playing.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
        if playing.errors:
            raise playing.errors[0]


class _Listening(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them, and no socket outlives a test

    def handle_error(self, *_: Any) -> None:
        """A client that disconnected is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*_)


def _listening(playing: Server, port: int) -> ThreadingHTTPServer:
    server = _Listening(("127.0.0.1", port), type("Handler", (_Handler,), {"playing": playing}))
    playing.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    return server


class _Handler(BaseHTTPRequestHandler):
    playing: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        headers = {name.lower(): text for name, text in self.headers.items()}
        if not self.path.endswith("/models"):
            self._refuse(Refusal(404, "Not Found"))
        elif not self.playing.allowed(headers):
            self._refuse(Refusal(401, "Incorrect API key provided", "invalid_api_key"))
        elif "models" in self.playing.without:
            self._refuse(Refusal(404, "Not Found"))
        else:
            self._json(
                200, {"object": "list", "data": [{"id": m, "object": "model"} for m in self.playing.models]}
            )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
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
                self._start(200, "text/event-stream")
                self._event(chunk(request, {"role": "assistant", "content": step.text}))
                self.playing.closing.wait()
            case Cut():
                self._cut(step, request)
            case Junk():
                self._start(200, step.kind)
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
            return self._json(200, whole(answer, request, usage))
        self._start(200, "text/event-stream")
        for delta in deltas(answer):
            self._event(chunk(request, delta))
        self._event(chunk(request, {}, finish(answer)))
        if answer.usage and (request.body.get("stream_options") or {}).get("include_usage"):
            self._event({**chunk(request, {}), "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")
        return None

    def _cut(self, step: Cut, request: Request) -> None:
        if step.quiet:
            self._start(200, "text/event-stream")
            return self._event(chunk(request, {"content": step.text}))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", "100000")  # more than the server sends
        self.end_headers()
        self._event(chunk(request, {"content": step.text}))
        self.close_connection = True
        return None

    def _refuse(self, refusal: Refusal) -> None:
        said = {"message": refusal.message, "type": "invalid_request_error", "code": refusal.code or None}
        self._json(refusal.status, {"error": said}, refusal.headers)

    def _json(
        self, status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self._start(status, "application/json", headers)
        self.wfile.write(json.dumps(document).encode())

    def _start(self, status: int, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, text in {"content-type": kind, "connection": "close", **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        self.close_connection = True

    def _event(self, document: Mapping[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(document)}\n\n".encode())
        self.wfile.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m support.openai_server", description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    lines = arguments.script.read_text(encoding="utf-8").splitlines()
    playing = Server([read_step(line) for line in lines if line.strip()])
    with _listening(playing, arguments.port) as server:
        print(playing.url, flush=True)  # noqa: T201 - the program's result
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            playing.closing.set()


if __name__ == "__main__":
    main()
