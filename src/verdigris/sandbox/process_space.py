"""Keeps the processes of a worktree's agents apart in a PID namespace.

All calls of a worktree share the namespace: a later call sees, and may end, what an earlier one left running.
Nothing outside is seen from there, so no signal, limit or trace reaches it. Its first process, the keeper, is
ours and takes no signal from inside; it goes when it is alone. If the keeper is gone, all the others are.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs as much as all of this
import fcntl
import os

from verdigris.sandbox.process_table import detach
from verdigris.sandbox.processes import identity, is_there, send, stat_fields
from verdigris.sandbox.syscalls import CLONE_NEWPID, CLONE_NEWUSER, enter_users, join, unshare

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from typing import NoReturn


NAME = b"verdigris-keeper"
_ARGUMENTS = slice(45, 47)
"""Fields of `/proc/PID/stat` behind the name."""
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


def tell_keeper(named: str) -> None:
    """Has it look whether it is alone."""
    send(named, _signal.SIGTERM)


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
        detach(set())
        os.chdir("/")
        _rename()
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        awaited = {_signal.SIGCHLD, _signal.SIGTERM}
        _signal.pthread_sigmask(_signal.SIG_SETMASK, awaited)
        while not _is_alone(lock):
            _signal.sigtimedwait(awaited, _LOOK_AGAIN)
            _reap()
        os.ftruncate(lock, 0)  # before the lock is let go: who began here now would end with us
    finally:
        os._exit(0)


def _rename() -> None:
    """Else it would be found by the words of the call that made it (`pgrep -f`)."""
    start, end = map(int, stat_fields("self")[_ARGUMENTS])
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
