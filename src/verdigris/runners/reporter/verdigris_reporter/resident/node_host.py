"""Hosts a resident node process, whose workers each enter the room of their run.

Node cannot enter a namespace itself, because it has threads, nor receive descriptors over a socket. So this
process keeps the descriptors of a run's namespaces. Node starts `node_worker.py` as its worker, which joins
them.
"""

from __future__ import annotations

import _socket
import contextlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from typing import Any

from ..line import Broken, MessageLine  # noqa: TID252 - the package has another name when injected
from . import namespaces  # noqa: TID252 - same

RESIDENT = "VERDIGRIS_RESIDENT"
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - names stay `str`
_CHUNK = 1 << 16
_GRACE = 5.0
"""Seconds that node has, after the caller left, to finish a run whose result it has sent."""


def main() -> None:
    line = MessageLine(_socket.socket(fileno=int(os.environ.pop(RESIDENT))))
    os.set_inheritable(line.fileno(), False)
    greeting = line.receive()
    if greeting is not None:
        with contextlib.suppress(Broken, ConnectionError, BrokenPipeError):
            Host(line, greeting[0]).serve()


class Host:
    def __init__(self, line: MessageLine, greeting: dict[str, Any]) -> None:
        self.line = line
        self.shared = ""
        """A folder for one run, for node's modules and the report; a run sees no other folder of ours."""
        ours, theirs = _socket.socketpair()
        argv = [
            *greeting["argv"],
            str(theirs.fileno()),
            _write_worker(tempfile.gettempdir(), greeting["argv"][0]),
        ]
        _start(argv, theirs.fileno())
        theirs.close()
        self.talk = ours
        self.doors: tuple[int, ...] = ()
        self.left = 0.0
        """When the caller left, if node was not done by then; else 0."""
        self.answered = False

    def serve(self) -> None:
        """Passes messages between the caller and node until either of them ends, or a run is given up."""
        rest = b""
        while True:
            wait = None if not self.left else max(0.0, self.left + _GRACE - time.monotonic())
            both: list[Any] = [self.line, self.talk]
            ready = [self.line] if self.line.pending else select.select(both, [], [], wait)[0]
            if not ready:
                return
            if self.talk in ready:
                data = self.talk.recv(_CHUNK)
                if not data:
                    return
                *messages, rest = (rest + data).split(b"\n")
                for message in messages:
                    self._take_from_node(json.loads(message))
            if self.line in ready and not self._take_request():
                return

    def _take_from_node(self, message: dict[str, Any]) -> None:
        if "free" in message:
            self._end_processes()
            if self.left:
                self.left = 0.0
                self._end_run()
        elif not self.left:
            self.answered = self.answered or "code" in message or "doubt" in message
            self.line.send(message)

    def _take_request(self) -> bool:
        """Takes one message of the caller. Returns False when this process shall end."""
        asked = self.line.receive()
        if asked is None:
            return False
        message, beside = asked
        if "run" in message and not self.doors:
            self.doors, self.answered = beside, False
            run = message["run"]
            kinds = dict(zip(run.pop("doors"), beside, strict=True))
            worker = {**run.pop("worker"), "pid": os.getpid(), "doors": kinds}
            self._send_to_node({"run": {**run, "tmp": self.shared, "worker": json.dumps(worker)}})
        elif "hello" in message:
            self.shared = tempfile.mkdtemp()
            self.line.send({"tmp": self.shared})
        elif "gone" in message:
            if not self.doors:
                self._end_run()
            elif self.answered:
                self.left = time.monotonic()
            else:
                return False
        return True

    def _send_to_node(self, message: dict[str, Any]) -> None:
        self.talk.sendall(json.dumps(message).encode("ascii") + b"\n")

    def _end_processes(self) -> None:
        """Kills the processes that a run left in its namespaces, and closes those."""
        if self.doors:
            for pid in _processes_in(self.doors):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            for door in self.doors:
                os.close(door)
        self.doors = ()

    def _end_run(self) -> None:
        """Removes the folder of a run. The caller must have left: until then it may be reading the report."""
        shutil.rmtree(self.shared, ignore_errors=True)
        self.line.send({"gone": True})


def _start(argv: list[str], descriptor: int) -> None:
    """Starts node. It dies with this process, and this process ends when node does (`serve`)."""
    mine = os.getpid()
    if os.fork() == 0:
        try:
            namespaces.die_with(mine)
            os.set_inheritable(descriptor, True)
            os.execv(argv[0], argv)  # noqa: S606 - the node that the kernel found
        finally:
            os._exit(1)


def _processes_in(doors: tuple[int, ...]) -> list[int]:
    """The processes that are in one of these namespaces."""
    inside = {os.fstat(door).st_ino for door in doors}
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}/ns/mnt").st_ino in inside:  # noqa: PTH116
                found.append(int(name))
    return found


def _write_worker(folder: str, node: str) -> str:
    """Writes a program that node can start as if it were node, and that starts `node_worker.py`."""
    path = f"{folder}/node"
    script = f"{_HERE}/node_worker.py"
    words = (sys.executable, "-I", "-S", script, node)
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        file.write(f'#!/bin/sh\nexec {quoted} "$@"\n')
    os.chmod(path, 0o700)  # noqa: PTH101
    return path
