"""Starts a process in a group of its own, with a channel, such that it dies with us."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see spawning.py
import _socket
import os
import sys

from verdigris.execution.spawning import Child, spawn
from verdigris.sandbox.child import Confining
from verdigris.sandbox.syscalls import prctl

TYPE_CHECKING = False  # `typing` and `dataclasses` cost as much as a start: a head start is taken before them
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PR_SET_PDEATHSIG = 1


class Started:
    """A running child and our end of its channel."""

    resident = False
    """It is a child of a resident process, and not ours."""
    lost = False
    """Nobody can say how it ended."""

    def __init__(self, child: Child, ours: _socket.socket | None) -> None:
        self.child = child
        self.ours = ours

    def arrived(self) -> bool:
        """Whether it is where it shall be."""
        return True

    def end(self) -> None:
        """Kill what is left of the group, and let go of everything."""
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
    confine: Callable[[], None] | None = None,
) -> Started:
    """`channel_env` names the variable that tells the child its descriptor of the channel.

    `confine` is called in the child before the program; it ends the child where it cannot do its work.
    """
    ours, theirs = (None, None) if channel_env is None else _socket.socketpair()
    environment = dict(env)
    if ours is not None and theirs is not None and channel_env is not None:
        ours.setblocking(False)
        environment[channel_env] = str(theirs.fileno())
    kept = None if theirs is None else theirs.fileno()
    ids = confine.ids if isinstance(confine, Confining) else {}
    try:
        return Started(spawn(argv, cwd, environment, kept, _preparing(confine), ids), ours)
    except BaseException:
        if ours is not None:
            ours.close()
        raise
    finally:
        if theirs is not None:
            theirs.close()


def _preparing(confine: Callable[[], None] | None) -> Callable[[Callable[[], None]], None]:
    parent = os.getpid()

    def prepare(mapped: Callable[[], None]) -> None:
        if isinstance(confine, Confining):
            confine(mapped)
        elif confine is not None:
            confine()
        if sys.platform == "linux":  # other systems have no such thing
            prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(127)

    return prepare
