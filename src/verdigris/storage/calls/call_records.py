"""The record of an agent's shell call: what must be undone after it, and how that is done.

It lies in a folder that no call sees. The processes that serve it outside the sandbox hold its
lock. The record names the namespace of the call's processes, and what must be undone after it. So they are
found whatever they do, and none of them can pretend to be gone; and whoever comes next finishes a call of
which all that served it were killed.
"""

from __future__ import annotations

import fcntl
import marshal
import os

from verdigris.sandbox.notes import names_in

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from verdigris.sandbox.processes import Namespaces
    from verdigris.storage.calls.call_promise import CallPromise


CALLS, CALLERS, SOCKETS, BROKER = "calls", "callers", "sockets", "broker"
SHOWN = 1000

_OPEN, ENDED, KILLED = b"-", b"+", b"!"
"""The first byte of a record: what the call promised is still to be done, was done by itself, or by others
after it was killed. `gates.quick` reads it, too."""
_NAMESPACE, _KEEPER = (1, 32), (33, 32)
"""Where they stand in a record, and how long they are."""
_REST = 65
_TRIES = 50
"""How often the processes of a call are killed; then all that the keeper keeps are, at once."""


def open_record(private: str, command: str, context: str = "", promise: CallPromise | None = None) -> int:
    """Makes the record of a call that begins now. `context`: the agent that calls; `promise`: what must be as
    it is now when the call has ended.
    """
    record = draft_record(private)
    publish_record(private, record, command, context, promise)
    return record


def draft_record(private: str) -> int:
    """The processes that serve the call outside hold the descriptor. Nobody else sees the call yet."""
    os.makedirs(folder_of(private), mode=0o700, exist_ok=True)
    record = os.open(_draft(private), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    fcntl.flock(record, fcntl.LOCK_EX)
    return record


def publish_record(
    private: str, record: int, command: str, context: str, promise: CallPromise | None
) -> None:
    promised = None if promise is None else promise.dump()
    rest = marshal.dumps((os.fsencode(context), os.fsencode(command[:SHOWN]), promised))
    os.write(record, _OPEN.ljust(_REST) + rest)
    os.rename(_draft(private), own_path(private))


def _draft(private: str) -> str:
    return f"{folder_of(private)}/new.{os.getpid()}"


def folder_of(private: str) -> str:
    control, name = os.path.dirname(os.path.dirname(private)), os.path.basename(private)
    return f"{control}/locks/{name}.{CALLS}"


def keeper_of(private: str) -> str:
    """The file that names the keeper of this worktree's processes."""
    return f"{folder_of(private).removesuffix(CALLS)}keeper"


def note_namespace(record: int, namespace: bytes, keeper: str = "") -> None:
    for (at, size), text in ((_NAMESPACE, namespace), (_KEEPER, keeper.encode())):
        os.pwrite(record, text.ljust(size), at)


class CallRecord:
    """What the record of a call says."""

    __slots__ = ("command", "context", "finished", "keeper", "namespace", "path", "promise", "was_killed")

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            data = content(path)
        except FileNotFoundError:
            data = ENDED
        self.finished = data.startswith((ENDED, KILLED))
        self.was_killed = not data.startswith((_OPEN, ENDED))
        self.namespace, self.keeper = (
            data[at : at + size].decode("ascii", "replace").strip() for at, size in (_NAMESPACE, _KEEPER)
        )
        self.promise: Any
        try:
            context, command, self.promise = marshal.loads(data[_REST:])  # noqa: S302 - no agent can write it
        except (ValueError, EOFError, TypeError):
            context, command, self.promise = b"", b"", None
        self.context, self.command = os.fsdecode(context), os.fsdecode(command)

    @property
    def is_locked(self) -> bool:
        """Whether a process outside serves the call."""
        return _is_locked(self.path)


def finish(
    private: str,
    record: CallRecord,
    left: Namespaces | None = None,
    *,
    alone: bool = False,
    below: bool = False,
    own_end: bool = False,
) -> list[str]:
    """Does what a call promised, at its own end or later; returns a line for each thing that was undone.

    `left`: the namespaces of its processes, where it is the call's own end: those that outlive it find git's
    folder read-only, and are killed if they have a file there open to write, or mounts of their own. At
    any other end all are killed.
    `alone`: none can be left; `below`: only below the keeper. Where one is, and at any other end, the record
    stays until a look at the tree has asked whose it was.
    """
    promise = _promised(private, record)
    alone = alone or _end_processes(record, left, promise, below=below)
    said = [] if promise is None else promise.keep(alone=alone)
    if own_end and alone:
        remove(record.path)
    else:
        _note_end(record.path, ENDED if own_end else KILLED)
    remove_socket(private, os.path.basename(record.path))
    return said


def _note_end(path: str, how: bytes) -> None:
    try:
        record = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    os.write(record, how)
    os.close(record)


def _end_processes(
    record: CallRecord, left: Namespaces | None, promise: CallPromise | None, *, below: bool
) -> bool:
    """Whether none is left."""
    missed: object = 0
    for _ in range(_TRIES):
        if not (_may_hide(record) if below and record.keeper else living([record])):
            return True
        from verdigris.sandbox import processes

        closed = left is not None and promise is not None and left.close_to(promise.closed)
        spared = left.mounts if left is not None and closed else ""
        missed = processes.kill(record.namespace, record.keeper, spared) or _may_hide(record, spared)
        if closed and not missed:
            break
    if missed and record.keeper:
        processes.kill_all(record.keeper)
    return not living([record])


def end(private: str, left: Namespaces | None = None, *, alone: bool, below: bool = False) -> list[str]:
    """Ends this process's own call; its record stays only while a process of it lives.

    A record must not stay too long: the kernel uses numbers of namespaces again, and the record could then
    name another call.
    """
    return finish(private, CallRecord(own_path(private)), left, alone=alone, below=below, own_end=True)


def _promised(private: str, record: CallRecord) -> CallPromise | None:
    if record.promise is None:
        return None
    from verdigris.storage.calls.call_promise import load

    return load(private, record.promise)


def finish_left(private: str) -> list[str]:
    """Finishes the calls of which all that served them were killed: whoever comes next begins with this."""
    said: list[str] = []
    for record in read_all(private):
        if not record.finished:
            said += _finish_once(private, record)
    return said


def _finish_once(private: str, record: CallRecord) -> list[str]:
    """Where nobody else does it at the same time."""
    try:
        with open(record.path, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return [] if CallRecord(record.path).finished else finish(private, record)
    except OSError:
        return []


def own_path(private: str) -> str:
    return f"{folder_of(private)}/{os.getpid()}"


def make_socket_folder(private: str) -> str:
    """Makes the folder of this call's socket. The call sees it in the place of all such folders."""
    folder = f"{private}/{SOCKETS}/{os.getpid()}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except FileExistsError:  # a socket that a killed call of an earlier version left
        os.unlink(folder)
        os.mkdir(folder, 0o700)
    return folder


def remove_socket(private: str, name: str) -> None:
    folder = f"{private}/{SOCKETS}/{name}"
    try:
        remove(f"{folder}/{BROKER}")
        os.rmdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return


def living(records: Sequence[CallRecord]) -> list[CallRecord]:
    """Those of which a process lives, or may live; without the keeper none does."""
    named = [record for record in records if record.namespace]
    if not named:
        return []
    from verdigris.sandbox import processes

    possible = [record for record in named if not record.keeper or processes.is_there(record.keeper)]
    found: set[str] = set()
    for kept in (True, False):
        if wanted := {record.namespace for record in possible if bool(record.keeper) is kept}:
            found |= processes.living(wanted, kept=kept)
    return [record for record in possible if record.namespace in found or _may_hide(record)]


def _may_hide(record: CallRecord, spared: str = "") -> bool:
    from verdigris.sandbox.processes import may_hide

    return bool(record.keeper) and may_hide(record.namespace, record.keeper, spared)


def is_any_call(private: str) -> bool:
    """Whether a call, or a file tool beside one, has left anything here."""
    try:
        return bool(os.listdir(folder_of(private)))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def names(private: str) -> list[str]:
    return [name for name in names_in(folder_of(private)) if name.isdigit()]


def read_all(private: str) -> list[CallRecord]:
    return [CallRecord(f"{folder_of(private)}/{name}") for name in names(private)]


def _is_locked(record: str) -> bool:
    try:
        descriptor = os.open(record, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def remove(*names: str) -> None:
    for name in names:
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
