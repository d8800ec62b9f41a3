"""The network that a confined process sees: none, a loopback of its own, or the machine's."""

from __future__ import annotations

import fcntl
import socket
import struct

from verdigris.kernel.sandbox.syscalls import CLONE_NEWNET, unshare

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from typing import Literal

    Network = Literal["none", "loopback", "host"]
else:
    Network = str

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def enter_network(network: Network) -> None:
    if network == "host":
        return
    unshare(CLONE_NEWNET)
    if network == "loopback":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as control:
            fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
