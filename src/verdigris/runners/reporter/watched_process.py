"""Runs a program that runs tests, hears what it prints, and stops it when one of them does not end.

It uses the standard library alone; the wrappers around test binaries import it by its path.
"""

# ruff: noqa: PTH123, PTH208 - one start per binary; pathlib would be half of it
from __future__ import annotations

import os
import select
import signal
import threading
import time

TYPE_CHECKING = False  # importing typing would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_GRACE = 5.0
"""Seconds for a program that was told to stop to say where it was."""
_SAMPLE = 0.1
_LEAST = 5.0


def run_watched(
    command: list[str],
    hear: Callable[[bytes], object],
    *,
    environment: Mapping[str, str] | None = None,
    outputs: Sequence[int] = (1,),
    due: Callable[[], float | None] = lambda: None,
    stop: Callable[[int], object] = lambda process: os.kill(process, signal.SIGKILL),
) -> int:
    """Its wait status. What it left running may hold the pipe for ever, so its own end is awaited.

    `due`: when, by the monotonic clock, what runs has run for too long; `stop` is then given the process.
    """
    reading, writing = os.pipe()
    over, closing = os.pipe()
    process = os.posix_spawn(
        command[0],
        command,
        os.environ if environment is None else environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, number) for number in outputs],
    )
    os.close(writing)
    status: list[int] = []

    def wait() -> None:
        status.append(os.waitpid(process, 0)[1])
        os.close(closing)

    waiting = threading.Thread(target=wait)
    waiting.start()
    killed_at: float | None = None
    while True:
        at = due() if killed_at is None else killed_at
        left = None if at is None else max(at - time.monotonic(), 0.0)
        ready = select.select([reading, over], [], [], left)[0]
        if not ready and killed_at is None:
            stop(process)
            killed_at = time.monotonic() + _GRACE
        elif not ready:
            os.kill(process, signal.SIGKILL)
            killed_at = float("inf")
        else:
            chunk = os.read(reading, 65_536) if reading in ready else b""
            if not chunk:
                break
            hear(chunk)
    waiting.join()
    for descriptor in (reading, over):
        os.close(descriptor)
    return status[0]


class WatchedClock:
    """Which tests run, and since when nothing was heard of each. `TestA/b` is a part of `TestA`."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.running: dict[str, float] = {}
        self.begun: set[str] = set()

    def begin(self, name: str) -> None:
        self.begun.add(name)
        self.running[name] = time.monotonic()

    def pause(self, name: str) -> None:
        self.running.pop(name, None)

    def end(self, name: str) -> None:
        self.pause(name)
        whole = name.rpartition("/")[0]
        if whole in self.running:
            self.begin(whole)

    def due(self) -> float | None:
        oldest = self.oldest()
        return None if self.seconds is None or oldest is None else self.running[oldest] + self.seconds

    def oldest(self) -> str | None:
        """The oldest test that waits for none of its own parts."""
        parts = [
            name for name in self.running if not any(other.startswith(name + "/") for other in self.running)
        ]
        return min(parts, key=self.running.__getitem__, default=None)

    def restart(self) -> None:
        """Where one test after the other does not end, each gets half of the time of the last one."""
        self.running.clear()
        self.begun.clear()
        if self.seconds is not None and self.seconds > _LEAST:
            self.seconds = max(self.seconds / 2, _LEAST)


def quit_in_busiest_thread(process: int) -> None:
    """A Go program tells all that runs in the thread that hears of it, and of others only what waits."""
    before = _times(process)
    time.sleep(_SAMPLE)
    used = {thread: spent - before.get(thread, spent) for thread, spent in _times(process).items()}
    thread = max(used, key=used.__getitem__, default=process)
    try:
        import ctypes

        if not used.get(thread) or ctypes.CDLL(None).tgkill(process, thread, int(signal.SIGQUIT)):
            os.kill(process, signal.SIGQUIT)
    except (ImportError, AttributeError, OSError):
        os.kill(process, signal.SIGQUIT)


def signal_threads(process: int, number: int) -> None:
    """Each of its threads; where that cannot be done, the process."""
    try:
        import ctypes

        for thread in _times(process):
            ctypes.CDLL(None).tgkill(process, thread, int(number))
    except (ImportError, AttributeError, OSError):
        os.kill(process, number)


def _times(process: int) -> dict[int, int]:
    """How long each thread of it has run, in ticks."""
    spent: dict[int, int] = {}
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/stat", encoding="ascii", errors="replace") as told:
                fields = told.read().rpartition(") ")[2].split()
            spent[int(thread)] = int(fields[11]) + int(fields[12])
    except OSError:
        pass
    return spent
