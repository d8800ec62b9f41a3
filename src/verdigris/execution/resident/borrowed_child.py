"""A child process of a resident that makes one run for us, in a room that we make for it."""

from __future__ import annotations

import _socket
import os

from verdigris.core.value import replace
from verdigris.execution.children import Child, Started
from verdigris.runners.reporter.verdigris_reporter.line import Broken, MessageLine
from verdigris.sandbox.entry import enter
from verdigris.sandbox.syscalls import kept_capabilities

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from verdigris.sandbox.child import Confining


KILLED = -9
"""The exit status of a child if its parent did not report one."""
CHILD_PATIENCE = 10.0


class LentChild(Child):
    """A child of a resident.

    The resident reports its end, and reaps it when we hang up: until then its pid is valid.
    """

    __slots__ = ("line", "lost")

    def __init__(self, output: int, line: MessageLine) -> None:
        super().__init__(0, output)
        self.line = line
        self.lost = False
        """Whether nobody reported how it ended."""

    def has_arrived(self) -> bool:
        """Waits for it; returns whether it runs, in its room."""
        if not self.pid:
            number = self._receive_number("pid", CHILD_PATIENCE)
            self.pid = 0 if number is None else number
        return bool(self.pid)

    def poll(self) -> int | None:
        return self._receive_code(0)

    def wait(self) -> int:
        code = self._receive_code(CHILD_PATIENCE)
        if code is None:
            self.lost, self.returncode = True, KILLED
        return self.returncode or 0

    def has_ended(self) -> bool:
        return self.poll() is not None

    def end_of(self) -> int:
        return os.dup(self.line.fileno())

    def _receive_code(self, timeout: float) -> int | None:
        if self.returncode is None:
            self.returncode = self._receive_number("code", timeout)
            if self.returncode is None and self.line.is_over:
                self.lost, self.returncode = True, KILLED
        return self.returncode

    def _receive_number(self, what: str, timeout: float) -> int | None:
        try:
            said = self.line.receive(timeout)
        except (Broken, OSError):
            return None
        number: Any = None if said is None else said[0].get(what)
        return number if isinstance(number, int) else None


class Lent(Started):
    """A borrowed child that was started.

    `maker`: our own child, which makes the room and requests the process.
    """

    resident = True

    def __init__(self, child: LentChild, ours: _socket.socket, maker: int) -> None:
        super().__init__(child, ours)
        self._lent = child
        self._maker = maker

    def has_arrived(self) -> bool:
        self._reap()
        return self._lent.has_arrived()

    @property
    def lost(self) -> bool:  # type: ignore[override]  # it is only read
        return self._lent.lost

    def end(self) -> None:
        """Ends it. If it never arrived, the resident ends it when we hang up."""
        self._reap()
        if self._lent.pid:
            super().end()
        else:
            os.close(self.child.output)
            if self.ours is not None:
                self.ours.close()
        self._lent.line.close()

    def _reap(self) -> None:
        if self._maker:
            os.waitpid(self._maker, 0)
            self._maker = 0


PATIENCE = 20.0
_ALWAYS, _NETWORK = ("user", "mnt", "ipc"), ("net",)


def is_possible(way: str | None) -> bool:
    """Whether runs can be borrowed.

    Not as root with its own ids only: its `/proc` could not be locked then.
    """
    return way == "mapped" or (way == "own" and os.geteuid() != 0)


def capability_bits(way: str) -> int:
    """The capabilities that a run keeps, one bit for each."""
    return sum(1 << capability for capability in kept_capabilities(user_namespace=way != "plain"))


def open_room(confining: Confining, cwd: str, below: int) -> dict[str, int]:
    """Makes a room; returns descriptors of its namespaces by kind.

    Raises OSError if that fails: a cold run says why.
    """
    ours, theirs = _socket.socketpair()
    line, end = MessageLine(ours), MessageLine(theirs)
    maker = _fork_maker(confining, cwd, below, end, lambda doors: end.send({}, tuple(doors.values())))
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


def request_run(
    confining: Confining,
    cwd: str,
    below: int,
    line: MessageLine,
    run: dict[str, Any],
    beside: tuple[int, ...],
) -> int:
    """Forks a child that makes the room and then requests the run in it; returns its pid.

    The namespaces are sent together with the descriptors in `beside`. If the room cannot be made, it hangs
    up.
    """

    def ask(doors: dict[str, int]) -> None:
        line.send({"run": {**run, "doors": list(doors)}}, (*beside, *doors.values()))

    return _fork_maker(confining, cwd, below, line, ask)


def _fork_maker(
    confining: Confining, cwd: str, below: int, line: MessageLine, use: Callable[[dict[str, int]], None]
) -> int:
    maker = os.fork()
    if maker == 0:
        try:
            os.chdir(cwd)
            # A process table cannot be joined, and ends with its first process.
            made = replace(confining.confinement, processes=False)
            enter(made, confining.way, lambda _: None, below=below)
            use(
                {
                    name: os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
                    for name in _names(confining)
                }
            )
        except BaseException:  # noqa: BLE001 - the child must not go on as a second copy of us
            line.hang_up()
        finally:
            os._exit(0)
    return maker


def _names(confining: Confining) -> tuple[str, ...]:
    return _ALWAYS if confining.confinement.network == "host" else (*_ALWAYS, *_NETWORK)
