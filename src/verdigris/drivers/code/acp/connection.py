"""An editor's connection: JSON-RPC messages over standard input and output, a line each.

A thread reads it. The worker carries out the requests in the main thread, one after another.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import queue
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from verdigris.core.value import value
from verdigris.drivers.code.session import OutOfTime

LONGEST = 64 * 1024 * 1024
"""The most bytes of a line; a longer one is skipped."""
PATIENCE = 30.0
"""Seconds to answer open requests after the client has gone."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_OPTIONAL = "$/"
"""Notifications with this prefix may be ignored; `session/cancel` does the work of `$/cancel_request`."""


@value
class NoMessage:
    """The answer to a line that is no message."""

    code: int
    why: str
    id: Any = None
    """The id of the request, if it can be read."""

    def document(self) -> dict[str, Any]:
        error = {"code": self.code, "message": self.why}
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


def read_message(line: bytes) -> dict[str, Any] | NoMessage:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return NoMessage(PARSE_ERROR, "This line is no JSON: a message is one JSON object on one line.")
    if not isinstance(message, dict):
        return NoMessage(
            INVALID_REQUEST, "A message is one JSON object; there are no batches in this protocol."
        )
    name = message.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int | None):
        return NoMessage(INVALID_REQUEST, "The id of a message is a number or a text.")
    if "method" in message:
        if not isinstance(message["method"], str):
            return NoMessage(INVALID_REQUEST, "The method of a message is a text.", name)
        if isinstance(message.get("params"), dict):
            message["params"].pop("_meta", None)  # the SDK would take its keys for parameters
        return message
    if "id" not in message or not {"result", "error"} & set(message):
        return NoMessage(INVALID_REQUEST, "A message has a method, or an id with a result or an error.", name)
    if "error" in message and not isinstance(message["error"], dict):
        message["error"] = {"message": str(message["error"])}
    return message


def take_over_stdio() -> tuple[int, int]:
    """Takes descriptors of our own for the protocol; other prints go to standard error."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


class StdioTransport:
    """The SDK's `Transport`. At the end of the input it calls `leave`, and waits for open answers."""

    def __init__(self, source: int, sink: int, leave: Callable[[], Awaitable[None]]) -> None:
        self._source, self._sink, self._leave = source, sink, leave
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | NoMessage | None] = asyncio.Queue()
        self._owed: Counter[Any] = Counter()
        self._all_answered = asyncio.Event()
        self._broken = False
        threading.Thread(target=self._read_lines, name="acp-input", daemon=True).start()

    def end_input(self) -> None:
        """Ends the input as if the client had disconnected; any thread may call it."""
        self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def _read_lines(self) -> None:
        """Runs in its own thread, so that a client that writes is always read."""
        try:
            with open(self._source, "rb", closefd=False) as source:
                while line := source.readline(LONGEST):
                    message: bytes | NoMessage = line
                    while not line.endswith(b"\n") and (line := source.readline(LONGEST)):
                        message = NoMessage(PARSE_ERROR, f"This line is longer than {LONGEST} bytes.")
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, message)
            self.end_input()
        except (OSError, RuntimeError):  # RuntimeError: the event loop is closed
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
        """Writes at once, so that messages arrive in the order of their sending."""
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
        """Leaves the rest of the input unread."""


T = TypeVar("T")
CANCEL = signal.SIGUSR1
"""The signal that we send to our own main thread."""
KNOCKS = 0.3
"""Seconds between signals: one that arrives right before a wait begins does not end the wait."""
GRACE = 3.0
"""Seconds in which an interrupted item is not interrupted again."""


@dataclass(eq=False)
class WorkItem(Generic[T]):
    work: Callable[[], T]
    session: str = ""
    """The session, if it is a prompt."""
    future: Future[T] = field(default_factory=Future)
    cancelled: bool = False
    """The client cancelled it."""
    interrupted: float = -math.inf
    """The time of its last interrupt."""


class Worker:
    def __init__(self) -> None:
        self.current: WorkItem[Any] | None = None
        self.prompt: WorkItem[Any] | None = None
        """The one prompt that is under way or waits for the item before it."""
        self.ends = False
        """A signal from outside ends the process."""
        self._items: queue.SimpleQueue[WorkItem[Any] | None] = queue.SimpleQueue()
        self._thread = threading.main_thread().ident

    # -- from the connection's thread ---------------------------------------------------------

    def submit(self, item: WorkItem[T]) -> Future[T]:
        if self.ends:
            item.future.set_exception(Interrupted())
            return item.future
        if item.session:
            self.prompt = item
        self._items.put(item)
        return item.future

    async def cancel_prompt(self, session: str = "") -> None:
        """Cancels the prompt of this session, or of any, and waits for its end."""
        item = self.prompt
        if item is None or session not in {"", item.session} or self._thread is None:
            return
        item.cancelled = True
        while not item.future.done():
            signal.pthread_kill(self._thread, CANCEL)
            await asyncio.sleep(KNOCKS)

    def stop(self) -> None:
        """Stops after the items that were submitted so far."""
        self._items.put(None)

    # -- in the main thread -------------------------------------------------------------------

    def run(self) -> None:
        """Works until it is stopped, or a signal ends it."""
        with self._signals(), suppress(KeyboardInterrupt):
            while not self.ends and (item := self._items.get()) is not None:
                self._carry_out(item)
        while not self._items.empty():
            if (item := self._items.get()) is not None:
                item.future.set_exception(Interrupted())

    def _carry_out(self, item: WorkItem[Any]) -> None:
        item.future.set_running_or_notify_cancel()
        failure: BaseException | None = None
        result = None
        try:
            self.current = item
            try:
                result = item.work()
            finally:
                self.current = None
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - told to whoever waits for it
            failure = error
        if self.prompt is item:
            self.prompt = None
        if failure is None:
            item.future.set_result(result)
        else:
            item.future.set_exception(Interrupted() if isinstance(failure, KeyboardInterrupt) else failure)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        handlers = {
            CANCEL: self._on_cancel,
            signal.SIGINT: self._on_end,
            signal.SIGTERM: self._on_end,
            signal.SIGALRM: self._on_time,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_cancel(self, *_: object) -> None:
        """Interrupts the item only if it is the cancelled one: a signal may come late."""
        if self.current is not None and self.current.cancelled and _takes_interrupt(self.current):
            raise KeyboardInterrupt

    def _on_end(self, *_: object) -> None:
        self.ends = True
        if self.current is None or _takes_interrupt(self.current):
            raise KeyboardInterrupt

    def _on_time(self, *_: object) -> None:
        if self.current is not None and _takes_interrupt(self.current):
            raise OutOfTime


def _takes_interrupt(item: WorkItem[Any]) -> bool:
    now = time.monotonic()
    if now - item.interrupted < GRACE:
        return False
    item.interrupted = now
    return True


class Interrupted(Exception):
    """An item was interrupted before it was done."""
