"""JSON-RPC messages over standard input and output, a line each; what is no message is answered as such.

The SDK ends a connection at the first line that it does not expect, so each one is judged before it sees it.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LONGEST = 64 * 1024 * 1024
"""Bytes of a line; a longer one is skipped."""
PATIENCE = 30.0
"""Seconds in which what was asked is answered, after the client has gone."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_OPTIONAL = "$/"
"""Notifications that begin so may be left alone, as `$/cancel_request`: `session/cancel` is heard."""


@value
class NoMessage:
    """A line that is none."""

    code: int
    why: str
    id: Any = None
    """Of the request, where it can be read."""

    def document(self) -> dict[str, Any]:
        error = {"code": self.code, "message": self.why}
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


def read_message(line: bytes) -> dict[str, Any] | NoMessage:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return NoMessage(PARSE_ERROR, "This line is no JSON: a message is one JSON object on one line.")
    if not isinstance(found, dict):
        return NoMessage(
            INVALID_REQUEST, "A message is one JSON object; there are no batches in this protocol."
        )
    name = found.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int | None):
        return NoMessage(INVALID_REQUEST, "The id of a message is a number or a text.")
    if "method" in found:
        if not isinstance(found["method"], str):
            return NoMessage(INVALID_REQUEST, "The method of a message is a text.", name)
        if isinstance(found.get("params"), dict):
            found["params"].pop("_meta", None)  # the SDK would take its keys for parameters
        return found
    if "id" not in found or not {"result", "error"} & set(found):
        return NoMessage(INVALID_REQUEST, "A message has a method, or an id with a result or an error.", name)
    if "error" in found and not isinstance(found["error"], dict):
        found["error"] = {"message": str(found["error"])}
    return found


def take_over_stdio() -> tuple[int, int]:
    """Descriptors of our own for the protocol; who prints all the same does so on standard error."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


class StdioTransport:
    """The SDK's `Transport`; at the end of the input it calls `leave`, and waits until all is answered."""

    def __init__(self, source: int, sink: int, leave: Callable[[], Awaitable[None]]) -> None:
        self._source, self._sink, self._leave = source, sink, leave
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | NoMessage | None] = asyncio.Queue()
        self._owed: Counter[Any] = Counter()
        self._all_answered = asyncio.Event()
        self._broken = False
        threading.Thread(target=self._read_lines, name="acp-input", daemon=True).start()

    def end_input(self) -> None:
        """As if the client had gone; from any thread."""
        self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def _read_lines(self) -> None:
        """In a thread of its own: a client that writes is read from, whatever we are at."""
        try:
            with open(self._source, "rb", closefd=False) as source:
                while line := source.readline(LONGEST):
                    found: bytes | NoMessage = line
                    while not line.endswith(b"\n") and (line := source.readline(LONGEST)):
                        found = NoMessage(PARSE_ERROR, f"This line is longer than {LONGEST} bytes.")
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, found)
            self.end_input()
        except (OSError, RuntimeError):  # the latter: the loop is closed
            self._broken = True

    async def receive(self) -> dict[str, Any] | None:
        while (line := await self._lines.get()) is not None:
            if isinstance(line, bytes) and not line.strip():
                continue
            message = line if isinstance(line, NoMessage) else read_message(line)
            if isinstance(message, NoMessage):
                await self.send(message.document())
                continue
            if message.get("method", "").startswith(_OPTIONAL) and "id" not in message:
                continue
            if "method" in message and "id" in message:
                self._owed[message["id"]] += 1
            return message
        await self._leave()
        self._all_answered.clear()
        with suppress(TimeoutError):
            if self._owed:
                await asyncio.wait_for(self._all_answered.wait(), PATIENCE)
        return None

    async def send(self, message: dict[str, Any]) -> None:
        """Written before anything else happens, so what is sent later arrives later."""
        self._write((json.dumps(message, separators=(",", ":"), default=str) + "\n").encode())
        if "method" not in message:
            self._owed -= Counter([message["id"]])
            if not self._owed:
                self._all_answered.set()

    def _write(self, data: bytes) -> None:
        try:
            while data and not self._broken:
                data = data[os.write(self._sink, data) :]
        except OSError:  # nobody reads any more
            self._broken = True
            self.end_input()

    async def close(self) -> None:
        """What is left of the input is not read."""
