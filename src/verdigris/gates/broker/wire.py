"""The broker's wire format: words separated by NUL, descriptors beside them."""

from __future__ import annotations

import array
import os
import socket

TYPE_CHECKING = False  # `typing` costs as much as all of this
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BROKER = "TDD_BROKER"
"""Where the broker's socket is; set inside an agent's shell."""
HARMLESS = ("NO_COLOR", "COLUMNS", "LINES", "TERM", "CI")
"""All that an inside environment has a say in: how output looks."""
STREAMS = (0, 1, 2)
LONGEST = 1 << 22

_HEADER = 8


class BrokerCall:
    def __init__(self, argv: Sequence[str], cwd: str, environment: Mapping[str, str]) -> None:
        self.argv = list(argv)
        self.cwd = cwd
        self.environment = {name: environment[name] for name in HARMLESS if name in environment}

    def packed(self) -> bytes:
        looks = [f"{name}={value}" for name, value in self.environment.items()]
        return os.fsencode("\0".join((self.cwd, str(len(looks)), *looks, *self.argv)))


def unpack_call(data: bytes) -> BrokerCall:
    """ValueError for what no client of ours sends."""
    cwd, count, *words = os.fsdecode(data).split("\0")
    looks, argv = words[: int(count)], words[int(count) :]
    return BrokerCall(argv, cwd, dict(look.split("=", 1) for look in looks))


def connect(path: str) -> socket.socket:
    """By way of its folder: a socket's own path may have a hundred bytes, a repository's more."""
    folder, name = os.path.split(path)
    held = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            made.connect(f"/proc/self/fd/{held}/{name}")
        except BaseException:
            made.close()
            raise
        return made
    finally:
        os.close(held)


def send(connection: socket.socket, call: BrokerCall) -> None:
    data = call.packed()
    streams = array.array("i", STREAMS)
    connection.sendmsg(
        [len(data).to_bytes(_HEADER, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams.tobytes())]
    )
    connection.sendall(data)


def receive(connection: socket.socket) -> tuple[BrokerCall, list[int]]:
    """The call, and the caller's stdin, stdout and stderr; ValueError where it is none."""
    header, descriptors, _, _ = socket.recv_fds(connection, _HEADER, len(STREAMS))
    try:
        return unpack_call(_exactly(connection, _size(header, descriptors))), list(descriptors)
    except ValueError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise


def _size(header: bytes, descriptors: Sequence[int]) -> int:
    size = int.from_bytes(header, "big")
    if len(header) != _HEADER or len(descriptors) != len(STREAMS) or size > LONGEST:
        raise ValueError("not a call")
    return size


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(size - len(data), 1 << 16))
        if not chunk:
            raise ValueError("cut off")
        data += chunk
    return bytes(data)
