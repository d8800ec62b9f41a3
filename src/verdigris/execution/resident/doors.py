"""Makes a room that a process which runs already can walk into: its namespaces, as descriptors.

They are made below the user namespace of that process, since one may only follow downwards; all else about
the room is as for a process that is started in it.
"""

from __future__ import annotations

import _socket
import os

from verdigris.runners.reporter.verdigris_reporter.line import Line
from verdigris.sandbox.capabilities import kept
from verdigris.sandbox.entry import enter

TYPE_CHECKING = False  # see sandbox/confinement.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from verdigris.sandbox.child import Confining

PATIENCE = 20.0
_ALWAYS, _NETWORK = ("user", "mnt", "ipc"), ("net",)


def possible(way: str | None) -> bool:
    """Where root has no ids but its own, what it may not write in `/proc` cannot be locked."""
    return way == "mapped" or (way == "own" and os.geteuid() != 0)


def rights(way: str) -> int:
    """The capabilities that a run keeps, a bit each."""
    return sum(1 << capability for capability in kept(user_namespace=way != "plain"))


def opened(confining: Confining, cwd: str, below: int) -> dict[str, int]:
    """By kind; OSError where the room could not be made, which a cold run will tell about."""
    ours, theirs = _socket.socketpair()
    line, end = Line(ours), Line(theirs)
    maker = _making(confining, cwd, below, end, lambda doors: end.send({}, tuple(doors.values())))
    end.close()
    try:
        answer = line.receive(PATIENCE)
    finally:
        line.close()
        os.waitpid(maker, 0)
    names = _names(confining)
    if answer is None or len(answer[1]) != len(names):
        raise OSError("no room could be made")
    return dict(zip(names, answer[1], strict=True))


def open_for(
    confining: Confining, cwd: str, below: int, line: Line, run: dict[str, Any], beside: tuple[int, ...]
) -> int:
    """A child of ours that makes the room, and then asks for the run in it, with the way in beside `beside`.

    Where the room cannot be made it hangs up.
    """

    def ask(doors: dict[str, int]) -> None:
        line.send({"run": {**run, "doors": list(doors)}}, (*beside, *doors.values()))

    return _making(confining, cwd, below, line, ask)


def _making(
    confining: Confining, cwd: str, below: int, line: Line, use: Callable[[dict[str, int]], None]
) -> int:
    maker = os.fork()
    if maker == 0:
        try:
            os.chdir(cwd)
            enter(confining.confinement, confining.way, lambda _: None, below=below)
            use(
                {
                    name: os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
                    for name in _names(confining)
                }
            )
        except BaseException:  # noqa: BLE001 - whatever it is, nobody else is to go on from here
            line.hang_up()
        finally:
            os._exit(0)
    return maker


def _names(confining: Confining) -> tuple[str, ...]:
    return _ALWAYS if confining.confinement.network == "host" else (*_ALWAYS, *_NETWORK)
