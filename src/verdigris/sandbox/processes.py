"""Keeps the processes of a worktree's agents apart in a PID namespace, and finds those of each call.

All calls of a worktree share the namespace: a later call sees, and may end, what an earlier one left running.
Nothing outside is seen from there, so no signal, limit or trace reaches it. Its first process, the keeper, is
ours and takes no signal from inside; it goes when it is alone. If the keeper is gone, all the others are.
"""

# Part of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH116, PTH123, PTH208

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs as much as all of this
import fcntl
import os

from verdigris.sandbox.syscalls import (
    ATTR_RDONLY,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    enter_users,
    join,
    set_mount_attributes,
    unshare,
)

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn


_NS_GET_PARENT = 0xB702
_STATE, _START, _ARGUMENTS = 0, 19, slice(45, 47)
"""Fields of `/proc/PID/stat` behind the name."""
NAME = b"verdigris-keeper"
_DEAD = frozenset({b"Z", b"X"})
_LOOK_AGAIN = 10.0
"""Seconds after which a keeper looks whether it is alone, although nobody told it to."""


def make_apart(*, own_ids: bool) -> None:
    """Children of this process begin in a new PID namespace; with `own_ids` it enters one for users, too."""
    if own_ids:
        enter_users(CLONE_NEWPID)
    else:
        unshare(CLONE_NEWPID)


class Space:
    """The PID namespace of a worktree, named by a file that holds its keeper; locked until `release`."""

    def __init__(self, path: str, *, own_ids: bool) -> None:
        """Has children of this process begin there; makes a new one where none lives."""
        self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.keeper = os.pread(self._lock, 64, 0).decode("ascii", "replace")
        if not (is_there(self.keeper) and _join(self.keeper, own_ids=own_ids)):
            make_apart(own_ids=own_ids)
            pid = os.fork()
            if pid == 0:
                _keep(path)
            self.keeper = identity(pid)
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, self.keeper.encode(), 0)

    def release(self) -> None:
        """The first process of a call is there: the keeper stays as long as it does."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)


def identity(pid: int | str) -> str:
    """Names a process as no later one is named; empty if there is none."""
    try:
        fields = _fields(pid)
    except OSError:
        return ""
    return "" if fields[_STATE] in _DEAD else f"{pid} {int(fields[_START])}"


def is_there(named: str) -> bool:
    return bool(named) and identity(named.partition(" ")[0]) == named


def tell_keeper(named: str) -> None:
    """Has it look whether it is alone."""
    if is_there(named):
        os.kill(int(named.partition(" ")[0]), _signal.SIGTERM)


def has_children(named: str) -> bool:
    """Whether the keeper has taken over a process; true where that is not to be seen."""
    pid = named.partition(" ")[0]
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return bool(file.read().strip())
    except OSError:
        return is_there(named)


def _join(keeper: str, *, own_ids: bool) -> bool:
    pid = keeper.partition(" ")[0]
    kinds = (("user", CLONE_NEWUSER), ("pid", CLONE_NEWPID)) if own_ids else (("pid", CLONE_NEWPID),)
    try:
        held = [(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC), flag) for kind, flag in kinds]
    except OSError:
        return False
    for namespace, flag in held:
        join(namespace, flag)
        os.close(namespace)
    return True


def _keep(path: str) -> NoReturn:
    """Holds no descriptor and no mount of the call's."""
    try:
        os.setsid()
        os.chdir("/")
        null = os.open("/dev/null", os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        _rename()
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        awaited = {_signal.SIGCHLD, _signal.SIGTERM}
        _signal.pthread_sigmask(_signal.SIG_SETMASK, awaited)
        while not _is_alone(lock):
            _signal.sigtimedwait(awaited, _LOOK_AGAIN)
            _reap()
    finally:
        os._exit(0)


def _rename() -> None:
    """Else it would be found by the words of the call that made it (`pgrep -f`)."""
    start, end = map(int, _fields("self")[_ARGUMENTS])
    memory = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(memory, NAME.ljust(end - start, b"\0")[: end - start], start)
    os.close(memory)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _is_alone(lock: int) -> bool:
    """No call is about to begin here, and no signal would reach anybody."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.kill(-1, 0)
    except BlockingIOError:
        return False
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    fcntl.flock(lock, fcntl.LOCK_UN)
    return False


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


def living(wanted: set[str]) -> set[str]:
    """Those of the namespaces in which a process lives, or may live; also in one that was made inside."""
    return {namespace for _, found in _inside(wanted, doubted=wanted) for namespace in wanted & found}


def kill(namespace: str, spared: str = "") -> int:
    """Kills the processes of a call, but those in the mount namespace `spared`; returns how many.

    Call it again for processes that start meanwhile.
    """
    killed = 0
    for pid, found in _inside({namespace}):
        if spared and {name for name in found if name.startswith("mnt ")} == {spared}:
            continue
        try:
            os.kill(pid, _signal.SIGKILL)
            killed += 1
        except OSError:
            continue
    return killed


def _inside(
    wanted: set[str], doubted: frozenset[str] | set[str] = frozenset()
) -> Iterator[tuple[int, set[str]]]:
    """`doubted`: where a process counts as well that cannot be looked at."""
    mine = {kind: os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("user", "mnt")}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found = _namespaces(pid, mine)
        except OSError:
            found = _of_its_threads(pid, mine) or ({*doubted} if _is_hidden(pid) else set())
        if wanted & found:
            yield int(pid), found


def _namespaces(pid: str, mine: dict[str, int]) -> set[str]:
    mnt = os.stat(f"/proc/{pid}/ns/mnt").st_ino
    return set() if mnt == mine["mnt"] else {f"mnt {mnt}", *_users(pid, mine["user"])}


def _of_its_threads(pid: str, mine: dict[str, int]) -> set[str]:
    """Of a process whose first thread has ended, the others tell."""
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
        with open(f"/proc/{pid}/status", "rb") as file:
            status = file.read()
        if b"\nNoNewPrivs:\t1\n" not in status or b"\nUid:\t%d\t" % os.geteuid() not in status:
            return False
        return any(_fields(f"{pid}/task/{thread}")[_STATE] not in _DEAD for thread in _threads(pid))
    except OSError:
        return False


def _threads(pid: str) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _fields(pid: int | str) -> list[bytes]:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2].split()


def _users(pid: str, mine: int) -> set[str]:
    """A process's user namespace and those around it, up to our own."""
    found = set()
    held = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while (inode := os.fstat(held).st_ino) != mine:
            found.add(f"user {inode}")
            above = fcntl.ioctl(held, _NS_GET_PARENT)
            os.close(held)
            held = above
    except OSError:
        return found
    finally:
        os.close(held)
    return found
