"""The namespaces of a confined process, and which ids it has in them."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH123

from __future__ import annotations

import os

from verdigris.sandbox.syscalls import (
    CLONE_NEWIPC,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_PRIVATE,
    MS_REC,
    join,
    mount,
    unshare,
)

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from typing import Literal

    Way = Literal["mapped", "own", "plain"]
else:
    Way = str
"""`own`: a user namespace that has the caller's ids only. As root also `mapped`: the mounts are made first,
then a user namespace that has every id as itself; and `plain`: none, where none can be made."""

IDS = {"uid_map": os.geteuid, "gid_map": os.getegid}


def ways() -> tuple[Way, ...]:
    """Those worth trying, the strongest first.

    A user namespace also as root: what runs in it may not look into a process outside, or into another
    confined one, by `ptrace` or `/proc/PID`, whatever capabilities either has. Its mounts are locked besides.
    """
    return ("mapped", "own", "plain") if os.geteuid() == 0 else ("own",)


def leave(*, own_ids: bool, ipc: bool = True) -> None:
    """Into namespaces of our own, where no mount reaches the one we came from."""
    apart = CLONE_NEWNS | (CLONE_NEWIPC if ipc else 0)
    if own_ids:
        maps = {name: f"{mine()} {mine()} 1" for name, mine in IDS.items()}
        unshare(CLONE_NEWUSER | apart)
        _write("/proc/self/setgroups", "deny")
        for name, line in maps.items():
            _write(f"/proc/self/{name}", line)
    else:
        unshare(apart)
    mount(None, "/", None, MS_REC | MS_PRIVATE)


class Mapper:
    """A process that stays outside: only such a one may give a user namespace more ids than its maker's."""

    def __init__(self, below: int | None = None) -> None:
        """`below` is a descriptor of the user namespace in which ours is made, where it is not this one."""
        self.below = below
        subject = os.getpid()
        maps = {name: same(name) for name in IDS}
        wait, self.go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.go)
            _map_when_told(subject, maps, wait, below)
        os.close(wait)

    def enter(self) -> None:
        """With this process into a user namespace, with mounts that nobody in it can undo."""
        try:
            if self.below is None:
                unshare(CLONE_NEWUSER | CLONE_NEWNS)
            else:
                join(self.below, CLONE_NEWUSER)
                unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC)
            os.write(self.go, b".")
        finally:
            os.close(self.go)
            _, status = os.waitpid(self.pid, 0)
        if status != 0:
            number = os.waitstatus_to_exitcode(status)
            raise OSError(number, f"its ids could not be set: {os.strerror(number)}")


def same(name: str) -> str:
    """Every id that we have, as itself; we may be in a namespace already that lacks some."""
    with open(f"/proc/self/{name}", encoding="ascii") as mapped:
        extents = [line.split() for line in mapped]
    return "\n".join(f"{first} {first} {count}" for first, _, count in extents)


def _map_when_told(subject: int, maps: dict[str, str], wait: int, below: int | None) -> None:
    code = 1
    try:
        if os.read(wait, 1):
            if below is not None:
                join(below, CLONE_NEWUSER)
            for name, lines in maps.items():
                _write(f"/proc/{subject}/{name}", lines)
            code = 0
    except OSError as error:
        code = error.errno or 1
    finally:
        os._exit(code)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
