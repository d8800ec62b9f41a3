"""What each test prints, kept apart from what the runner prints; also what its child processes print."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from typing import IO, Any

_MOST = 1 << 20


class Printed:
    """Standard output and error go to a file; what came there is handed on at the end of each test."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._real = os.dup(2)
        self.stream: Any = os.fdopen(os.dup(2), "w", errors="backslashreplace")
        """For the runner."""
        self._mark = 0
        _flush()
        for standard in (1, 2):
            os.dup2(self._file.fileno(), standard)

    def mark(self) -> None:
        self._hand_on()

    def since_mark(self) -> str:
        return self._hand_on().decode("utf-8", "replace")

    def end(self) -> None:
        self._hand_on()
        for standard in (1, 2):
            os.dup2(self._real, standard)

    def _hand_on(self) -> bytes:
        _flush()
        end = os.lseek(self._file.fileno(), 0, os.SEEK_END)
        start = max(self._mark, end - _MOST)
        data = os.pread(self._file.fileno(), end - start, start)
        self._mark = end
        self.stream.flush()
        with contextlib.suppress(OSError):
            os.write(self._real, data)
        return data


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a test may have put anything in their place
            stream.flush()
