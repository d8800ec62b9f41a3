"""The Linux calls that Python has no name for; each raises the OSError that the kernel gave."""

from __future__ import annotations

import ctypes
import errno
import os

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

_SYS_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p)
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags))


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    _checked(_libc.mount(_bytes(source), _bytes(target), _bytes(kind), flags, _bytes(data)), target)


def set_mount_attributes(path: str, *, put: int = 0, take: int = 0, recursive: bool = False) -> None:
    """ENOSYS before Linux 5.12."""
    attributes = _MountAttr(put, take, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    flags = _AT_RECURSIVE if recursive else 0
    _checked(
        _libc.syscall(
            _SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), flags, ctypes.byref(attributes), size
        ),
        path,
    )


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    _checked(_libc.prctl(option, first, second, 0, 0))


def set_capabilities(kept: int) -> None:
    """Of this process, effective and permitted; nothing is inheritable."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _checked(result: int, path: str | None = None) -> None:
    if result != 0:
        number = ctypes.get_errno() or errno.EINVAL
        raise OSError(number, os.strerror(number), path)
