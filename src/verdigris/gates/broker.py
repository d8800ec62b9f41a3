"""The broker: runs a `tdd` call from inside a sandbox outside of it, with an agent's rights.

On its wire, words are separated by NUL, and descriptors come beside them.
"""

# Before pathlib is loaded:
# ruff: noqa: PTH109

from __future__ import annotations

import array
import os
import select
import signal
import socket
import subprocess

from verdigris.core.agents import ACTOR, BROKER, CLIENT, CONTEXT, ROOT, caller_in, refuse_verb
from verdigris.core.errors import ToolMissing

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.actions import Deny


HARMLESS = ("NO_COLOR", "COLUMNS", "LINES", "TERM", "CI")
"""The variables of the sandboxed caller that are kept: they say how output looks."""
STREAMS = (0, 1, 2)
LONGEST = 1 << 22

_HEADER = 8


class BrokerCall:
    def __init__(self, argv: Sequence[str], cwd: str, environment: Mapping[str, str]) -> None:
        self.argv = list(argv)
        self.cwd = cwd
        self.environment = {name: environment[name] for name in HARMLESS if name in environment}

    def pack(self) -> bytes:
        looks = [f"{name}={value}" for name, value in self.environment.items()]
        return os.fsencode("\0".join((self.cwd, str(len(looks)), *looks, *self.argv)))


def unpack_call(data: bytes) -> BrokerCall:
    """Raises ValueError for bytes that `pack` cannot have made."""
    cwd, count, *words = os.fsdecode(data).split("\0")
    looks, argv = words[: int(count)], words[int(count) :]
    return BrokerCall(argv, cwd, dict(look.split("=", 1) for look in looks))


def connect(path: str) -> socket.socket:
    """Connects by way of its folder: a socket's own path may have a hundred bytes, a repository's more."""
    folder, name = os.path.split(path)
    held = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            made.connect(f"/proc/self/fd/{held}/{name}")
        except BaseException:
            made.close()
            raise
        return made
    finally:
        os.close(held)


def send(connection: socket.socket, call: BrokerCall) -> None:
    data = call.pack()
    streams = array.array("i", STREAMS)
    connection.sendmsg(
        [len(data).to_bytes(_HEADER, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams.tobytes())]
    )
    connection.sendall(data)


def receive(connection: socket.socket) -> tuple[BrokerCall, list[int]]:
    """The call, and the caller's stdin, stdout and stderr; raises ValueError for anything else."""
    header, descriptors, _, _ = socket.recv_fds(connection, _HEADER, len(STREAMS))
    try:
        return unpack_call(_exactly(connection, _size(header, descriptors))), list(descriptors)
    except ValueError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise


def _size(header: bytes, descriptors: Sequence[int]) -> int:
    size = int.from_bytes(header, "big")
    if len(header) != _HEADER or len(descriptors) != len(STREAMS) or size > LONGEST:
        raise ValueError("not a call")
    return size


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(size - len(data), 1 << 16))
        if not chunk:
            raise ValueError("cut off")
        data += chunk
    return bytes(data)


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
        """The subagent that calls; empty if it is the session itself."""

    def of(self, call: BrokerCall) -> dict[str, str]:
        """The command's environment: the caller chooses how output looks; we say who acts, and where."""
        outside = {name: value for name, value in self.environment.items() if name != BROKER}
        client, context = caller_in(outside, self.subagent)
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
        code = _send_refusal(denial, streams) if (denial := refuse_verb(call.argv)) else None
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
    _print_error("".join(f"{line}\n" for line in denial.lines()), streams)
    return DENIED


def _print_error(text: str, streams: Sequence[int]) -> None:
    """Nothing is lost where the caller does not listen: it gets the exit code."""
    try:
        os.write(streams[2], text.encode(errors="replace"))
    except OSError:
        return


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
        _print_error(f"tdd: the command could not be started outside the sandbox: {error}\n", streams)
        return None


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
