"""The Linux calls that Python has no name for; each raises the OSError that the kernel gave."""

from __future__ import annotations

import errno
import os
import sys
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, CFuncPtr, _SimpleCData, dlopen, dlsym, get_errno

TYPE_CHECKING = False  # see confinement.py; `ctypes` costs more than `_ctypes` and all that is done with it
if TYPE_CHECKING:
    from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC = 1024, 2048, 4096, 16384
MS_PRIVATE, MS_RELATIME = 1 << 18, 1 << 21

ATTR_RDONLY, ATTR_NODEV = 1, 4

PR_SET_NO_NEW_PRIVS = 38
PR_CAPBSET_DROP = 24
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

_SYS_OPEN_TREE, _SYS_MOVE_MOUNT, _SYS_MOUNT_SETATTR = 428, 429, 442
_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC, _MOVE_MOUNT_F_EMPTY_PATH = 1, os.O_CLOEXEC, 4
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_CAPABILITY_VERSION_3 = 0x20080522

_found: dict[str, CFuncPtr] = {}


class _Int(_SimpleCData):  # type: ignore[type-arg]  # nothing in it is generic while it runs
    _type_ = "i"


class _Word(_SimpleCData):  # type: ignore[type-arg]  # same
    _type_ = "L"


class _Function(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = _Int


def unshare(flags: int) -> None:
    _called("unshare", flags)


def join(namespace: int, kind: int) -> None:
    """The namespace of a descriptor, of the kind that one of the CLONE_NEW… says."""
    _called("setns", namespace, kind)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = (_bytes(source), _bytes(target), _bytes(kind), _Word(flags), _bytes(data))
    _called("mount", *words, path=target)


def set_mount_attributes(path: str, *, put: int = 0, take: int = 0, recursive: bool = False) -> None:
    """ENOSYS before Linux 5.12."""
    attributes = b"".join(number.to_bytes(8, sys.byteorder) for number in (put, take, 0, 0))
    flags = _AT_RECURSIVE if recursive else 0
    at = (_AT_FDCWD, os.fsencode(path), flags, attributes, _Word(len(attributes)))
    _called("syscall", _SYS_MOUNT_SETATTR, *at, path=path)


def copied_mount(path: str) -> int:
    """A descriptor of what is mounted at and below a path, as it is now; ENOSYS before Linux 5.2."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    return _returned("syscall", _SYS_OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags, path=path)


def attach_mount(copied: int, path: str) -> None:
    at = (copied, b"", _AT_FDCWD, os.fsencode(path), _MOVE_MOUNT_F_EMPTY_PATH)
    _called("syscall", _SYS_MOVE_MOUNT, *at, path=path)


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    _called("prctl", option, _Word(first), _Word(second), _Word(0), _Word(0))


def set_capabilities(kept: int) -> None:
    """Of this process, effective and permitted; nothing is inheritable."""
    low, high = kept & 0xFFFFFFFF, kept >> 32
    _called("capset", _numbers(_CAPABILITY_VERSION_3, 0), _numbers(low, low, 0, high, high, 0))


def inotify(flags: int) -> int:
    """A descriptor from which events of watched folders are read."""
    return _returned("inotify_init1", flags)


def watch_folder(events: int, folder: str, mask: int) -> int:
    """The number that stands for the folder in its events."""
    return _returned("inotify_add_watch", events, os.fsencode(folder), mask, path=folder)


def _numbers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, sys.byteorder) for number in numbers)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _called(name: str, *words: Any, path: str | None = None) -> None:
    if _returned(name, *words, path=path) != 0:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)


def _returned(name: str, *words: Any, path: str | None = None) -> int:
    """Found when first called: other systems lack some of them."""
    if name not in _found:
        _found[name] = _Function(dlsym(dlopen(None, 0), name))  # type: ignore[arg-type]  # None: what is loaded
    answer = int(_found[name](*words))
    if answer < 0:
        number = get_errno() or errno.EINVAL
        raise OSError(number, os.strerror(number), path)
    return answer
