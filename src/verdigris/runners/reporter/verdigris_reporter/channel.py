"""One line per message on an inherited descriptor; only the process that opened it writes."""

from __future__ import annotations

import json
import os
from typing import Any

ANYBODY = 0
SIZE = 8
"""Hexadecimal digits in which a greeting tells the length of its first part, the settings."""
PORTION = 500
"""Ids in one message."""


class Channel:
    """Closed in xdist's workers and in forked children: there `send` does nothing."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self._fd = -1
        self._pid = 0
        self._nonce = ""
        self._identity = (0, 0)

    def open(self, descriptor: str) -> None:
        """The nonce comes through the channel itself: an environment can be read again from /proc."""
        if not descriptor:
            return
        fd = int(descriptor)
        os.set_inheritable(fd, False)
        settings = json.loads(_read(fd, int(_read(fd, SIZE), 16)))
        self._nonce = settings.pop("nonce")
        self.settings = settings
        self._fd, self._pid, self._identity = fd, os.getpid(), _identity(fd)

    def rest(self) -> bytes:
        """What follows the settings."""
        return b"".join(iter(lambda: os.read(self._fd, 1 << 16), b""))

    def leave(self, settings: dict[str, Any]) -> None:
        """In a child that shall not know the channel."""
        os.close(self._fd)
        self.settings = settings
        self._fd, self._nonce = -1, ""

    def divert(self, fd: int) -> None:
        """What this process and its own children say goes to `fd`."""
        self._fd, self._pid, self._identity = fd, ANYBODY, _identity(fd)

    def owns(self) -> bool:
        """Whether this is the process that the channel was opened in."""
        return self._fd >= 0 and self._pid in {ANYBODY, os.getpid()}

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def send_ids(self, kind: str, ids: list[str]) -> None:
        """In portions: who reads cuts a line that is longer than a few megabytes."""
        for first in range(0, len(ids) or 1, PORTION):
            self.send(kind, ids=ids[first : first + PORTION])

    def send(self, kind: str, **fields: Any) -> None:
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


def cap_text(text: str) -> str:
    half = OUTPUT // 2
    return (
        text
        if len(text) <= OUTPUT
        else f"{text[:half]}\n... {len(text) - OUTPUT} left out ...\n{text[-half:]}"
    )
