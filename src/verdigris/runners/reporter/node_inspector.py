"""Asks a node process, through its inspector, which line of JavaScript it runs, and in which test.

The protocol is that of the Chrome DevTools, over a WebSocket. A thread that works is paused; a thread that
waits has no place. Lines are those of the source files, by the source map in a script.
"""

# ruff: noqa: PTH115, PTH123, PTH208, PLR2004 - paths are text; lengths are those of the protocol
from __future__ import annotations

import _socket
import base64
import json
import os
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PATIENCE = 5.0
"""Seconds for the whole conversation, and for each answer."""
_MOST_FRAMES = 60
_INLINE = "base64,"
_TOOLS = "/node_modules/"
_DIGITS = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
_TEST = """(() => {
  const found = typeof test === "object" && test ? test : typeof this === "object" && this ? this : {};
  if (typeof found.name !== "string" || !("parent" in found || "suite" in found)) return null;
  const names = [];
  const isNamed = (at) => at && typeof at.name === "string" && !at.filepath;
  for (let at = found; isNamed(at); at = at.suite ?? at.parent) names.unshift(at.name);
  return JSON.stringify(names.filter((name) => name !== "<root>" && name !== "ROOT_DESCRIBE_BLOCK"));
})()"""
"""JavaScript that finds the names of the running test in a frame of the tool.

In vitest's `runTest` and jest's `_callCircusTest` the test is the variable `test`; in node:test it is `this`.
"""


def open_port(process: int) -> int | None:
    """The port on 127.0.0.1 on which a process listens, if there is one."""
    own = set()
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            own.add(os.readlink(f"/proc/{process}/fd/{name}"))
        except OSError:
            continue
    with open(f"/proc/{process}/net/tcp", encoding="ascii") as told:
        for line in told.read().splitlines()[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            if fields[3] == "0A" and address == "0100007F" and f"socket:[{fields[9]}]" in own:
                return int(port, 16)
    return None


class Inspector:
    """A connection to the inspector on a port."""

    def __init__(self, port: int) -> None:
        """Connects to the first target in the inspector's list: the process itself."""
        self._port = port
        self._ends = time.monotonic() + _PATIENCE
        heading = self._open("/json/list")
        length = int(heading.lower().partition(b"content-length:")[2].split()[0])
        target = json.loads(self._read(length))[0]["id"]
        key = base64.b64encode(os.urandom(16)).decode()
        words = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
        self._open(f"/{target}", *words, f"Sec-WebSocket-Key: {key}")
        self._count = 0
        self._scripts: dict[tuple[str, str], dict[str, Any]] = {}

    def places(self) -> dict[str, Any]:
        """Pauses all threads. Returns the frames of one that works, each a path and a line, and the names of
        its test.

        Both lists start at the outermost one.
        """
        self._send("NodeWorker.enable", {"waitForDebuggerOnStart": False})
        self._pause("")
        for worker, event in self._events():
            match event:
                case {"method": "NodeWorker.attachedToWorker", "params": {"sessionId": session}}:
                    self._pause(session)
                case {"method": "Debugger.scriptParsed", "params": script}:
                    self._scripts[worker, script["scriptId"]] = script
                case {"method": "Debugger.paused", "params": {"callFrames": list(frames)}} if frames:
                    told = self._describe_frames(worker, frames[:_MOST_FRAMES])
                    if any(_TOOLS not in path for path, _ in told["frames"]):
                        return told
        return {}

    def _pause(self, worker: str) -> None:
        self._send("Debugger.enable", worker=worker)
        self._send("Debugger.pause", worker=worker)

    def _describe_frames(self, worker: str, frames: list[dict[str, Any]]) -> dict[str, Any]:
        places: list[tuple[str, int]] = []
        names = None
        for frame in frames:
            script = self._scripts.get((worker, frame["location"]["scriptId"]), {})
            url = str(script.get("url") or frame.get("url") or "").removeprefix("file://").partition("?")[0]
            if url.startswith("/"):
                row, column = frame["location"]["lineNumber"], frame["location"].get("columnNumber", 0)
                places.append((url, 1 + original_row(str(script.get("sourceMapURL") or ""), row, column)))
        if any(_TOOLS not in path for path, _ in places):
            asked = (self._ask_names(worker, frame["callFrameId"]) for frame in frames)
            names = next(filter(None, asked), None)
        return {"frames": places[::-1], "names": names}

    def _ask_names(self, worker: str, frame: str) -> list[str] | None:
        asked = self._send(
            "Debugger.evaluateOnCallFrame",
            {"callFrameId": frame, "expression": _TEST, "returnByValue": True, "silent": True},
            worker=worker,
        )
        for of, answer in self._events():
            if of == worker and answer.get("id") == asked:
                told = answer.get("result", {}).get("result", {}).get("value")
                return json.loads(told) if isinstance(told, str) else None
        return None

    def _send(self, method: str, params: dict[str, Any] | None = None, worker: str = "") -> int:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params or {}}
        if worker:
            text = json.dumps(message)
            self._send("NodeWorker.sendMessageToWorker", {"sessionId": worker, "message": text})
            return int(message["id"])  # type: ignore[call-overload,no-any-return]
        data = json.dumps(message).encode()
        length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self._socket.sendall(b"\x81" + length + b"\0\0\0\0" + data)
        return self._count

    def _events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Messages, each with the worker that sent it; an empty text is the main thread.

        Ends when the time is up.
        """
        while time.monotonic() < self._ends:
            try:
                message = json.loads(self._read_message())
            except TimeoutError:
                return
            match message:
                case {"method": "NodeWorker.receivedMessageFromWorker", "params": params}:
                    yield params["sessionId"], json.loads(params["message"])
                case dict():
                    yield "", message

    def _read_message(self) -> bytes:
        whole = b""
        while True:
            first, length = self._read(2)
            length &= 127
            if length >= 126:
                form, size = (">H", 2) if length == 126 else (">Q", 8)
                (length,) = struct.unpack(form, self._read(size))
            whole += self._read(length)
            if first & 0x80:
                return whole

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def _read_until(self, end: bytes) -> bytes:
        data = b""
        while not data.endswith(end):
            data += self._read(1)
        return data

    def _open(self, path: str, *words: str) -> bytes:
        """Opens a new connection for a request, and returns the head of the answer."""
        self._socket = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE)
        self._socket.connect(("127.0.0.1", self._port))
        lines = (f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}", *words)
        self._socket.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        return self._read_until(b"\r\n\r\n")


def original_row(source_map: str, row: int, column: int) -> int:
    """The row in the source file from which a script was made, counted from 0; the same row without a map."""
    if _INLINE not in source_map:
        return row
    try:
        mappings = json.loads(base64.b64decode(source_map.partition(_INLINE)[2]))["mappings"]
    except (ValueError, KeyError, TypeError):
        return row
    found: int | None = None
    original = 0
    for number, line in enumerate(str(mappings).split(";")[: row + 1]):
        at = 0
        for segment in filter(None, line.split(",")):
            numbers = [*_numbers(segment)]
            at += numbers[0]
            original += numbers[2] if len(numbers) > 2 else 0
            if len(numbers) > 2 and number == row and (at <= column or found is None):
                found = original
    return row if found is None else found


def _numbers(segment: str) -> Iterator[int]:
    """Decodes a segment of a source map (VLQ).

    A number is a series of Base64 digits with 5 bits each, the lowest first. The lowest bit is the sign.
    """
    value = shift = 0
    for digit in segment:
        bits = _DIGITS[digit]
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            yield -(value >> 1) if value & 1 else value >> 1
            value = shift = 0
