"""Stops a test that does not end, so that its failure says where it was, and the run goes on.

An alarm of the process does it, without a thread: threads would show in what is tested. A test that sets an
alarm of its own, or whose framework does (pytest-timeout), has a limit of its own and is left alone.
"""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


_AGAIN = 5.0
"""Seconds after which code that swallowed the alarm hears it again."""
_LEAST = 5.0
"""Where one test after the other does not end, each gets half of the time of the last one, this at least."""


class Stopped(BaseException):
    """Not an Exception: what catches those, again and again, may be why the test does not end."""


class Limit:
    def __init__(self, seconds: float | None) -> None:
        """None: as long as it takes."""
        self._seconds = seconds
        self._before: Any = None

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        if not self._arm():
            yield
            return
        try:
            yield
        finally:
            self._disarm()

    def _arm(self) -> bool:
        if self._seconds is None or not hasattr(signal, "setitimer"):
            return False
        try:
            if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
                return False
            self._before = signal.signal(signal.SIGALRM, self._stop)
        except ValueError:  # not in the main thread
            return False
        signal.setitimer(signal.ITIMER_REAL, self._seconds, _AGAIN)
        return True

    def _disarm(self) -> None:
        if signal.getsignal(signal.SIGALRM) == self._stop:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before or signal.SIG_DFL)

    def _stop(self, _number: int, _frame: Any) -> None:
        __tracebackhide__ = True
        seconds = self._seconds or 0.0
        if seconds > _LEAST:
            self._seconds = max(seconds / 2, _LEAST)
        raise Stopped(f"stopped after {seconds:g} s")
