"""Carries out, one after another and in the main thread, what a connection in another thread is asked for.

Only there can a signal interrupt a session wherever it is: in a model's answer, a command, a run of tests.
"""

from __future__ import annotations

import asyncio
import math
import queue
import signal
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from verdigris.drivers.code.session import OutOfTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
CANCEL = signal.SIGUSR1
"""To our own main thread, by us."""
KNOCKS = 0.3
"""Seconds between signals, until one is heard: what comes right before a wait begins does not end it."""
GRACE = 3.0
"""Seconds that whoever is interrupted has for its end."""


@dataclass(eq=False)
class WorkItem(Generic[T]):
    work: Callable[[], T]
    session: str = ""
    """Of a prompt: whose."""
    future: Future[T] = field(default_factory=Future)
    cancelled: bool = False
    """By the client."""
    interrupted: float = -math.inf
    """When it was last: what a session does about it is not interrupted at once again."""


class Worker:
    def __init__(self) -> None:
        self.current: WorkItem[Any] | None = None
        self.prompt: WorkItem[Any] | None = None
        """Under way, or waiting for the item before it; there is one at a time."""
        self.ends = False
        """A signal from outside has ended the process."""
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
        """The prompt of this session, or of any; when this returns, it has ended."""
        item = self.prompt
        if item is None or session not in {"", item.session} or self._thread is None:
            return
        item.cancelled = True
        while not item.future.done():
            signal.pthread_kill(self._thread, CANCEL)
            await asyncio.sleep(KNOCKS)

    def stop(self) -> None:
        """After what was submitted so far."""
        self._items.put(None)

    # -- in the main thread -------------------------------------------------------------------

    def run(self) -> None:
        """Until it is stopped, or a signal ends it."""
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
        """Late or early, it meets another item than it was meant for: that one is not cancelled."""
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
    """What was asked for was ended before its end."""
