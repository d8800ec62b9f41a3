"""Linux calls that Python does not offer; capabilities and namespaces."""

from __future__ import annotations

import errno
import os
import sys
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, CFuncPtr, _SimpleCData, dlopen, dlsym, get_errno
from itertools import count

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from typing import Any


CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC = 1024, 2048, 4096, 16384
MS_PRIVATE, MS_RELATIME = 1 << 18, 1 << 21

ATTR_RDONLY, ATTR_NODEV = 1, 4

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36
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


class _CWord(_SimpleCData):  # type: ignore[type-arg]  # same
    _type_ = "L"


class _CFunction(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = _Int


def unshare(flags: int) -> None:
    _call("unshare", flags)


def join(namespace: int, kind: int) -> None:
    """Enters the namespace that a descriptor leads to; `kind` is one of CLONE_NEW…."""
    _call("setns", namespace, kind)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = (_bytes(source), _bytes(target), _bytes(kind), _CWord(flags), _bytes(data))
    _call("mount", *words, path=target)


def set_mount_attributes(path: str, *, put: int = 0, take: int = 0, recursive: bool = False) -> None:
    """Sets and clears attributes of mounts; raises ENOSYS before Linux 5.12."""
    attributes = b"".join(number.to_bytes(8, sys.byteorder) for number in (put, take, 0, 0))
    flags = _AT_RECURSIVE if recursive else 0
    at = (_AT_FDCWD, os.fsencode(path), flags, attributes, _CWord(len(attributes)))
    _call("syscall", _SYS_MOUNT_SETATTR, *at, path=path)


def copy_mounts(path: str) -> int:
    """Copies the mounts at and below a path; returns a descriptor. Raises ENOSYS before Linux 5.2."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    return _call_for_value("syscall", _SYS_OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags, path=path)


def attach_mount(copied: int, path: str) -> None:
    """Mounts at a path what `copy_mounts` copied."""
    at = (copied, b"", _AT_FDCWD, os.fsencode(path), _MOVE_MOUNT_F_EMPTY_PATH)
    _call("syscall", _SYS_MOVE_MOUNT, *at, path=path)


def set_host_name(name: str) -> None:
    """Names the machine in this process's UTS namespace."""
    _call("sethostname", name.encode(), _CWord(len(name)))


def prctl(option: int, argument: int) -> None:
    _call("prctl", option, _CWord(argument), _CWord(0), _CWord(0), _CWord(0))


def set_capabilities(kept: int) -> None:
    """Sets this process's effective and permitted capabilities; nothing is inheritable."""
    low, high = kept & 0xFFFFFFFF, kept >> 32
    _call("capset", _numbers(_CAPABILITY_VERSION_3, 0), _numbers(low, low, 0, high, high, 0))


def inotify(flags: int) -> int:
    """Makes a descriptor from which events of watched folders can be read."""
    return _call_for_value("inotify_init1", flags)


def watch_folder(events: int, folder: str, mask: int) -> int:
    """Watches a folder; returns the number that names the folder in its events."""
    return _call_for_value("inotify_add_watch", events, os.fsencode(folder), mask, path=folder)


def unwatch_folder(events: int, number: int) -> None:
    _call("inotify_rm_watch", events, number)


def _numbers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, sys.byteorder) for number in numbers)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _call(name: str, *words: Any, path: str | None = None) -> None:
    if _call_for_value(name, *words, path=path) != 0:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)


def _call_for_value(name: str, *words: Any, path: str | None = None) -> int:
    """Calls a C function. It is looked up at its first call, because other systems lack some of them."""
    if name not in _found:
        _found[name] = _CFunction(dlsym(dlopen(None, 0), name))  # type: ignore[arg-type]  # None: the libraries that are loaded
    answer = int(_found[name](*words))
    if answer < 0:
        number = get_errno() or errno.EINVAL
        raise OSError(number, os.strerror(number), path)
    return answer


CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE = 0, 1, 3, 4, 5, 6, 7, 10

_FILES = frozenset({CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, NET_BIND_SERVICE})
_IDS = frozenset({SETGID, SETUID})


def kept_capabilities(*, user_namespace: bool) -> frozenset[int]:
    """The capabilities that a confined root keeps.

    Not DAC_READ_SEARCH: with it files can be opened by handle, although they are masked. Not SETUID without a
    user namespace: it would give access to other users' processes outside.
    """
    if os.geteuid() != 0:
        return frozenset()
    return _FILES | _IDS if user_namespace else _FILES


def drop_all_but(keep: frozenset[int]) -> None:
    """Drops all other capabilities for good, also for programs that are started later."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    for capability in count():
        if capability in keep:
            continue
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == errno.EINVAL:
                break  # the kernel knows no capability of this number, nor a higher one
            raise
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    set_capabilities(sum(1 << capability for capability in keep & _permitted_capabilities()))


def _permitted_capabilities() -> frozenset[int]:
    with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        bits = next(int(line.split()[1], 16) for line in status if line.startswith("CapPrm:"))
    return frozenset(n for n in range(bits.bit_length()) if bits >> n & 1)


if TYPE_CHECKING:
    from typing import Literal

    Way = Literal["mapped", "own", "plain"]
else:
    Way = str
"""How a process is confined.

`own`: a user namespace with the caller's ids only. Only for root: `mapped`, where the mounts are made first
and then a user namespace that maps every id to itself; and `plain`, without a user namespace, if none can be
made.
"""

IDS = {"uid_map": os.geteuid, "gid_map": os.getegid}


def ways() -> tuple[Way, ...]:
    """The ways that can be tried, the strongest first.

    Root needs a user namespace too. A process in it, whatever its capabilities, cannot inspect a process
    outside, or another confined one, by `ptrace` or `/proc/PID`. It cannot undo its mounts either.
    """
    return ("mapped", "own", "plain") if os.geteuid() == 0 else ("own",)


def enter_namespaces(*, own_ids: bool, ipc: bool = True) -> None:
    """Enters new namespaces for mounts, for IPC if wanted, and with `own_ids` for users."""
    apart = CLONE_NEWNS | (CLONE_NEWIPC if ipc else 0)
    if own_ids:
        enter_users(apart)
    else:
        unshare(apart)
    mount(None, "/", None, MS_REC | MS_PRIVATE)  # else our mounts would appear outside


def enter_users(apart: int) -> None:
    """Enters a new user namespace with the caller's ids only, and the other new ones that `apart` names."""
    maps = {name: f"{mine()} {mine()} 1" for name, mine in IDS.items()}
    unshare(CLONE_NEWUSER | apart)
    _write("/proc/self/setgroups", "deny")  # the kernel lets a plain user write `gid_map` only then
    for name, line in maps.items():
        _write(f"/proc/self/{name}", line)


class Mapper:
    """A process that stays outside: only such a process may map more ids than that of the
    namespace's maker.
    """

    def __init__(self, below: int | None = None) -> None:
        """`below`: a descriptor of the user namespace in which ours is made; None: the current one."""
        self.below = below
        maps = {name: identity_map(name) for name in IDS}
        wait, self.go = os.pipe()
        self.answer, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.go)
            _map_when_told(maps, wait, tell, below)
        os.close(wait)
        os.close(tell)

    def enter(self, number: int) -> None:
        """Moves this process into a new user namespace, in which it cannot undo its mounts.

        `number`: its number in the process table of the one that maps.
        """
        try:
            if self.below is None:
                unshare(CLONE_NEWUSER | CLONE_NEWNS)
            else:
                join(self.below, CLONE_NEWUSER)
                unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC)
            os.write(self.go, str(number).encode())
            failed = int(os.read(self.answer, 16) or errno.ECHILD)
        finally:
            os.close(self.go)
            os.close(self.answer)
            if os.getpid() == number:  # else it is the child of the process that forked us
                os.waitpid(self.pid, 0)
        if failed:
            raise OSError(failed, f"its ids could not be set: {os.strerror(failed)}")


def identity_map(name: str) -> str:
    """The lines that map every id to itself.

    Only ids that we have: we may be in a namespace that lacks some.
    """
    with open(f"/proc/self/{name}", encoding="ascii") as mapped:
        extents = [line.split() for line in mapped]
    return "\n".join(f"{first} {first} {count}" for first, _, count in extents)


def _map_when_told(maps: dict[str, str], wait: int, tell: int, below: int | None) -> None:
    failed = errno.EPERM
    try:
        if subject := os.read(wait, 16):
            if below is not None:
                join(below, CLONE_NEWUSER)
            for name, lines in maps.items():
                _write(f"/proc/{int(subject)}/{name}", lines)
            failed = 0
    except OSError as error:
        failed = error.errno or failed
    finally:
        os.write(tell, str(failed).encode())
        os._exit(0)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
