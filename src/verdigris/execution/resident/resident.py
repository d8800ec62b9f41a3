"""The life of a resident process: started on demand, asked over a socket, ended when idle.

A resident has two parts. The *program* is a test tool that stays loaded, confined like a run of tests. The
*keeper* (`keeper.py`, our own interpreter outside the sandbox) listens for callers, watches the program, and
ends with it. To run tests, call `connect` with the key that the resident must have. If the answer is None,
make a cold run, and call `ensure` afterwards: it starts a resident in the background, or another one if the
key has changed.

    line = connect(folder, key)                  # None: there is none, not ready, busy, or of another key
    if line is not None:
        line.send({"run": ...})                  # a JSON object a line, with descriptors beside it if need be
        line.send({"leave": True}, (number,))    # the keeper holds it too, until after the caller's end
        answer = line.receive(5)                 # (message, descriptors); None at the end, or after 5 s
        line.close()                             # the program reads {"gone": true}
    ...
    ensure(Resident(folder, key, ...))

The variable VERDIGRIS_RESIDENT gives the program its end of the line (the descriptor of a stream socket). It
reads `greeting` first. When it has loaded all it needs, it sends {"ready": true, "beside": 0} once. Then it
answers what comes. When the caller has hung up, it reads {"gone": true}, ends what it does,
and answers the same; until then no other caller is served. It dies when its keeper does.

A resident ends when it was idle for too long, when the worktree or its own folder is removed, replaced or
unmounted, when it uses too much memory, when `stop` is called, or when a caller asks for another key.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
import zlib

from verdigris.core.confinement.needs import surroundings
from verdigris.execution.resident.borrowed_child import is_possible
from verdigris.runners.reporter.verdigris_reporter.line import Broken, MessageLine
from verdigris.sandbox.notes import names_in, recall, remember
from verdigris.sandbox.process_table import close_all_but
from verdigris.storage.log.light import digest

TYPE_CHECKING = False  # see sandbox/confinement.py
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from verdigris.execution.room import Terms

LOCK, SOCKET, TOLD = "lock", "socket", "told.json"
HELD = 3
"""The number of the descriptor with a keeper's lock."""
FOLDER = "warm"
"""The folder in a worktree's private folder that contains one folder for each resident."""
IDLE = 600.0
OFF = "VERDIGRIS_WARM"
"""A variable; if it is `0`, no resident is used or started."""
PATIENCE = 2.0
_KEEP = (
    "import sys; sys.path.append(sys.argv[1]); from verdigris.execution.resident.keeper import main; main()"
)
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class ResidentProgram:
    """The command of a resident, its folder, the terms of its room, and variables added to the room's."""

    def __init__(
        self, terms: Terms, argv: Sequence[str], cwd: str, env: Mapping[str, str] | None = None
    ) -> None:
        self.terms = terms
        self.argv = tuple(argv)
        self.cwd = cwd
        self.env = dict(env or {})


class Resident:
    """A resident, and how it is started.

    folder    Its own folder; see `folder_of`.
    key       A digest of all that its start depends on; see `connect`.
    greeting  The first message to it.
    idle      Seconds without a caller after which it ends.
    live      Not None: it always sees the current worktree, read-only. Only these folders in it are writable;
              writes are thrown away, and later changes in these folders are not visible.
    """

    def __init__(
        self,
        folder: str,
        key: str,
        program: ResidentProgram,
        *,
        greeting: Mapping[str, Any] | None = None,
        idle: float = IDLE,
        live: Sequence[str] | None = None,
    ) -> None:
        self.folder = folder
        self.key = key
        self.program = program
        self.greeting = dict(greeting or {})
        self.idle = idle
        self.live = live

    def describe(self) -> bytes:
        """The description that the keeper reads."""
        own = {name: fact for name, fact in vars(self).items() if name != "program"}
        whole = {**own, **vars(self.program), "terms": self.program.terms.words()}
        return json.dumps(whole).encode("ascii")


def is_allowed() -> bool:
    return sys.platform == "linux" and os.environ.get(OFF, "") != "0"


def can_serve(terms: Terms) -> bool:
    """Whether runs with these terms may be made by a resident."""
    return is_allowed() and is_possible(terms.way)


def folder_of(private: str, name: str) -> str:
    return os.path.join(private, FOLDER, name)


def folder_at(private: str, tool: str, cwd: str) -> str:
    """The folder of a tool's resident for the stack in this folder."""
    return folder_of(private, f"{tool}-{zlib.crc32(os.fsencode(cwd)):08x}")


def key_of(
    terms: Terms, command: Sequence[str], watched: Iterable[str], ignored: Collection[str] = ()
) -> str:
    """The key of a resident: a digest of its terms, its command, its variables, and the stamps of files.

    `ignored`: variables that may differ.
    """
    env = surroundings(os.environ, terms.given, home="", tmp="")
    variables = (f"{name}={text}" for name, text in sorted(env.items()) if name not in ignored)
    stamps = (f"{path} {stamp_of(path)}" for path in watched)
    return digest(os.fsencode("\0".join((*terms.words(), *command, *variables, "", *stamps))))


def connect(folder: str, key: str) -> tuple[MessageLine, int] | None:
    """Connects to the resident of this key; returns the line and a descriptor of its user namespace."""
    if not is_allowed():
        return None
    line = None
    try:
        line = _call_keeper(folder)
        line.send({"key": key})
        answer = line.receive(PATIENCE)
        if answer is not None and answer[0].get("ready") and len(answer[1]) == 1:
            return line, answer[1][0]
    except (OSError, Broken):
        pass
    if line is not None:
        line.close()
    return None


def ensure(resident: Resident) -> None:
    """Starts a resident of this key in the background, unless there is one; failures are ignored."""
    if not is_allowed():
        return
    try:
        os.makedirs(resident.folder, mode=0o700, exist_ok=True)
        if is_running(resident.folder):
            if read_note(resident.folder).get("key") == resident.key:
                return
            end(resident.folder)
        lock = _lock_folder(resident.folder, lasting=True)
        try:
            write_note(resident.folder, resident.key)
            _start(resident.describe(), lock)
        finally:
            os.close(lock)
    except OSError:
        return


def read_note(folder: str) -> dict[str, Any]:
    """Reads what the keeper last wrote about its program: `key`, `ready`."""
    return recall(os.path.join(folder, TOLD))


def running(private: str) -> tuple[str, ...]:
    """The names of a worktree's residents."""
    names = sorted(names_in(os.path.join(private, FOLDER)))
    return tuple(name for name in names if is_running(folder_of(private, name)))


def stop(private: str) -> tuple[str, ...]:
    """Ends every resident of a worktree; returns their names."""
    names = running(private)
    for name in names:
        end(folder_of(private, name))
    return names


def is_running(folder: str) -> bool:
    """Whether there is a keeper, also one that has just started."""
    try:
        os.close(_lock_folder(folder, lasting=False))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _lock_folder(folder: str, *, lasting: bool) -> int:
    """`lasting`: for a keeper, which must not keep the file system from being unmounted."""
    path = os.path.join(folder, LOCK)
    if lasting:
        from verdigris.sandbox.own_mounts import open_apart

        held = open_apart(path, os.O_RDWR | os.O_CREAT, 0o600)
    else:
        held = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(held)
        raise
    return held


def end(folder: str) -> None:
    """Ends the resident and waits for its end; a keeper that does not answer is killed with its program."""
    try:
        line = _call_keeper(folder)
        try:
            line.send({"end": True})
        finally:
            line.close()  # or it has just ended and does not listen
        ended = _await_keeper(folder)
    except OSError:
        ended = not is_running(folder)
    if not ended:
        _kill(folder)
        _await_keeper(folder)


def _await_keeper(folder: str) -> bool:
    deadline = time.monotonic() + PATIENCE
    while is_running(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _kill(folder: str) -> None:
    try:
        with open(os.path.join(folder, LOCK), encoding="ascii") as lock:
            os.kill(int(lock.read()), 9)
    except (OSError, ValueError):
        return


def _call_keeper(folder: str) -> MessageLine:
    import _socket

    held = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        made.connect(f"/proc/self/fd/{held}/{SOCKET}")
    except BaseException:
        made.close()
        raise
    finally:
        os.close(held)
    return MessageLine(made)


def _start(kept: bytes, lock: int) -> None:
    """Starts the keeper by a double fork, so that it outlives us; it inherits the lock."""
    written = os.memfd_create("kept")
    os.write(written, kept)
    os.lseek(written, 0, os.SEEK_SET)
    between = os.fork()
    if between == 0:
        try:
            keeper = os.fork()
            if keeper:
                os.ftruncate(lock, 0)
                os.pwrite(lock, b"%d\n" % keeper, 0)
            else:
                os.setsid()
                os.dup2(written, 0)  # before the lock, whose new number may be that of `written`
                os.dup2(lock, HELD)
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
                os.chdir("/")
                close_all_but({HELD})  # above all locks of this command
                os.set_inheritable(HELD, True)
                os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", _KEEP, _PACKAGES])  # noqa: S606 - ourselves
        finally:
            os._exit(0)
    os.close(written)
    os.waitpid(between, 0)


def stamp_of(path: str) -> str:
    """A text that changes when the file is changed or replaced; empty if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def write_note(folder: str, key: str, *, ready: bool = False) -> None:
    """Writes the note that callers read."""
    remember(os.path.join(folder, TOLD), json.dumps({"key": key, "ready": ready}).encode())
