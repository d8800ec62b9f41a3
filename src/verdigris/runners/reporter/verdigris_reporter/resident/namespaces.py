"""Moves this process into namespaces that were made for it, and drops the capabilities that it has there.

The process is confined already. The namespaces give it another view of the machine, not more rights. So a
module loaded earlier that prevented the drop would gain nothing but a view in which the tree is missing.
"""

from __future__ import annotations

import os
import sys
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, CFuncPtr, _SimpleCData, dlopen, dlsym, get_errno
from typing import Any

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x20000, 0x8000000, 0x10000000, 0x40000000
KINDS = {"user": _CLONE_NEWUSER, "mnt": _CLONE_NEWNS, "ipc": _CLONE_NEWIPC, "net": _CLONE_NEWNET}
"""The flags of `setns`, in the order of joining: the user namespace gives the right to join the others."""
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PR_SET_CHILD_SUBREAPER, _IPC_RMID = 36, 0
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_HIGHEST = 63
_SIGKILL = 9


class _Int(_SimpleCData):  # type: ignore[type-arg]  # nothing in it is generic while it runs
    _type_ = "i"


class _Word(_SimpleCData):  # type: ignore[type-arg]  # same
    _type_ = "L"


class _ForeignFunction(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = _Int


def join(namespaces: dict[str, int], kept: int) -> None:
    """Joins namespaces, given by descriptors; `kept` has a bit for each capability that the run keeps."""
    for name, kind in KINDS.items():
        if name in namespaces:
            _call("setns", namespaces[name], kind)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(_HIGHEST):
        if not kept >> capability & 1:
            try:
                _prctl(_PR_CAPBSET_DROP, capability)
            except OSError:
                break  # the kernel knows no capability of this number, nor a higher one
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    _call("capset", _numbers(_CAPABILITY_VERSION_3, 0), _numbers(low, low, 0, high, high, 0))


def die_with(parent: int) -> None:
    """Has the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    # The parent may have ended before the call above: then no signal comes.
    if os.getppid() != parent:
        os._exit(1)


def hide_memory() -> None:
    """Keeps other processes of this user from our memory, descriptors and environment."""
    _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Makes this process the parent of descendants whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def remove_queue(control: str, number: int) -> None:
    """Removes a System V object; `control` is the C function for its kind: `shmctl`, `msgctl` or `semctl`."""
    words = (number, 0, _IPC_RMID) if control == "semctl" else (number, _IPC_RMID, _Word(0))
    _call(control, *words)


def _prctl(option: int, first: int) -> None:
    _call("prctl", option, _Word(first), _Word(0), _Word(0), _Word(0))


def _numbers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, sys.byteorder) for number in numbers)


def _call(name: str, *words: Any) -> None:
    function = _ForeignFunction(dlsym(dlopen(None, 0), name))  # type: ignore[arg-type]  # None: the libraries that are loaded
    if function(*words) != 0:
        number = get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
