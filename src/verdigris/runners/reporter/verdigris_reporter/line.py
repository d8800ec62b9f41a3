"""Messages between two processes over a Unix socket: a JSON object a line, with descriptors beside it."""

from __future__ import annotations

import _socket  # `socket` makes enumerations first, and is not needed for this
import json
import os
import select
import sys
import time
from typing import Any

LONGEST = 1 << 22
"""The most bytes of a message."""
MOST = 16
"""The most descriptors with one message."""
_NUMBER = 4
"""The bytes of a descriptor in ancillary data, a C `int`."""


class Broken(Exception):
    """The other side sent something that is no message of ours."""


class MessageLine:
    def __init__(self, connection: Any) -> None:
        """`connection` is a connected stream socket, of the module `socket` or `_socket`."""
        self.connection = connection
        connection.setblocking(True)
        self._rest = b""
        self._beside: list[int] = []
        self.is_over = False
        """Whether the other side has closed its end."""

    def fileno(self) -> int:
        return int(self.connection.fileno())

    def send(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        data = json.dumps({**message, "beside": len(descriptors)}).encode("ascii") + b"\n"
        numbers = b"".join(number.to_bytes(_NUMBER, sys.byteorder) for number in descriptors)
        beside = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)] if descriptors else []
        sent = self.connection.sendmsg([data], beside)
        if sent < len(data):  # sending nothing would fail if the other side has ended since
            self.connection.sendall(data[sent:])

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], tuple[int, ...]] | None:
        """Waits for the next message and its descriptors; None at the end, or when the time is up."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.pending:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self.connection], [], [], left)[0] or not self.read_more():
                return None
        return self.take_pending()

    def take_pending(self) -> tuple[dict[str, Any], tuple[int, ...]] | None:
        """Takes a message that has been read already, if there is one."""
        data, found, rest = self._rest.partition(b"\n")
        if not found:
            return None
        self._rest = rest
        try:
            message = json.loads(data)
            count = message.pop("beside")
            beside, self._beside = tuple(self._beside[:count]), self._beside[count:]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Broken from None
        return message, beside

    def read_more(self) -> bool:
        """Reads what has arrived, and waits if nothing has. Returns False at the end."""
        space = _socket.CMSG_SPACE(MOST * _NUMBER)
        try:
            data, ancillary, _, _ = self.connection.recvmsg(1 << 16, space)
        except ConnectionError:
            data, ancillary = b"", []
        for level, kind, numbers in ancillary:
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
                whole = len(numbers) - len(numbers) % _NUMBER
                self._beside += [
                    int.from_bytes(numbers[at : at + _NUMBER], sys.byteorder)
                    for at in range(0, whole, _NUMBER)
                ]
        self._rest += data
        if len(self._rest) > LONGEST:
            raise Broken
        self.is_over = not data
        return bool(data)

    @property
    def pending(self) -> bool:
        """Whether a message has been read that nobody has taken yet."""
        return b"\n" in self._rest

    def hang_up(self) -> None:
        """Shuts the connection down, also for other processes that hold this end."""
        try:
            self.connection.shutdown(_socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        for descriptor in self._beside:
            os.close(descriptor)
        self._beside = []
        self.connection.close()
