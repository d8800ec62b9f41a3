"""Stops a test that does not end. The test fails, its failure says where it was, and the run goes on.

The process's alarm signal stops it, not a thread, which the code under test would see. A test that sets an
alarm itself, or whose framework does so (pytest-timeout), has a limit of its own and is left alone.
"""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


_AGAIN = 5.0
"""Seconds after which the alarm is repeated, for code that caught the exception and went on."""
_LEAST = 5.0
"""The least seconds of a limit: after each stopped test the limit for the next one is halved."""


class Stopped(BaseException):
    """A test was stopped.

    It is no `Exception`: a loop that catches those may be why the test does not end.
    """


class Limit:
    """How long each phase of a test may take."""

    def __init__(self, seconds: float | None) -> None:
        """`seconds`: None for no limit."""
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
