"""One line per message on an inherited descriptor; only the process that opened it writes."""

from __future__ import annotations

import json
import os
from typing import Any

ANYBODY = 0


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
        hello = b"".join(iter(lambda: os.read(fd, 1 << 16), b""))
        settings = json.loads(hello)
        self._nonce = settings.pop("nonce")
        self.settings = settings
        self._fd, self._pid, self._identity = fd, os.getpid(), _identity(fd)

    def own(self) -> None:
        """In a child that shall write in our place."""
        self._pid = os.getpid()

    def divert(self, fd: int, settings: dict[str, Any]) -> None:
        """In a child that shall not know the channel: what it and its own children say goes to `fd`."""
        os.close(self._fd)
        self.settings = settings
        self._fd, self._pid, self._nonce, self._identity = fd, ANYBODY, "", _identity(fd)

    def owns(self) -> bool:
        """Whether this is the process that the channel was opened in."""
        return self._fd >= 0 and self._pid in {ANYBODY, os.getpid()}

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

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


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


CHANNEL = Channel()
