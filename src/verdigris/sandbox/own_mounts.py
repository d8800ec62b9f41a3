"""Opens files by mounts that nobody else has: who holds them keeps no file system from being unmounted."""

from __future__ import annotations

import _socket
import os
import sys

from verdigris.sandbox.syscalls import enter_namespaces

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from typing import NoReturn

_NUMBER = 4
"""The bytes of a descriptor, or of an error's number."""


def open_apart(path: str, flags: int, mode: int = 0o777) -> int:
    """Opens a file as `os.open` does, on a copy of its mount that only the descriptor keeps.

    The copy is made in a namespace that ends at once. Where none can be made, the mount is everybody's.
    """
    ours, theirs = _socket.socketpair()
    child = os.fork()
    if child == 0:
        _open_and_send(theirs, path, flags, mode)
    theirs.close()
    error, beside, *_ = ours.recvmsg(_NUMBER, _socket.CMSG_SPACE(_NUMBER), _socket.MSG_CMSG_CLOEXEC)
    ours.close()
    os.waitpid(child, 0)
    if beside:
        return int.from_bytes(beside[0][2][:_NUMBER], sys.byteorder)
    if error:
        number = int.from_bytes(error, sys.byteorder)
        raise OSError(number, os.strerror(number), path)
    return os.open(path, flags | os.O_CLOEXEC, mode)


def _open_and_send(line: _socket.socket, path: str, flags: int, mode: int) -> NoReturn:
    try:
        enter_namespaces(own_ids=os.geteuid() != 0, ipc=False)
        try:
            descriptor = os.open(path, flags, mode)
        except OSError as error:
            line.send((error.errno or 0).to_bytes(_NUMBER, sys.byteorder))
        else:
            beside = descriptor.to_bytes(_NUMBER, sys.byteorder)
            line.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, beside)])
    finally:
        os._exit(0)
