"""Writes messages to an inherited descriptor, a line each; only the process that opened it writes."""

from __future__ import annotations

import json
import os
from typing import Any

ANYBODY = 0
"""Instead of a process id: every process that has the descriptor may write."""
SIZE = 8
"""Hexadecimal digits at the start of a greeting: the length of its first part, the settings."""
PORTION = 500
"""The most ids in one message."""


class Channel:
    """The connection to the kernel. In xdist's workers and in forked children `send` does nothing."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self._fd = -1
        self._pid = 0
        self._nonce = ""
        self._identity = (0, 0)

    def open(self, descriptor: str) -> None:
        """Reads the settings and the nonce from the descriptor.

        The nonce is not in the environment, because code of the project could read that from /proc.
        """
        if not descriptor:
            return
        fd = int(descriptor)
        os.set_inheritable(fd, False)
        settings = json.loads(_read(fd, int(_read(fd, SIZE), 16)))
        self._nonce = settings.pop("nonce")
        self.settings = settings
        self._fd, self._pid, self._identity = fd, os.getpid(), _identity(fd)

    def read_rest(self) -> bytes:
        """Reads what follows the settings in the greeting."""
        return b"".join(iter(lambda: os.read(self._fd, 1 << 16), b""))

    def leave(self, settings: dict[str, Any]) -> None:
        """Closes the channel in a child that shall not know it, and gives the child settings of its own."""
        os.close(self._fd)
        self.settings = settings
        self._fd, self._nonce = -1, ""

    def divert(self, fd: int) -> None:
        """Sends what this process and its children say to `fd` instead."""
        self._fd, self._pid, self._identity = fd, ANYBODY, _identity(fd)

    def owns(self) -> bool:
        """Whether this is the process that the channel was opened in."""
        return self._fd >= 0 and self._pid in {ANYBODY, os.getpid()}

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def send_ids(self, kind: str, ids: list[str]) -> None:
        """Sends ids in portions: the reader cuts a line that is longer than a few megabytes."""
        for first in range(0, len(ids) or 1, PORTION):
            self.send(kind, ids=ids[first : first + PORTION])

    def send(self, kind: str, **fields: Any) -> None:
        """Writes a message at once, so that code which runs later cannot take it back."""
        if not self.owns():
            return
        line = f"{self._nonce} {json.dumps({'kind': kind, **fields})}\n".encode("ascii")
        try:
            if _identity(self._fd) != self._identity:
                raise OSError  # noqa: TRY301 - a test closed it, and the number is another file's now
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError:
            self._fd = -1


def _read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(fd, size - len(data))
        if not more:
            raise EOFError("the greeting ended early")
        data += more
    return data


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


CHANNEL = Channel()


OUTPUT = 8_000
"""The most characters of a test's output in a message."""


def cap_text(text: str) -> str:
    half = OUTPUT // 2
    return (
        text
        if len(text) <= OUTPUT
        else f"{text[:half]}\n... {len(text) - OUTPUT} left out ...\n{text[-half:]}"
    )
