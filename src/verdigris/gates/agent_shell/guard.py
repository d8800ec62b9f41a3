"""The guard of a shell call: starts its shell, and finishes the call if the process outside is killed.

It is in no session, group or PID namespace of the call's, so that nobody inside can reach it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs as much as all of this
import os
import time

from verdigris.core.agents import ACTOR, BROKER, CLIENT, CONTEXT, caller_in
from verdigris.gates.agent_shell.confinement import DROPPED, blocked_sockets, confine, with_own_cache
from verdigris.gates.agent_shell.users_shell import become_shell
from verdigris.sandbox import process_space, processes
from verdigris.sandbox.syscalls import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl
from verdigris.storage.calls import call_records

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from typing import NoReturn

    from verdigris.gates.agent_shell.confinement import ShellCard
    from verdigris.gates.agent_shell.write_failure import StderrWatch

REFUSED = 126
ALONE, LEFT = b".", b"+"
_TRIES, _PAUSE = 50, 0.001
"""How often processes that left the keeper are killed; then all that the keeper keeps are, at once."""


class GuardPipes:
    """Between the process outside, the guard and the shell."""

    def __init__(self) -> None:
        self.awaited, self.go = os.pipe2(os.O_CLOEXEC)
        """The shell waits here until its call is recorded."""
        self.confined, self.tell_confined = os.pipe2(os.O_CLOEXEC)
        """The namespace by which the shell is known."""
        self.started, self.tell_started = os.pipe2(os.O_CLOEXEC)
        """The number of the shell's process, and the keeper; at the end whether nobody is left."""

    def close_guards(self) -> None:
        for descriptor in (self.awaited, self.tell_confined, self.tell_started):
            os.close(descriptor)


class ShellCommand:
    """The command of a call, and what it begins with."""

    __slots__ = ("heard", "sockets", "stderr", "subagent", "text")

    def __init__(
        self, text: str, subagent: str, sockets: str, stderr: int, heard: StderrWatch | None
    ) -> None:
        self.text = text
        self.subagent = subagent
        self.sockets = sockets
        """The folder of the socket at which `tdd` is served."""
        self.stderr = stderr
        """Takes the place of standard error; -1 if that stays."""
        self.heard = heard


class Guard:
    def __init__(self, private: str, card: ShellCard, pipes: GuardPipes) -> None:
        self.private = private
        self.card = card
        self.pipes = pipes
        self.outside = os.getppid()
        self.record = f"{call_records.folder_of(private)}/{self.outside}"

    def serve(self, command: ShellCommand) -> NoReturn:
        code = REFUSED
        try:
            code = self._serve(command)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the command must not run
            _refuse(error)
        finally:
            os._exit(code)

    def _serve(self, command: ShellCommand) -> int:
        os.close(self.pipes.go)
        os.setsid()
        space = None
        if self.card.is_apart:
            space = process_space.Space(call_records.keeper_of(self.private), own_ids=self.card.way == "own")
        else:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
        shell = os.fork()
        if shell == 0:
            _run_confined(self.card, self.pipes, command)
        if space is not None:
            space.release()
        os.close(self.pipes.tell_confined)
        if command.heard is not None:
            command.heard.begin()
        keeper = "" if space is None else space.keeper
        os.write(self.pipes.tell_started, f"{shell} {keeper}".encode())
        self._watch_outside()
        code = _wait_for(shell)
        if keeper:
            _end_siblings(keeper)
        alone = not process_space.has_children(keeper) if keeper else _is_alone()
        os.write(self.pipes.tell_started, ALONE if alone else LEFT)
        process_space.tell_keeper(keeper)
        return code

    def _watch_outside(self) -> None:
        _signal.signal(_signal.SIGTERM, self._finish)
        prctl(PR_SET_PDEATHSIG, _signal.SIGTERM)
        if os.getppid() != self.outside:
            self._finish()

    def _finish(self, *_: object) -> NoReturn:
        """Kills what the call runs; we hold the lock of its record, too."""
        try:
            call_records.finish(self.private, call_records.CallRecord(self.record))
        finally:
            os._exit(REFUSED)


def _wait_for(shell: int) -> int:
    """The shell's exit code. A process that lost its parent may be ours, too."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == shell:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _end_siblings(keeper: str) -> None:
    """A process that its shell made our child (CLONE_PARENT) is not below the keeper: it would leave the call
    when we end. Nobody else gets its number before we have waited for it.
    """
    kept = keeper.partition(" ")[0]
    for _ in range(_TRIES):
        siblings = [pid for pid in processes.children(str(os.getpid())) if pid != kept]
        if not siblings:
            return
        for pid in siblings:
            os.kill(int(pid), _signal.SIGKILL)
        time.sleep(_PAUSE)
        _is_alone()
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # the keeper's end waits for all others
    _is_alone()
    processes.kill_all(keeper)


def _is_alone() -> bool:
    """Waits for children that have ended; whether there are no others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _run_confined(card: ShellCard, pipes: GuardPipes, command: ShellCommand) -> NoReturn:
    def tell_us() -> None:
        os.write(pipes.tell_confined, processes.namespace(user_namespace=card.way != "plain"))

    try:
        if command.stderr >= 0:
            os.dup2(command.stderr, 2)
        if command.heard is not None:
            command.heard.redirect()
        os.setsid()  # without a terminal's control: nothing is typed into it from here
        environment = {name: given for name, given in os.environ.items() if name not in DROPPED}
        if card.way:
            environment = with_own_cache(environment)
            seen = os.path.dirname(command.sockets)  # noqa: PTH120
            environment[BROKER] = f"{seen}/{call_records.BROKER}"
            mounts = (*card.mounts, *blocked_sockets(os.environ))
            confine(mounts, card.way, tell_us, (command.sockets, seen))  # type: ignore[arg-type]  # one of the ways, as it was written
        else:
            environment[ACTOR] = "agent"
            environment[CLIENT], environment[CONTEXT] = caller_in(os.environ, command.subagent)
            tell_us()
        prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)
        _wait_until_recorded(pipes.awaited)
        become_shell(command.text, environment)
    except BaseException as error:  # noqa: BLE001 - same
        _refuse(error)
        os._exit(REFUSED)


def _wait_until_recorded(go: int) -> None:
    if not os.read(go, 1):
        raise OSError("the process outside went away")


def _refuse(error: BaseException) -> None:
    said = f"verdigris: the command was not run, since it could not be confined: {error}\n"
    os.write(2, said.encode(errors="surrogateescape"))
