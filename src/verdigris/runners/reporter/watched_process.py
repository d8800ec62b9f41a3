"""Runs a program that runs tests, reads its output, and stops it when a test does not end.

It uses the standard library only. The wrappers around test binaries import it from their own folder.
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
"""Seconds in which a program that was told to stop may say where it was; then it is killed."""
_SAMPLE = 0.1
"""Seconds over which the work of threads is measured."""
_LEAST = 5.0
"""The least seconds of a limit, however often it is halved."""


def run_watched(
    command: list[str],
    hear: Callable[[bytes], object],
    *,
    environment: Mapping[str, str] | None = None,
    outputs: Sequence[int] = (1,),
    due: Callable[[], float | None] = lambda: None,
    stop: Callable[[int], object] = lambda process: os.kill(process, signal.SIGKILL),
) -> int:
    """Runs a command, gives its output to `hear`, and returns its wait status.

    It waits for the end of the process, not of the pipe: a child of it that still runs may hold the pipe
    open. `due`: when, by the monotonic clock, the running test will have run for too long; `stop` then gets
    the process.
    """
    reading, writing = os.pipe()
    process = os.posix_spawn(
        command[0],
        command,
        os.environ if environment is None else environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, number) for number in outputs],
    )
    os.close(writing)
    over, statuses = end_of(process)
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
    os.read(over, 1)  # waits for the end
    for descriptor in (reading, over):
        os.close(descriptor)
    return statuses[0]


def end_of(process: int) -> tuple[int, list[int]]:
    """Waits for a process in a thread.

    Returns a descriptor that becomes readable when the process ends, and a list that then has its status.
    """
    over, closing = os.pipe()
    statuses: list[int] = []

    def wait() -> None:
        statuses.append(os.waitpid(process, 0)[1])
        os.close(closing)

    threading.Thread(target=wait, daemon=True).start()
    return over, statuses


def die_like(number: int) -> None:
    """Ends this process by the signal that ended the program."""
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class WatchedClock:
    """Which tests run, and since when each is silent. `TestA/b` is a part of `TestA`."""

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
        """When the oldest running test will have run for too long."""
        oldest = self.oldest()
        return None if self.seconds is None or oldest is None else self.running[oldest] + self.seconds

    def oldest(self) -> str | None:
        """The test that has been silent for longest, among those that wait for no part of their own."""
        parts = [
            name for name in self.running if not any(other.startswith(name + "/") for other in self.running)
        ]
        return min(parts, key=self.running.__getitem__, default=None)

    def restart(self) -> None:
        """Forgets all tests, and halves the limit: if many tests hang, the run must still come to its end."""
        self.running.clear()
        self.begun.clear()
        if self.seconds is not None and self.seconds > _LEAST:
            self.seconds = max(self.seconds / 2, _LEAST)


def quit_in_busiest_thread(process: int) -> None:
    """Sends SIGQUIT to the busiest thread: Go prints the running stack of the signalled thread only."""
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


def signal_threads(process: int, number: int) -> int:
    """Signals each thread of the process; if that is not possible, the process. Returns how many hear it."""
    threads = [*_times(process)]
    try:
        import ctypes

        for thread in threads:
            ctypes.CDLL(None).tgkill(process, thread, int(number))
    except (ImportError, AttributeError, OSError):
        os.kill(process, number)
        return 1
    return len(threads)


def _times(process: int) -> dict[int, int]:
    """The number of ticks for which each thread of the process has run."""
    spent: dict[int, int] = {}
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            spent[int(thread)] = read_stat(f"{process}/task/{thread}")[1]
    except OSError:
        pass
    return spent


def read_stat(place: str) -> tuple[int, int]:
    """The parent of the process or thread `/proc/PLACE`, and for how many ticks it has run."""
    with open(f"/proc/{place}/stat", encoding="utf-8", errors="replace") as told:
        fields = told.read().rpartition(") ")[2].split()
    return int(fields[1]), int(fields[11]) + int(fields[12])
