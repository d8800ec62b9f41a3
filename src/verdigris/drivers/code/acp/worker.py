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
class Job(Generic[T]):
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
        self.current: Job[Any] | None = None
        self.prompt: Job[Any] | None = None
        """Under way, or waiting for the job before it; there is one at a time."""
        self.ends = False
        """A signal from outside has ended the process."""
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._thread = threading.main_thread().ident

    # -- from the connection's thread ---------------------------------------------------------

    def submit(self, job: Job[T]) -> Future[T]:
        if self.ends:
            job.future.set_exception(Interrupted())
            return job.future
        if job.session:
            self.prompt = job
        self._jobs.put(job)
        return job.future

    async def cancel_prompt(self, session: str = "") -> None:
        """Of this session, or of any; when this returns, it has ended."""
        job = self.prompt
        if job is None or session not in {"", job.session} or self._thread is None:
            return
        job.cancelled = True
        while not job.future.done():
            signal.pthread_kill(self._thread, CANCEL)
            await asyncio.sleep(KNOCKS)

    def stop(self) -> None:
        """After what was submitted so far."""
        self._jobs.put(None)

    # -- in the main thread -------------------------------------------------------------------

    def run(self) -> None:
        """Until it is stopped, or a signal ends it."""
        with self._signals(), suppress(KeyboardInterrupt):
            while not self.ends and (job := self._jobs.get()) is not None:
                self._carry_out(job)
        while not self._jobs.empty():
            if (job := self._jobs.get()) is not None:
                job.future.set_exception(Interrupted())

    def _carry_out(self, job: Job[Any]) -> None:
        job.future.set_running_or_notify_cancel()
        failure: BaseException | None = None
        result = None
        try:
            self.current = job
            try:
                result = job.work()
            finally:
                self.current = None
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - told to whoever waits for it
            failure = error
        if self.prompt is job:
            self.prompt = None
        if failure is None:
            job.future.set_result(result)
        else:
            job.future.set_exception(Interrupted() if isinstance(failure, KeyboardInterrupt) else failure)

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
        """Late or early, it meets another job than it was meant for: that one is not cancelled."""
        if self.current is not None and self.current.cancelled and _takes_interrupt(self.current):
            raise KeyboardInterrupt

    def _on_end(self, *_: object) -> None:
        self.ends = True
        if self.current is None or _takes_interrupt(self.current):
            raise KeyboardInterrupt

    def _on_time(self, *_: object) -> None:
        if self.current is not None and _takes_interrupt(self.current):
            raise OutOfTime


def _takes_interrupt(job: Job[Any]) -> bool:
    now = time.monotonic()
    if now - job.interrupted < GRACE:
        return False
    job.interrupted = now
    return True


class Interrupted(Exception):
    """What was asked for was ended before its end."""
