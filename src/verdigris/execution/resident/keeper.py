"""Keeps a resident process: starts it, lets one caller at a time speak with it, ends with it.

Our own interpreter, outside the sandbox: the program itself has no socket to listen on and no file of ours.
"""

# Loaded by an interpreter of its own, without anything that takes time:
# ruff: noqa: PTH112, PTH116, PTH118, PTH123

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see children.py
import _socket
import json
import os
import select
import sys
import time

from verdigris.core.value import replace
from verdigris.execution.children import Started, start
from verdigris.execution.resident.resident import HELD, LOCK, SOCKET, tell, without
from verdigris.execution.room import Room, read
from verdigris.runners.reporter.verdigris_reporter.line import Broken, MessageLine
from verdigris.sandbox.confinement import is_inside

TYPE_CHECKING = False  # see children.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from verdigris.sandbox.confinement import Confinement
    from verdigris.sandbox.folders import Folders

PROGRAM = "VERDIGRIS_RESIDENT"
PATH = "PYTHONPATH"
TICK = 2.0
"""Seconds between two looks at what a resident must not outlive."""
ABANDONED = 1.0
"""Seconds after which a caller that has hung up has surely ended."""
HELLO = 1.0
"""Seconds in which a caller must send its request; no other caller is served meanwhile."""
PATIENCE = 10.0
"""Seconds in which the program must confirm that a caller has hung up."""
START = 120.0
MEMORY = 2 << 30
"""Bytes; a program that holds more memory between two runs is ended."""
RESTARTS = 8
OUTPUT = 1 << 16
_PEER = 12
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """What to keep is on standard input, as `Resident` has it; the lock, which is held, on HELD."""
    os.set_inheritable(HELD, False)
    Keeper(json.loads(sys.stdin.buffer.read()), HELD).keep()


class _Unneeded(Exception):
    """The resident is no longer needed."""


class Keeper:
    def __init__(self, kept: dict[str, Any], lock: int) -> None:
        self.kept = kept
        self.lock = lock
        self.refused: dict[str, str] = {}
        self.restarts = 0
        self.listening = _listening(os.path.join(kept["folder"], SOCKET))
        self.caller: MessageLine | None = None
        self.leaving = False
        """A caller is gone, and the program has not taken notice yet."""
        self.ready = False
        self.left: list[int] = []
        """Descriptors that callers leave with us, since to close the last of them takes time."""
        self.since = time.monotonic()

    def keep(self) -> None:
        _signal.signal(_signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            while self._keep_program() and self.restarts < RESTARTS:
                continue
        except (_Unneeded, Broken, ConnectionError, ValueError):
            return
        finally:
            if self._is_ours():
                self.ready = False
                self._tell()
                os.unlink(os.path.join(self.kept["folder"], SOCKET))  # noqa: PTH108 - see above

    def _keep_program(self) -> bool:
        """Serves one process of the program; true if it is to be started again with fewer modules."""
        terms, _ = read(self.kept["terms"])
        room = Room(terms, self.kept["argv"], equip=_live(self.kept["live"]))
        try:
            env = {**room.env, **self.kept["env"]}
            apart = (
                {**env, PATH: _outside_of(terms.root, self.kept["cwd"], env[PATH])} if PATH in env else env
            )
            started = start(self.kept["argv"], self.kept["cwd"], apart, PROGRAM, room.confine)
            try:
                return self._serve_program(started)
            finally:
                started.end()
        finally:
            room.close()

    def _serve_program(self, started: Started) -> bool:
        self.ready = False
        self.since = time.monotonic()
        program = MessageLine(started.ours)
        load = without(self.kept["greeting"].get("load", ()), self.refused)
        program.send({**self.kept["greeting"], "load": load})
        user = os.open(f"/proc/{started.child.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            while True:
                self._look(started.child.pid)
                watched: list[Any] = [program, started.child.output]
                watched += [] if self.leaving else [self.listening]
                watched += [self.caller] if self.caller else []
                ready = select.select(watched, [], [], min(TICK, self.kept["idle"]))[0]
                if started.child.output in ready and not os.read(started.child.output, OUTPUT):
                    raise _Unneeded
                if program in ready and self._hear_program(program):
                    return True
                if self.caller in ready and self.caller is not None:
                    self._pass_on(self.caller, program)
                if self.listening in ready and not self.leaving:
                    self._greet_caller(user)
        finally:
            os.close(user)

    def _hear_program(self, program: MessageLine) -> bool:
        """Reads a message of the program; true if it refuses modules that it was told to load."""
        if not program.read_more():
            raise _Unneeded
        while (heard := program.take_pending()) is not None:
            message, beside = heard
            for descriptor in beside:
                os.close(descriptor)
            if not self.ready:
                if "refused" in message:
                    self.refused |= {str(name): str(why) for name, why in dict(message["refused"]).items()}
                    self.restarts += 1
                    self._tell()
                    return True
                self.ready = bool(message.get("ready"))
                self._tell()
            elif self.leaving:
                self.leaving = "gone" not in message
                self.since = time.monotonic()
            elif self.caller is not None:
                self._answer(self.caller, message)
        return False

    def _pass_on(self, caller: MessageLine, program: MessageLine) -> None:
        try:
            there = caller.read_more()
            while there and (said := caller.take_pending()) is not None:
                message, beside = said
                if "leave" in message:
                    self.left += beside
                    continue
                program.send(message, beside)
                for descriptor in beside:
                    os.close(descriptor)
        except (Broken, ConnectionError):
            there = False
        if not there:
            caller.close()
            self.caller = None
            self.leaving = True
            self.since = time.monotonic()
            program.send({"gone": True})

    def _greet_caller(self, user: int) -> None:
        """One more caller; only one that sees the machine as we do, and so is no agent, is listened to."""
        listening: Any = self.listening
        connection, _ = listening._accept()  # noqa: SLF001 - `accept` is made by `socket`, which is slow
        caller = MessageLine(_socket.socket(fileno=connection))
        message = _read_request(caller) if _outside(caller) else None
        if message is None:
            caller.close()
            return
        if message.get("end"):
            raise _Unneeded
        right = message.get("key") == self.kept["key"]
        if self.ready and right and not self.caller:
            self.caller = caller
            self._answer(caller, {"ready": True}, (user,))
            self._close_left()
            return
        self._answer(caller, {"ready": False})
        caller.close()
        if not right and not self.caller:
            raise _Unneeded

    def _answer(self, caller: MessageLine, message: dict[str, Any], beside: tuple[int, ...] = ()) -> None:
        try:
            caller.send(message, beside)
        except OSError:
            return  # it will be seen to be gone

    def _look(self, program: int) -> None:
        """Whether the resident is still needed."""
        waited = time.monotonic() - self.since
        limit = PATIENCE if self.leaving else self.kept["idle"] if self.ready else START
        if self.caller is None and waited > limit:
            raise _Unneeded
        if self.caller is None and waited > ABANDONED:
            self._close_left()
        if not self._is_ours() or not os.path.isdir(self.kept["cwd"]):
            raise _Unneeded
        if self.caller is None and self.ready and _resident_bytes(program) > MEMORY:
            raise _Unneeded

    def _close_left(self) -> None:
        while self.left:
            os.close(self.left.pop())

    def _is_ours(self) -> bool:
        """False if the repository, or the kernel's folder in it, was removed or made anew."""
        try:
            here = os.stat(os.path.join(self.kept["folder"], LOCK))
        except OSError:
            return False
        held = os.fstat(self.lock)
        return (here.st_dev, here.st_ino) == (held.st_dev, held.st_ino)

    def _tell(self) -> None:
        tell(self.kept["folder"], self.kept["key"], ready=self.ready, refused=self.refused)


def _live(shadowed: list[str] | None) -> Callable[[Confinement, Folders], Confinement] | None:
    """The worktree as it is at every moment; see `Resident`."""
    if shadowed is None:
        return None

    def equip(confinement: Confinement, folders: Folders) -> Confinement:
        shadows = tuple((folder, folder, *folders.shadow()) for folder in shadowed)
        return replace(confinement, live=True, shadows=shadows)

    return equip


def _outside_of(root: str, cwd: str, path: str) -> str:
    """Leaves out the project's own folders, which the runs take: nothing of it may be loaded before."""
    folders = (os.path.normpath(os.path.join(cwd, folder)) for folder in path.split(os.pathsep))
    return os.pathsep.join(folder for folder in folders if not is_inside(folder, root))


def _listening(path: str) -> _socket.socket:
    """Listens by way of its folder: a socket's own path may have a hundred bytes, a repository's more."""
    folder, name = os.path.split(path)
    held = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        if os.path.lexists(path):
            os.unlink(path)  # noqa: PTH108 - see above
        made.bind(f"/proc/self/fd/{held}/{name}")
        os.chmod(path, 0o600)  # noqa: PTH101 - same
        made.listen(8)
    finally:
        os.close(held)
    return made


def _read_request(caller: MessageLine) -> dict[str, Any] | None:
    try:
        said = caller.receive(HELLO)
    except Broken:
        return None
    return said and said[0]


def _outside(caller: MessageLine) -> bool:
    peer = caller.connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _PEER)
    pid, uid = (int.from_bytes(peer[at : at + 4], sys.byteorder, signed=True) for at in (0, 4))
    try:
        theirs, ours = os.stat(f"/proc/{pid}/ns/mnt"), os.stat("/proc/self/ns/mnt")
    except OSError:
        return False
    return uid == os.geteuid() and (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)


def _resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
