"""A conversation between two processes: a JSON object a line, with descriptors beside it."""

from __future__ import annotations

import _socket  # `socket` makes enumerations first, and is not needed for this
import json
import os
import select
import sys
import time
from typing import Any

LONGEST = 1 << 22
MOST = 16
"""Descriptors with one message."""
_NUMBER = 4


class Broken(Exception):
    """What came is no message of ours."""


class MessageLine:
    def __init__(self, connection: Any) -> None:
        """`connection` is a connected stream socket, of either module."""
        self.connection = connection
        connection.setblocking(True)
        self._rest = b""
        self._beside: list[int] = []
        self.is_over = False
        """The other side has hung up."""

    def fileno(self) -> int:
        return int(self.connection.fileno())

    def send(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        data = json.dumps({**message, "beside": len(descriptors)}).encode("ascii") + b"\n"
        numbers = b"".join(number.to_bytes(_NUMBER, sys.byteorder) for number in descriptors)
        beside = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)] if descriptors else []
        sent = self.connection.sendmsg([data], beside)
        if sent < len(data):  # to send nothing is an error where the other end is gone by then
            self.connection.sendall(data[sent:])

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], tuple[int, ...]] | None:
        """The next message and what came beside it; None at the end, or when the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.pending:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self.connection], [], [], left)[0] or not self._read():
                return None
        return self.waiting()

    def waiting(self) -> tuple[dict[str, Any], tuple[int, ...]] | None:
        """A message that has been read already."""
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

    def _read(self) -> bool:
        """False at the end."""
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
        """Whether there is a message that has been read already."""
        return b"\n" in self._rest

    def step(self) -> bool:
        """Read what is there; False at the end."""
        return self._read()

    def hang_up(self) -> None:
        """Closes this end for everybody who has it."""
        try:
            self.connection.shutdown(_socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        for descriptor in self._beside:
            os.close(descriptor)
        self._beside = []
        self.connection.close()
