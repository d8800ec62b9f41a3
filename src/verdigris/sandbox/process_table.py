"""A process table of a run's own: the run sees no other process, and leaves none behind.

Three processes: one outside the table, whom our parent waits for, and which ends as the program did; the
first process of the table, which adopts and reaps orphans; and the program, which the first process starts.
With the first process the kernel ends all others. A program must not be the first process itself: the kernel
would then ignore the signals that the program sends itself.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations first
import _socket
import os

from verdigris.sandbox.syscalls import (
    CLONE_NEWPID,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    PR_SET_DUMPABLE,
    PR_SET_PDEATHSIG,
    mount,
    prctl,
    unshare,
)

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn

CATCHABLE = frozenset(_signal.valid_signals()) - {_signal.SIGKILL, _signal.SIGSTOP}
_DESCRIPTORS = ("/proc/self/fd", "/dev/fd")
_STANDARD = 3
_NUMBER = 16


class FirstProcess:
    """The first process of the table: this one.

    `number`: its number in the table outside. `line`: to the process outside.
    """

    def __init__(self, number: int, line: _socket.socket) -> None:
        self.number = number
        self.line = line

    def run(self, argv: Sequence[str], env: Mapping[str, str], closed: Iterable[int]) -> NoReturn:
        """Starts the program in a session of its own, and ends when it has ended.

        Raises the OSError that kept it from starting. `closed`: descriptors that only the program keeps.
        """
        program = _start(argv, env)
        for descriptor in closed:
            os.close(descriptor)
        _signal.signal(_signal.SIGTERM, lambda *_: _pass_on(program))
        ended, status = 0, 0
        while ended != program:
            ended, status = os.waitpid(-1, 0)
        self.line.send(str(status).encode())
        os._exit(0)


def enter_table() -> FirstProcess:
    """Moves on into a new process table, in a fork that is its first process, with a `/proc` of that table.

    The process that called this stays outside, and never returns.
    """
    ours, theirs = _socket.socketpair()
    unshare(CLONE_NEWPID)
    first = os.fork()
    if first:
        _wait_outside(first, ours)
    ours.close()
    # Our memory is that of the command which judges the run: nobody else in the table may look into it.
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)
    theirs.recv(1)  # the process outside has closed its descriptors, for which it needs the old `/proc`
    _end_if_alone(theirs)
    number = int(os.readlink("/proc/self"))
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    return FirstProcess(number, theirs)


def _end_if_alone(line: _socket.socket) -> None:
    """The process outside may have ended before we asked for a signal at its end."""
    try:
        line.recv(1, _socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
    os._exit(1)


def _wait_outside(first: int, line: _socket.socket) -> NoReturn:
    """Waits for the first process, and ends as the program did.

    It ignores signals to its group: the first process, which is in it too, passes them on.
    """
    try:
        prctl(PR_SET_DUMPABLE, 0)
        prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)
        for number in CATCHABLE - {_signal.SIGCHLD}:
            _signal.signal(number, _signal.SIG_IGN)
        close_all_but({line.fileno()}, standard=True)
        line.send(b".")
        _, own = os.waitpid(first, 0)
        said = line.recv(_NUMBER)
        _end_like(int(said) if said else own)
    finally:
        os._exit(1)


def _end_like(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in CATCHABLE:
            _signal.signal(number, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _pass_on(program: int) -> None:
    try:
        os.killpg(program, _signal.SIGTERM)
    except ProcessLookupError:
        return


def _start(argv: Sequence[str], env: Mapping[str, str]) -> int:
    missing: OSError | None = None
    for path in _candidates(argv[0], env):
        try:
            return os.posix_spawn(path, list(argv), env, setsid=True)
        except (FileNotFoundError, NotADirectoryError) as error:
            missing = missing or error
        except PermissionError as error:
            missing = error
    raise missing or FileNotFoundError


def _candidates(name: str, env: Mapping[str, str]) -> Iterator[str]:
    if "/" in name:
        yield name
    else:
        yield from (f"{folder}/{name}" for folder in os.get_exec_path(env))


def detach(kept: set[int]) -> None:
    """Goes on in a session of its own. Who waits for the end of our output does not wait for this process."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(_STANDARD):
        os.dup2(nowhere, number)
    close_all_but(kept)


def close_all_but(kept: set[int], *, standard: bool = False) -> None:
    """Closes the descriptors that are open. Trying every number takes minutes if there is no limit."""
    folder = next(folder for folder in _DESCRIPTORS if os.path.isdir(folder))
    for descriptor in map(int, os.listdir(folder)):
        if descriptor not in kept and (standard or descriptor >= _STANDARD):
            try:
                os.close(descriptor)
            except OSError:
                continue  # the descriptor that listed the folder is closed by now
