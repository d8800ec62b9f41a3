"""The network that a confined process sees: none, a loopback of its own, or the machine's."""

from __future__ import annotations

import _socket  # a head start is confined before `socket` is loaded
import fcntl
import sys

from verdigris.sandbox.syscalls import CLONE_NEWNET, unshare

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from typing import Literal

    Network = Literal["none", "loopback", "host"]
else:
    Network = str

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_NAME, _REQUEST = 16, 40
"""Bytes of an interface's name, and of a request about it."""


def enter_network(network: Network) -> None:
    if network == "host":
        return
    unshare(CLONE_NEWNET)
    if network == "loopback":
        control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
        request = b"lo".ljust(_NAME, b"\0") + _IFF_UP.to_bytes(2, sys.byteorder)
        fcntl.ioctl(control, _SIOCSIFFLAGS, request.ljust(_REQUEST, b"\0"))
        control.close()
