"""Runs one `tdd` call from inside a sandbox outside of it, with an agent's rights."""

# Before pathlib is loaded:
# ruff: noqa: PTH109

from __future__ import annotations

import os
import select
import signal
import subprocess

from verdigris.core.errors import ToolMissing
from verdigris.core.verbs import refusal
from verdigris.gates.broker.wire import BROKER, BrokerCall, connect, receive, send

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

    from verdigris.core.actions import Deny


ACTOR, CLIENT, CONTEXT, ROOT = "TDD_ACTOR", "TDD_CLIENT", "TDD_CONTEXT", "TDD_ROOT"
DENIED, OUR_FAULT = 3, 70
GRACE = 5.0
"""Seconds from an interrupt to the end."""


class ServedCommand:
    """What a broker serves: the command that is `tdd` outside, for one worktree, with its own environment."""

    def __init__(
        self, tdd: Sequence[str], root: str, environment: Mapping[str, str], subagent: str = ""
    ) -> None:
        self.tdd = tuple(tdd)
        self.root = root
        self.environment = environment
        self.subagent = subagent
        """Whose call it is, where it is not the session's own."""

    def of(self, call: BrokerCall) -> dict[str, str]:
        """An agent may say how output looks; who acts, and where, is said by us."""
        outside = {name: value for name, value in self.environment.items() if name != BROKER}
        client = "claude" if "CLAUDECODE" in outside else outside.get(CLIENT, "shell")
        context = self.subagent or outside.get("CLAUDE_CODE_SESSION_ID", "")
        return {
            **outside,
            **call.environment,
            ACTOR: "agent",
            CLIENT: client,
            CONTEXT: context,
            ROOT: self.root,
        }


def serve(connection: socket.socket, served: ServedCommand) -> None:
    """One connection; a caller that goes away interrupts its call."""
    try:
        call, streams = receive(connection)
    except (ValueError, OSError):
        return
    try:
        code = _send_refusal(denial, streams) if (denial := refusal(call.argv)) else None
        process = None if code is not None else _start_tdd(call, streams, served)
    finally:
        for stream in streams:
            os.close(stream)
    if process is not None:
        code = _watch_process(connection, process)
    try:
        connection.send(bytes([OUR_FAULT if code is None else code & 0xFF]))
    except OSError:
        return


def _send_refusal(denial: Deny, streams: Sequence[int]) -> int:
    try:
        os.write(streams[2], "".join(f"{line}\n" for line in denial.lines()).encode())
    except OSError:
        return DENIED
    return DENIED


def _start_tdd(
    call: BrokerCall, streams: Sequence[int], served: ServedCommand
) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            [*served.tdd, *call.argv],
            cwd=call.cwd,
            env=served.of(call),
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
        )
    except (OSError, ValueError) as error:
        _refused_by_system(error, streams)
        return None


def _refused_by_system(error: Exception, streams: Sequence[int]) -> None:
    try:
        os.write(streams[2], f"tdd: the broker could not run it: {error}\n".encode(errors="replace"))
    except OSError:
        return


def _watch_process(connection: socket.socket, process: subprocess.Popen[bytes]) -> int:
    ended = os.pidfd_open(process.pid)
    try:
        ready, _, _ = select.select([connection.fileno(), ended], [], [])
        if ended not in ready:
            process.send_signal(signal.SIGINT)
            if not select.select([ended], [], [], GRACE)[0]:
                process.terminate()
    finally:
        os.close(ended)
    code = process.wait()
    return code if code >= 0 else 128 - code


def call_broker(path: str, argv: Sequence[str]) -> int:
    """The exit code of the call; an interrupt ends the connection, which interrupts the call."""
    try:
        connection = connect(path)
    except OSError as error:
        raise ToolMissing(
            f"the broker of this shell call does not answer: {error.strerror}",
            hint="the call that started this process has ended: run `tdd` in a call of its own",
        ) from error
    with connection:
        try:
            send(connection, BrokerCall(argv, os.getcwd(), os.environ))
            answer = connection.recv(1)
        except OSError as error:
            raise ToolMissing(
                f"the broker of this shell call went away: {error.strerror}", hint="run the command again"
            ) from error
    if not answer:
        raise ToolMissing("the broker of this shell call went away.", hint="run the command again")
    return answer[0]
