"""Starts a process in a group of its own, with a channel, such that it dies with us."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading

TYPE_CHECKING = False  # `typing` and `dataclasses` cost as much as a start: a head start is taken before them
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PR_SET_PDEATHSIG = 1


class Started:
    """A running child and our end of its channel."""

    def __init__(self, child: subprocess.Popen[bytes], ours: socket.socket | None) -> None:
        self.child = child
        self.ours = ours

    def end(self) -> None:
        """Kill what is left of the group, and let go of everything."""
        self.signal(signal.SIGKILL)
        self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()
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
    confine: Callable[[], None] | None = None,
) -> Started:
    """`channel_env` names the variable that tells the child its descriptor of the channel.

    `confine` is called in the child before the program; it ends the child where it cannot do its work.
    """
    ours, theirs = (None, None) if channel_env is None else socket.socketpair()
    environment = dict(env)
    if ours is not None and theirs is not None and channel_env is not None:
        ours.setblocking(False)
        environment[channel_env] = str(theirs.fileno())
    try:
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
            pass_fds=() if theirs is None else (theirs.fileno(),),
            preexec_fn=_before_program(confine),  # noqa: PLW1509 - not set while threads run
        )
    except BaseException:
        if ours is not None:
            ours.close()
        raise
    finally:
        if theirs is not None:
            theirs.close()
    return Started(child, ours)


def _before_program(confine: Callable[[], None] | None) -> Callable[[], None] | None:
    dies = _dies_with_us()
    if confine is None or dies is None:
        return confine or dies

    def both() -> None:
        confine()
        dies()

    return both


def _dies_with_us() -> Callable[[], None] | None:
    """Best effort: Linux only, and not while threads run, where code between fork and exec is unsafe."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(127)

    return ask
