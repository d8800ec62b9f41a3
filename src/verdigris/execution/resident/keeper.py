"""Keeps a resident process: starts it, lets one caller at a time speak with it, and ends with it.

It is a process of our own interpreter outside the sandbox. The program itself has no socket on which it
listens, and none of our files.
"""

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
from verdigris.execution.resident.resident import HELD, LOCK, SOCKET, write_note
from verdigris.execution.room import Room, read
from verdigris.runners.reporter.verdigris_reporter.line import Broken, MessageLine
from verdigris.sandbox.confinement import is_inside
from verdigris.sandbox.own_mounts import open_apart

TYPE_CHECKING = False  # see children.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from verdigris.sandbox.confinement import Confinement
    from verdigris.sandbox.folders import Folders

PROGRAM = "VERDIGRIS_RESIDENT"
PATH = "PYTHONPATH"
TICK = 2.0
"""Seconds between two checks whether the resident is still needed."""
ABANDONED = 1.0
"""Seconds after which a caller that has hung up has ended."""
HELLO = 1.0
"""Seconds in which a caller must send its request; no other caller is served meanwhile."""
PATIENCE = 10.0
"""Seconds in which the program must confirm that a caller has hung up."""
START = 120.0
MEMORY = 2 << 30
"""A program that has more bytes of memory than this between two runs is ended."""
OUTPUT = 1 << 16
_PEER = 12
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Reads what to keep (`Resident.describe`) from standard input; the descriptor HELD has the lock."""
    os.set_inheritable(HELD, False)
    Keeper(json.loads(sys.stdin.buffer.read()), HELD).keep()


class _Unneeded(Exception):
    """The resident is no longer needed."""


class Keeper:
    def __init__(self, kept: dict[str, Any], lock: int) -> None:
        self.kept = kept
        self.lock = lock
        self.mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        """Shows when something is mounted or unmounted: the worktree's file system may be gone."""
        self.listening = _listen(os.path.join(kept["folder"], SOCKET))
        self.caller: MessageLine | None = None
        self.leaving = False
        """Whether a caller has hung up and the program has not confirmed it yet."""
        self.ready = False
        self.left: list[int] = []
        """Descriptors that callers left with us, because closing the last one takes time."""
        self.since = time.monotonic()

    def keep(self) -> None:
        _signal.signal(_signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            self._keep_program()
        except (_Unneeded, Broken, ConnectionError, ValueError):
            return
        finally:
            if self._is_ours():
                self.ready = False
                self._write_note()
                os.unlink(os.path.join(self.kept["folder"], SOCKET))

    def _keep_program(self) -> None:
        """Starts the program and serves callers, until it is no longer needed."""
        terms, _ = read(self.kept["terms"])
        room = Room(terms, self.kept["argv"], equip=_live_equipment(self.kept["live"]), lasting=True)
        try:
            env = {**room.env, **self.kept["env"]}
            apart = (
                {**env, PATH: _outside_of(terms.root, self.kept["cwd"], env[PATH])} if PATH in env else env
            )
            started = start(self.kept["argv"], self.kept["cwd"], apart, PROGRAM, room.confine)
            try:
                self._serve_program(started)
            finally:
                started.end()
        finally:
            room.close()

    def _serve_program(self, started: Started) -> None:
        program = MessageLine(started.ours)
        program.send(self.kept["greeting"])
        user = os.open(f"/proc/{started.child.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            while True:
                self._check_need(started.child.pid)
                watched: list[Any] = [program, started.child.output]
                watched += [] if self.leaving else [self.listening]
                watched += [self.caller] if self.caller else []
                ready = select.select(watched, [], [self.mounts], min(TICK, self.kept["idle"]))[0]
                if started.child.output in ready and not os.read(started.child.output, OUTPUT):
                    raise _Unneeded
                if program in ready:
                    self._read_program(program)
                if self.caller in ready and self.caller is not None:
                    self._pass_on(self.caller, program)
                if self.listening in ready and not self.leaving:
                    self._greet_caller(user)
        finally:
            os.close(user)

    def _read_program(self, program: MessageLine) -> None:
        if not program.read_more():
            raise _Unneeded
        while (heard := program.take_pending()) is not None:
            message, beside = heard
            for descriptor in beside:
                os.close(descriptor)
            if not self.ready:
                self.ready = bool(message.get("ready"))
                self._write_note()
            elif self.leaving:
                self.leaving = "gone" not in message
                self.since = time.monotonic()
            elif self.caller is not None:
                self._answer(self.caller, message)

    def _pass_on(self, caller: MessageLine, program: MessageLine) -> None:
        """Passes messages of the caller to the program, and says when the caller has hung up."""
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
        """Accepts a caller. It must see the machine as we do: an agent in a sandbox is not served."""
        listening: Any = self.listening
        connection, _ = listening._accept()  # noqa: SLF001 - `accept` is in `socket`, which loads slowly
        caller = MessageLine(_socket.socket(fileno=connection))
        message = _read_request(caller) if _is_unconfined(caller) else None
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
            return  # the next read shows that it has hung up

    def _check_need(self, program: int) -> None:
        """Raises `_Unneeded` if the resident is no longer needed."""
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
        """Whether the folder is still the one that we locked: the repository may have been replaced."""
        try:
            here = os.stat(os.path.join(self.kept["folder"], LOCK))
        except OSError:
            return False
        held = os.fstat(self.lock)
        return (here.st_dev, here.st_ino) == (held.st_dev, held.st_ino)

    def _write_note(self) -> None:
        write_note(self.kept["folder"], self.kept["key"], ready=self.ready)


def _live_equipment(shadowed: list[str] | None) -> Callable[[Confinement, Folders], Confinement]:
    """Equipment that shows the worktree itself instead of an overlay; see `live` of `Resident`.

    A resident stays in the machine's process table: its runs are in other rooms, and see that table there.
    """

    def equip(confinement: Confinement, folders: Folders) -> Confinement:
        shadows = tuple((folder, folder, *folders.pair()) for folder in shadowed or ())
        return replace(confinement, live=shadowed is not None, shadows=shadows, processes=False)

    return equip


def _outside_of(root: str, cwd: str, path: str) -> str:
    """PYTHONPATH without the project's folders, which each run adds: nothing there may be loaded before."""
    folders = (os.path.normpath(os.path.join(cwd, folder)) for folder in path.split(os.pathsep))
    return os.pathsep.join(folder for folder in folders if not is_inside(folder, root))


def _listen(path: str) -> _socket.socket:
    """Listens on a socket, by a path through a descriptor: socket paths are limited to about 100 bytes."""
    folder, name = os.path.split(path)
    held = open_apart(folder, os.O_PATH)
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        if os.path.lexists(path):
            os.unlink(path)
        made.bind(f"/proc/self/fd/{held}/{name}")
        os.chmod(path, 0o600)
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


def _is_unconfined(caller: MessageLine) -> bool:
    """Whether the caller is our user and in our mount namespace, and so in no sandbox."""
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
