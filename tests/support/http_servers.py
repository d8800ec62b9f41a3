"""Servers on a loopback socket for the length of a `with` block, and what scripted models share of HTTP."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them, and no socket outlives a test

    def handle_error(self, *_: Any) -> None:
        """A client that disconnected is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*_)


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], *, port: int = 0, **attributes: Any) -> Iterator[str]:
    """The URL of a server; `attributes`: those that its handlers have."""
    server = _Server(("127.0.0.1", port), type("Handler", (handler,), attributes))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class JsonHandler(BaseHTTPRequestHandler):
    """Takes and gives JSON; a connection serves one request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def given(self) -> dict[str, Any]:
        """The document of a request."""
        document: dict[str, Any] = json.loads(
            self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"
        )
        return document

    def begin(self, kind: str, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, text in {"content-type": kind, "connection": "close", **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        self.close_connection = True

    def answer_json(
        self, document: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.begin("application/json", status, headers)
        if self.command != "HEAD":
            self.wfile.write(json.dumps(document).encode())

    def send_event(self, document: Mapping[str, Any], name: str = "") -> None:
        """One event of a stream that `begin` has begun."""
        heading = f"event: {name}\n" if name else ""
        self.wfile.write(f"{heading}data: {json.dumps(document)}\n\n".encode())
        self.wfile.flush()
