"""Records the open calls of agents and whose they are, and finds processes that outlived a shell call.

Each call has a record in a folder that no call sees. The process outside the sandbox holds its lock. The
record names the namespace of the call's processes. So they are found whatever they do, and none of them can
pretend to be gone.
"""

# `os` calls on `str` instead of pathlib: each shell call loads this, and a millisecond counts.
# ruff: noqa: PTH102, PTH103, PTH104, PTH106, PTH108, PTH110, PTH116, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from itertools import pairwise

from verdigris.storage.log.light import digest

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.actions import Deny


CALLS, SOCKETS, BROKER = "calls", "sockets", "broker"
SHOWN = 1000
LINE = 100

_NAMESPACE = 32
_KILL = 9
_NS_GET_PARENT = 0xB702


def open_record(private: str, command: str, context: str = "") -> int:
    """Makes the record of a call that begins now. `context`: the agent that calls.

    The process that serves the call outside holds the descriptor.
    """
    folder = folder_of(private)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    fresh = f"{folder}/new.{os.getpid()}"
    record = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    fcntl.flock(record, fcntl.LOCK_EX)
    os.write(record, b" " * _NAMESPACE + os.fsencode(f"{context}\0{command[:SHOWN]}"))
    os.rename(fresh, f"{folder}/{os.getpid()}")
    return record


def folder_of(private: str) -> str:
    control, name = os.path.dirname(os.path.dirname(private)), os.path.basename(private)
    return f"{control}/locks/{name}.{CALLS}"


def namespace(*, user_namespace: bool) -> bytes:
    """The namespace by which this process and its children are recognised."""
    kind = "user" if user_namespace else "mnt"
    return f"{kind} {os.stat(f'/proc/self/ns/{kind}').st_ino}".encode()


def note_namespace(record: int, namespace: bytes) -> None:
    os.pwrite(record, namespace.ljust(_NAMESPACE), 0)


def close_record(private: str, *, empty: bool) -> None:
    """Ends a call; its record stays only while a process of it lives.

    `empty`: no process can be left. A record must not stay too long: the kernel uses numbers of namespaces
    again, and the record could then name another call.
    """
    record = f"{folder_of(private)}/{os.getpid()}"
    _remove_socket(private, str(os.getpid()))
    left = set() if empty else {_read(record)[0]} - {""}
    if not (left and _living_namespaces(left)):
        _remove(record)


def make_socket_folder(private: str) -> str:
    """Makes the folder of this call's socket. The call sees it in the place of all such folders."""
    folder = f"{private}/{SOCKETS}/{os.getpid()}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except FileExistsError:  # a socket that a killed call of an earlier version left
        os.unlink(folder)
        os.mkdir(folder, 0o700)
    return folder


def _remove_socket(private: str, name: str) -> None:
    folder = f"{private}/{SOCKETS}/{name}"
    with suppress(FileNotFoundError, NotADirectoryError):
        _remove(f"{folder}/{BROKER}")
        os.rmdir(folder)


def refusal(private: str) -> Deny | None:
    """Refuses a person's verbs while a call is open: an agent could make a program outside run them."""
    if (command := open_call(private)) is None:
        return None
    from verdigris.core.actions import Deny

    return Deny(
        "agents-call-open",
        f"An agent's shell call is open in this worktree: {in_words(command)}",
        "say it in the agent's prompt (a first line `tdd off WHY`), or wait for the call's end, or end it",
    )


def open_call(private: str) -> str | None:
    """The command of a call that is open now."""
    for name in _records(private):
        if _is_locked(f"{folder_of(private)}/{name}"):
            return _read(f"{folder_of(private)}/{name}")[2]
    return None


def in_words(command: str) -> str:
    """The first line of what the agent wrote, without what its client put around it."""
    return _words(command)[-1].split("\n")[0][:LINE]


def open_shells(private: str) -> list[tuple[str, str]]:
    """Context and command of each shell call that is open, or of which a process lives."""
    found = {name: _read(f"{folder_of(private)}/{name}") for name in _records(private)}
    ended = {name: read[0] for name, read in found.items() if not _is_locked(f"{folder_of(private)}/{name}")}
    living = _living_namespaces(set(ended.values())) if ended else set()
    return [read[1:] for name, read in found.items() if name not in ended or read[0] in living]


def alive(private: str) -> bool:
    """Whether a call is open, or a process of an earlier call lives."""
    left = [f"{folder_of(private)}/{name}" for name in _records(private)]
    if any(_is_locked(record) for record in left):
        return True
    return bool(left and _living_namespaces({_read(record)[0] for record in left}))


def processes_of_calls(private: str) -> list[int]:
    """The processes of calls that are open or have ended: those in the namespaces that their records name."""
    wanted = {_read(f"{folder_of(private)}/{name}")[0] for name in _records(private)} - {""}
    return [pid for pid, _ in _inside(wanted)] if wanted else []


def is_any_left(private: str) -> bool:
    """Whether any call has a record: it is open, or was killed, or a process of it lived longer."""
    return bool(_records(private))


def forget_ended(private: str) -> frozenset[str]:
    """Removes the records of calls that have ended; returns whose they were.

    A call removes its own record at its end. A record that is left belongs to a call that was killed, or
    whose last process died later: it may have changed files meanwhile.
    """
    left = [f"{folder_of(private)}/{name}" for name in _records(private)]
    wanted = {record: _read(record)[0] for record in left if not _is_locked(record)}
    living = _living_namespaces(set(wanted.values())) if wanted else set()
    ended = {record: _read(record)[1] for record, namespace in wanted.items() if namespace not in living}
    for record in ended:
        _remove(record)
        _remove_socket(private, os.path.basename(record))
    return frozenset(ended.values())


def _records(private: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder_of(private)) if name.isdigit()]
    except OSError:
        return []


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


def _read(record: str) -> tuple[str, str, str]:
    """Namespace, context, command."""
    try:
        text = os.fsdecode(_content(record))
    except FileNotFoundError:
        return "", "", ""
    context, _, command = text[_NAMESPACE:].rpartition("\0")
    return text[:_NAMESPACE].strip(), context, command


def kill(namespace: str) -> None:
    """Kills the processes of a call. Call it again for processes that start meanwhile."""
    for pid, _ in _inside({namespace}):
        try:
            os.kill(pid, _KILL)
        except OSError:
            continue


def _living_namespaces(wanted: set[str]) -> set[str]:
    """The namespaces in which a process lives, also in a namespace that was made inside."""
    return {namespace for _, found in _inside(wanted) for namespace in found}


def _inside(wanted: set[str]) -> Iterator[tuple[int, set[str]]]:
    mine = {kind: os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("user", "mnt")}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            mnt = os.stat(f"/proc/{pid}/ns/mnt").st_ino
            if mnt != mine["mnt"] and (found := wanted & {f"mnt {mnt}", *_users(pid, mine["user"])}):
                yield int(pid), found
        except OSError:
            continue


def is_inside(pid: int, namespace: str) -> bool:
    """Whether a process is in the namespace of a call; one that cannot be looked at is not."""
    try:
        mnt, mine = os.stat(f"/proc/{pid}/ns/mnt").st_ino, os.stat("/proc/self/ns/user").st_ino
        return namespace in {f"mnt {mnt}", *_users(str(pid), mine)}
    except OSError:
        return False


def _users(pid: str, mine: int) -> set[str]:
    """A process's user namespace and those around it, up to our own."""
    found = set()
    held = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while (inode := os.fstat(held).st_ino) != mine:
            found.add(f"user {inode}")
            above = fcntl.ioctl(held, _NS_GET_PARENT)
            os.close(held)
            held = above
    except OSError:
        return found
    finally:
        os.close(held)
    return found


def _remove(*names: str) -> None:
    for name in names:
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue


EDITS = "edits"
LONGEST_EDIT = 600.0
"""Seconds that an edit counts as open: a client that is killed, or whose user says no, reports no end."""


def note_edit(private: str, context: str, path: str) -> None:
    """Notes that a file tool is about to write a path; an agent writes one file at a time."""
    os.makedirs(f"{private}/{EDITS}", mode=0o700, exist_ok=True)
    with open(_edit_of(private, context), "wb") as record:
        record.write(os.fsencode(f"{context}\0{path}"))


def end_edit(private: str, context: str) -> None:
    _remove(_edit_of(private, context))


def open_edits(private: str, context: str) -> dict[str, str]:
    """Path → the other agent whose file tool is about to write it."""
    found = {}
    with suppress(FileNotFoundError):
        for name in os.listdir(f"{private}/{EDITS}"):
            with suppress(FileNotFoundError):
                record = f"{private}/{EDITS}/{name}"
                by, _, path = os.fsdecode(_content(record)).partition("\0")
                if not _is_recent(record):
                    _remove(record)
                elif by != context:
                    found[path] = by
    return found


def _is_recent(record: str) -> bool:
    """Whether it was written lately; what lies ahead was written before the clock was put back."""
    return abs(time.time() - os.stat(record).st_mtime) < LONGEST_EDIT


def _edit_of(private: str, context: str) -> str:
    return f"{private}/{EDITS}/{digest(context.encode(errors='surrogatepass'))}"


FOLDER = "callers"
UNKNOWN = "unknown"
"""The context of a command that cannot be assigned while subagents work: a client may change a command after
the hook has seen it (`2>nul` becomes `2>/dev/null`). No agent has this name, so it proves nothing."""
BEGUN = b"!\n"
"""Ends a note, whose other lines name those who are about to run the command: a shell has begun to run it."""
_DAY = 24 * 60 * 60


def note_caller(private: str, session: str, command: str, agent: str) -> None:
    """Notes who is about to run a command.

    `agent` is empty for the session itself, which is noted only while subagents work.
    """
    if agent:
        os.makedirs(f"{private}/{FOLDER}", mode=0o700, exist_ok=True)
    elif not _names_of_calls(private):
        return
    record = _record(private, session, command)
    with open(record, "ab") as file:
        if _content(record).endswith(BEGUN):
            file.truncate(0)
        file.write(os.fsencode(f"{agent}\n"))


def forget_caller(private: str, agent: str) -> None:
    """Forgets a subagent that has ended; with the last one, the session's own calls too."""
    records = [f"{private}/{FOLDER}/{name}" for name in _names_of_calls(private)]
    left = {record: _agents_in(record) for record in records}
    others = frozenset().union(*left.values()) - {agent, ""}
    for record, noted in left.items():
        if not others or noted <= {agent}:
            _remove(record)
        elif agent in noted:
            with open(record, "wb") as file:
                file.writelines(os.fsencode(f"{name}\n") for name in noted - {agent})


def forget_old_callers(private: str, now: float) -> None:
    """Forgets subagents that were killed: they never report their end."""
    for name in _names_of_calls(private):
        with suppress(FileNotFoundError):
            if os.stat(f"{private}/{FOLDER}/{name}").st_mtime < now - _DAY:
                _remove(f"{private}/{FOLDER}/{name}")


def _names_of_calls(private: str) -> list[str]:
    try:
        return os.listdir(f"{private}/{FOLDER}")
    except FileNotFoundError:
        return []


def at_work(private: str, session: str) -> frozenset[str]:
    """The agents that are active in a worktree: this session, those from prompt to stop, those with an open
    call, and subagents.
    """
    records = (f"{private}/{FOLDER}/{name}" for name in _names_of_calls(private))
    noted = {agent for record in records for agent in _agents_in(record)}
    shells = (context for context, _ in open_shells(private))
    return frozenset({session, *noted, *shells, *_working_sessions(private)} - {""})


WORKING = "working"


def note_session(private: str, session: str, process: str) -> None:
    """Notes that a session has work to do. `process`: the client's number; empty if it is not known."""
    os.makedirs(f"{private}/{WORKING}", mode=0o700, exist_ok=True)
    with open(_session_of(private, session), "wb") as record:
        record.write(os.fsencode(f"{process}\0{session}"))


def end_session(private: str, session: str) -> None:
    _remove(_session_of(private, session))


def _working_sessions(private: str) -> Iterator[str]:
    """A client that was killed reports no stop: its process is gone."""
    with suppress(FileNotFoundError):
        for name in os.listdir(f"{private}/{WORKING}"):
            record = f"{private}/{WORKING}/{name}"
            with suppress(FileNotFoundError):
                process, _, session = os.fsdecode(_content(record)).partition("\0")
                if os.path.exists(f"/proc/{process}") if process else _is_recent(record):
                    yield session


def _session_of(private: str, session: str) -> str:
    return f"{private}/{WORKING}/{digest(session.encode(errors='surrogatepass'))}"


def caller(private: str, session: str, line: str) -> str:
    """The subagent whose command the line contains, which begins now; empty for the session, or `UNKNOWN`.

    It is unknown, too, if two agents are about to run the same command: one of them could be taken for the
    other.
    """
    if not _names_of_calls(private):
        return ""
    for word in _words(line):
        with suppress(FileNotFoundError):
            return _begin(_record(private, session, word))
    return UNKNOWN


def _begin(record: str) -> str:
    note = _content(record)
    if not note.endswith(BEGUN):
        with open(record, "ab") as file:
            file.write(BEGUN)
    agents = _names_in(note)
    return agents.pop() if len(agents) == 1 else UNKNOWN


def _agents_in(record: str) -> set[str]:
    try:
        return _names_in(_content(record))
    except FileNotFoundError:
        return set()


def _names_in(note: bytes) -> set[str]:
    return {os.fsdecode(line) for line in note.removesuffix(BEGUN).splitlines()}


def _words(line: str) -> list[str]:
    """The possible commands in a line: the line itself, and the text that some clients let it evaluate."""
    import shlex

    try:
        words = shlex.split(line)
    except ValueError:
        return [line]
    return [line, *(word for before, word in pairwise(words) if before == "eval")]


def _record(private: str, session: str, command: str) -> str:
    return f"{private}/{FOLDER}/" + digest(f"{session}\0{command}".encode(errors="surrogatepass"))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
