"""Starts a program in a process group of its own. The module `subprocess` would take too long to load."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations first
import _socket
import errno
import os
import sys

from verdigris.sandbox.child import Confining
from verdigris.sandbox.process_table import CATCHABLE, close_all_but
from verdigris.sandbox.syscalls import PR_SET_PDEATHSIG, prctl

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from verdigris.sandbox.process_table import FirstProcess

    Prepare = Callable[[Callable[[int], None]], FirstProcess | None]
    """Gets a function that asks the parent to write the id maps of the process with this number."""


_NOT_EXECUTED = 127
_ASKED = b"?"


class Child:
    """A child process. `output`: our end of its output. `returncode`: as in `subprocess`; None: it runs."""

    __slots__ = ("output", "pid", "returncode")

    def __init__(self, pid: int, output: int) -> None:
        self.pid = pid
        self.output = output
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        code = self._reap(0)
        assert code is not None  # noqa: S101 - `waitpid` has waited
        return code

    def has_ended(self) -> bool:
        """Whether it has ended. It is not reaped: until then no other process or group gets its number."""
        if self.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end_of(self) -> int | None:
        """A new descriptor that becomes readable when the child ends; None if the system has none."""
        return os.pidfd_open(self.pid) if sys.platform == "linux" else None

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def spawn(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    kept: int | None,
    prepare: Prepare,
    ids: Mapping[str, str],
) -> Child:
    """Starts a program in its own session, with an empty input and one pipe for all output.

    Raises the OSError that kept it from starting. `kept` is the only other descriptor that the program
    inherits. `prepare` runs in the child before the program. Its argument is a function that asks the parent
    to write `ids` into the child's id maps: only a process outside can do that. If it returns the first
    process of a new process table, the program is started by that; the child then only ends as it does.
    """
    output, theirs = os.pipe()
    said, tell = os.pipe()
    wait, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go)
        _exec_program((argv, cwd, env), theirs, kept, _ParentPipes(tell, wait), prepare)
    for descriptor in (theirs, tell, wait):
        os.close(descriptor)
    child = Child(pid, output)
    heard = os.read(said, 16)  # empty once the program runs: `exec` closes the other end
    if asked := heard.startswith(_ASKED):
        _write_id_maps(int(heard.removeprefix(_ASKED)), ids, go)
    os.close(go)
    failure = os.read(said, 16) if asked else heard
    os.close(said)
    if failure:
        child.wait()
        os.close(output)
        raise OSError(int(failure), os.strerror(int(failure)), argv[0])
    return child


def _write_id_maps(pid: int, ids: Mapping[str, str], go: int) -> None:
    """Writes the id maps. If that fails, the child gets no go-ahead and ends."""
    try:
        for name, lines in ids.items():
            written = os.open(f"/proc/{pid}/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(written, lines.encode())
            finally:
                os.close(written)
    except OSError:
        return
    os.write(go, b".")


class _ParentPipes:
    """The pipes by which a child talks to its parent before its program runs."""

    def __init__(self, tell: int, wait: int) -> None:
        self.tell = tell
        self.wait = wait

    def ask_for_ids(self, number: int) -> None:
        """Asks the parent to write the id maps of a process, and waits until it has."""
        os.write(self.tell, _ASKED + str(number).encode())
        if not os.read(self.wait, 1):
            raise OSError("its ids could not be set")


def _exec_program(
    program: tuple[Sequence[str], str, Mapping[str, str]],
    output: int,
    kept: int | None,
    pipes: _ParentPipes,
    prepare: Prepare,
) -> NoReturn:
    """Turns the forked child into the program.

    `program`: its arguments, working directory and environment.
    """
    argv, cwd, env = program
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(cwd)
        first = prepare(pipes.ask_for_ids)
        _reset_signals()
        only = {pipes.tell} if kept is None else {pipes.tell, kept}
        close_all_but(only if first is None else {*only, first.line.fileno()})
        if kept is not None:
            os.set_inheritable(kept, True)
        if first is not None:
            first.run(argv, env, only)
        os.execvpe(argv[0], list(argv), env)  # noqa: S606 - the caller chooses the program
    except (OSError, ValueError) as error:  # ValueError: a word contains a NUL
        os.write(pipes.tell, str(getattr(error, "errno", None) or errno.EINVAL).encode())
    finally:
        os._exit(_NOT_EXECUTED)


def _reset_signals() -> None:
    """Resets signals. `exec` keeps those that are ignored, as by our interpreter, `nohup` and `&`."""
    for number in CATCHABLE:
        if _signal.getsignal(number) is not _signal.SIG_DFL:
            _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


class Started:
    """A running child and our end of its channel."""

    resident = False
    """Whether it is a child of a resident process, and not ours."""
    lost = False
    """Whether its exit status cannot be determined."""

    def __init__(self, child: Child, ours: _socket.socket | None) -> None:
        self.child = child
        self.ours = ours

    def has_arrived(self) -> bool:
        """Whether the child runs in its room."""
        return True

    def end(self) -> None:
        """Kills the rest of the process group, and closes all descriptors."""
        self.signal(_signal.SIGKILL)
        self.child.wait()
        os.close(self.child.output)
        if self.ours is not None:
            self.ours.close()

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.child.pid, number)
        except (ProcessLookupError, PermissionError):
            return


def start(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    channel_env: str | None,
    confine: Callable[[], object] | None = None,
) -> Started:
    """Starts a program, with a channel if `channel_env` is given: the variable with its descriptor.

    `confine` runs in the child before the program. If it fails, it ends the child.
    """
    ours, theirs = (None, None) if channel_env is None else _socket.socketpair()
    environment = dict(env)
    if ours is not None and theirs is not None and channel_env is not None:
        ours.setblocking(False)
        environment[channel_env] = str(theirs.fileno())
    kept = None if theirs is None else theirs.fileno()
    ids = confine.ids if isinstance(confine, Confining) else {}
    try:
        return Started(spawn(argv, cwd, environment, kept, _prepare_by(confine), ids), ours)
    except BaseException:
        if ours is not None:
            ours.close()
        raise
    finally:
        if theirs is not None:
            theirs.close()


def _prepare_by(confine: Callable[[], object] | None) -> Prepare:
    parent = os.getpid()

    def prepare(mapped: Callable[[int], None]) -> FirstProcess | None:
        _die_with(parent)
        if not isinstance(confine, Confining):
            if confine is not None:
                confine()
        elif (first := confine(mapped)) is not None:
            return first
        _die_with(parent)  # again: a change of ids ends it
        return None

    return prepare


def _die_with(parent: int) -> None:
    if sys.platform == "linux":  # other systems lack PDEATHSIG
        prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(127)
