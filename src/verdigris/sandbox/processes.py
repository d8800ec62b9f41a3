"""Finds the processes of each shell call by their namespaces, and ends those that are proven to be a call's.

The keeper is the first process of the PID namespace in which they are: see `process_space`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs as much as all of this
import fcntl
import os
import time

from verdigris.sandbox.notes import names_in
from verdigris.sandbox.syscalls import (
    ATTR_RDONLY,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    join,
    set_mount_attributes,
)

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_NS_GET_PARENT = 0xB702
_STATE, _START = 0, 19
"""Fields of `/proc/PID/stat` behind the name."""
_PERMISSIONS, _INODE = 1, 4
"""Columns of `/proc/PID/maps`."""
_DEAD = frozenset({b"Z", b"X"})
_HIDDEN = "?"
"""In place of the namespaces of a process that lives and cannot be looked at."""
_LOOKS, _ENDING = 5, 0.002
"""How often we look where one is in doubt, and seconds in which a process that ends just now has ended."""


def identity(pid: int | str) -> str:
    """Names a process as no later one is named; empty if there is none."""
    try:
        fields = stat_fields(pid)
    except OSError:
        return ""
    return "" if fields[_STATE] in _DEAD else f"{pid} {int(fields[_START])}"


def is_there(named: str) -> bool:
    return bool(named) and identity(named.partition(" ")[0]) == named


def namespace(*, user_namespace: bool) -> bytes:
    """The namespace by which this process and its children are recognised."""
    kind = "user" if user_namespace else "mnt"
    return f"{kind} {os.stat(f'/proc/self/ns/{kind}').st_ino}".encode()


class Namespaces:
    """The namespaces of a call's processes, held from outside."""

    def __init__(self, child: int, *, own_ids: bool) -> None:
        kinds = ("user", "mnt") if own_ids else ("mnt",)
        self.held = [os.open(f"/proc/{child}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
        self.mounts = f"mnt {os.fstat(self.held[-1]).st_ino}"

    def close_to(self, folders: Sequence[str]) -> bool:
        """Makes folders read-only for who is left inside; False where one has a file there open to write."""
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1] == 0
        code = 1
        try:
            for held, kind in zip(self.held, (CLONE_NEWUSER, CLONE_NEWNS)[-len(self.held) :], strict=True):
                join(held, kind)
            for folder in folders:
                set_mount_attributes(folder, put=ATTR_RDONLY, recursive=True)
            code = 0
        finally:
            os._exit(code)


def living(wanted: set[str], *, kept: bool) -> set[str]:
    """Those of the namespaces in which a process lives, or may live; also in one that was made inside.

    `kept`: they have a keeper, and `may_hide` tells more of those that cannot be looked at.
    """
    doubted = set() if kept else {_HIDDEN}
    for _ in range(_LOOKS):
        seen = {name for _, found in _inside(wanted | doubted) for name in found}
        if wanted <= seen or _HIDDEN not in seen:
            return wanted & seen
        time.sleep(_ENDING)
    return wanted


def mapped_inodes() -> frozenset[int]:
    """Inodes that processes in other mount namespaces share as memory: no stamp tells what they write."""
    mine = _own_namespaces()["mnt"]
    found: set[int] = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{pid}/ns/mnt").st_ino != mine:
                with open(f"/proc/{pid}/maps", "rb") as file:
                    lines = (line.split(maxsplit=_INODE + 1) for line in file)
                    found.update(int(line[_INODE]) for line in lines if line[_PERMISSIONS].endswith(b"s"))
        except OSError:
            continue
    return frozenset(found - {0})


def is_inside(pid: int, namespace: str) -> bool:
    """Whether a process is in the namespace of a call; one that cannot be looked at is not."""
    return any(_inside({namespace}, pids=(str(pid),)))


def kill(namespace: str, keeper: str = "", spared: str = "") -> int:
    """Kills the processes that are proven to be a call's, but those in the mount namespace `spared`; returns
    how many. Call it again for processes that start meanwhile.
    """
    return sum(_kill(pid, proof, spared) for pid, proof in _proven(namespace, keeper))


def of_call(namespace: str, keeper: str = "") -> list[int]:
    """The processes that are proven to be a call's."""
    return [pid for pid, _ in _proven(namespace, keeper)]


def _proven(namespace: str, keeper: str) -> Iterator[tuple[int, set[str]]]:
    """Processes with the namespaces that prove whose they are.

    Proven: they are in the call's namespace and, where a keeper is named, in the keeper's, too, and can gain
    no rights; the kernel gives the number of a namespace again. One that cannot be looked at is `living`, and
    is never among them.
    """
    proof = {namespace}
    if keeper:
        try:
            proof |= _inner(keeper.partition(" ")[0], "pid", _own_namespaces()["pid"]) or {""}
        except OSError:
            return  # with it all ended
    for pid, found in _inside(proof):
        if proof <= found:
            yield pid, proof


def may_hide(namespace: str, keeper: str, spared: str = "") -> bool:
    """Whether one of the call is below the keeper, or may be: one that ended may have left another.

    In a list of all processes one is missed that always leaves another, and ends. Below the keeper it is not.
    """
    for _ in range(_LOOKS):
        before, now = dict(_below(keeper)), dict(_below(keeper))
        if any(namespace in found and _mounts(found) != {spared} for found in now.values()):
            return True
        ended, had_ended = ({pid for pid in seen if not seen[pid]} for seen in (now, before))
        if ended <= had_ended and {_HIDDEN} not in now.values():  # who ended, and is awaited by nobody, stays
            return False
        time.sleep(_ENDING)
    return True


def _below(keeper: str) -> Iterator[tuple[str, set[str]]]:
    """The processes below a keeper and their namespaces; none of one that ended."""
    mine = _own_namespaces()
    below = children(keeper.partition(" ")[0])
    for pid in below:  # it grows
        try:
            found = _namespaces(pid, mine)
        except OSError:
            found = _of_its_threads(pid, mine) or ({_HIDDEN} if _is_hidden(pid) else set())
        yield pid, found
        below += children(pid)


def children(pid: str) -> list[str]:
    found = []
    for thread in _threads(pid):
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += file.read().decode().split()
        except OSError:
            continue
    return found


def kill_all(keeper: str) -> None:
    """Ends the keeper, and with it all that it keeps: some start others faster than they are killed."""
    try:
        if not _inner(keeper.partition(" ")[0], "pid", _own_namespaces()["pid"]):
            return
    except OSError:
        return  # it is gone
    send(keeper, _signal.SIGKILL)
    while is_there(keeper):
        time.sleep(_ENDING)


def send(named: str, number: int) -> None:
    """Sends a signal to this process, and to no other that got its number."""
    try:
        held = os.pidfd_open(int(named.partition(" ")[0]))
    except (OSError, ValueError):
        return
    try:
        if is_there(named):
            _signal.pidfd_send_signal(held, number)
    except OSError:
        return
    finally:
        os.close(held)


def _kill(pid: int, proof: set[str], spared: str) -> bool:
    """Looks again while it holds the process: another may have got its number."""
    try:
        held = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        found = next((found for _, found in _inside(proof, pids=(str(pid),))), set())
        if not (proof <= found and is_bound(pid)):
            return False
        if _mounts(found) == {spared}:
            return False
        _signal.pidfd_send_signal(held, _signal.SIGKILL)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(held)


def _inside(wanted: set[str], pids: Sequence[str] = ()) -> Iterator[tuple[int, set[str]]]:
    """Processes in one of the namespaces, with all of theirs. `pids`: all, if none is named."""
    mine = _own_namespaces()
    for pid in filter(str.isdigit, pids or os.listdir("/proc")):
        try:
            found = _namespaces(pid, mine)
        except OSError:
            found = _of_its_threads(pid, mine)
            if not found and _HIDDEN in wanted and _is_hidden(pid):
                found = {_HIDDEN}
        if wanted & found:
            yield int(pid), found


def _own_namespaces() -> dict[str, int]:
    return {kind: os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("user", "mnt", "pid")}


def _mounts(namespaces: set[str]) -> set[str]:
    return {name for name in namespaces if name.startswith("mnt ")}


def _namespaces(pid: str, mine: dict[str, int]) -> set[str]:
    mnt = os.stat(f"/proc/{pid}/ns/mnt").st_ino
    if mnt == mine["mnt"]:
        return set()
    return {f"mnt {mnt}", *_inner(pid, "user", mine["user"]), *_inner(pid, "pid", mine["pid"])}


def _of_its_threads(pid: str, mine: dict[str, int]) -> set[str]:
    """The namespaces of the other threads, where the first has ended."""
    found: set[str] = set()
    for thread in _threads(pid):
        try:
            found |= _namespaces(f"{pid}/task/{thread}", mine)
        except OSError:
            continue
    return found


def _is_hidden(pid: str) -> bool:
    """Whether it lives and may be an agent's: it is of this user, and can gain no rights."""
    try:
        if not is_bound(pid) or b"\nUid:\t%d\t" % os.geteuid() not in _status(pid):
            return False
        return any(stat_fields(f"{pid}/task/{thread}")[_STATE] not in _DEAD for thread in _threads(pid))
    except OSError:
        return False


def is_bound(pid: int | str) -> bool:
    """Whether it can gain no rights, as every process of a call."""
    return b"\nNoNewPrivs:\t1\n" in _status(pid)


def _status(pid: int | str) -> bytes:
    with open(f"/proc/{pid}/status", "rb") as file:
        return file.read()


def _threads(pid: str) -> list[str]:
    return names_in(f"/proc/{pid}/task")


def stat_fields(pid: int | str) -> list[bytes]:
    """What `/proc/PID/stat` says behind the name."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2].split()


def _inner(pid: str, kind: str, mine: int) -> set[str]:
    """A process's namespace of that kind and those around it, up to our own."""
    found = set()
    held = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while (inode := os.fstat(held).st_ino) != mine:
            found.add(f"{kind} {inode}")
            above = fcntl.ioctl(held, _NS_GET_PARENT)
            os.close(held)
            held = above
    except OSError:
        return found
    finally:
        os.close(held)
    return found
