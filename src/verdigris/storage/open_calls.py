"""Tells which calls of agents are open and whose they are, and whether processes outlived a shell call."""

# `os` calls on `str` instead of pathlib: each shell call loads this, and a millisecond counts.
# ruff: noqa: PTH103, PTH110, PTH116, PTH119, PTH123, PTH208

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise

from verdigris.storage.call_records import content, finish, living, names, read_all, remove, remove_socket
from verdigris.storage.log.light import digest

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.actions import Deny


LINE = 100


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
    return next((record.command for record in read_all(private) if record.is_locked), None)


def in_words(command: str) -> str:
    """The first line of what the agent wrote, without what its client put around it."""
    return _words(command)[-1].split("\n")[0][:LINE]


def open_shells(private: str) -> list[tuple[str, str]]:
    """Context and command of each shell call that is open, or of which a process lives."""
    found = read_all(private)
    ended = [record for record in found if not record.is_locked]
    still = living(ended)
    return [(record.context, record.command) for record in found if record not in ended or record in still]


def alive(private: str) -> bool:
    """Whether a call is open, or a process of an earlier call lives."""
    left = read_all(private)
    return any(record.is_locked for record in left) or bool(living(left))


def may_move_git(private: str) -> bool:
    """Whether an agent may have moved git since the last look: a call is open, or was killed.

    To a process that outlived a call git's folder is read-only.
    """
    return any(record.was_killed or record.is_locked for record in read_all(private))


def processes_of_calls(private: str) -> list[int]:
    """The processes of calls that are open or have ended: those in the namespaces that their records name."""
    records = [record for record in read_all(private) if record.namespace]
    if not records:
        return []
    from verdigris.sandbox.processes import of_call

    return [pid for record in records for pid in of_call(record.namespace, record.keeper)]


def is_any_left(private: str) -> bool:
    """Whether any call has a record: it is open, or was killed, or a process of it lived longer."""
    return bool(names(private))


def forget_ended(private: str) -> frozenset[str]:
    """Removes the records of calls that have ended; returns whose they were.

    A call removes its own record at its end. A record that is left belongs to a call that was killed, or
    whose last process died later: it may have changed files meanwhile.
    """
    unlocked = [record for record in read_all(private) if not record.is_locked]
    still = living(unlocked)
    ended = [record for record in unlocked if record not in still]
    for record in ended:
        if not record.finished:
            finish(private, record)
        remove(record.path)
        remove_socket(private, os.path.basename(record.path))
    return frozenset(record.context for record in ended)


EDITS = "edits"
LONGEST_EDIT = 600.0
"""Seconds that an edit counts as open: a client that is killed, or whose user says no, reports no end."""


def note_edit(private: str, context: str, path: str) -> None:
    """Notes that a file tool is about to write a path; an agent writes one file at a time."""
    os.makedirs(f"{private}/{EDITS}", mode=0o700, exist_ok=True)
    with open(_edit_of(private, context), "wb") as record:
        record.write(os.fsencode(f"{context}\0{path}"))


def end_edit(private: str, context: str) -> None:
    remove(_edit_of(private, context))


def open_edits(private: str, context: str) -> dict[str, str]:
    """Path → the other agent whose file tool is about to write it."""
    found = {}
    with suppress(FileNotFoundError):
        for name in os.listdir(f"{private}/{EDITS}"):
            with suppress(FileNotFoundError):
                record = f"{private}/{EDITS}/{name}"
                by, _, path = os.fsdecode(content(record)).partition("\0")
                if not _is_recent(record):
                    remove(record)
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
        if content(record).endswith(BEGUN):
            file.truncate(0)
        file.write(os.fsencode(f"{agent}\n"))


def forget_caller(private: str, agent: str) -> None:
    """Forgets a subagent that has ended; with the last one, the session's own calls too."""
    records = [f"{private}/{FOLDER}/{name}" for name in _names_of_calls(private)]
    left = {record: _agents_in(record) for record in records}
    others = frozenset().union(*left.values()) - {agent, ""}
    for record, noted in left.items():
        if not others or noted <= {agent}:
            remove(record)
        elif agent in noted:
            with open(record, "wb") as file:
                file.writelines(os.fsencode(f"{name}\n") for name in noted - {agent})


def forget_old_callers(private: str, now: float) -> None:
    """Forgets subagents that were killed: they never report their end."""
    for name in _names_of_calls(private):
        with suppress(FileNotFoundError):
            if os.stat(f"{private}/{FOLDER}/{name}").st_mtime < now - _DAY:
                remove(f"{private}/{FOLDER}/{name}")


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
    remove(_session_of(private, session))


def are_clients_gone(private: str) -> bool:
    """Whether sessions had work to do, and none of their clients lives: no call of theirs is open either."""
    try:
        noted = os.listdir(f"{private}/{WORKING}")
    except FileNotFoundError:
        return False
    return bool(noted) and not any(_working_sessions(private))


def _working_sessions(private: str) -> Iterator[str]:
    """A client that was killed reports no stop: its process is gone."""
    with suppress(FileNotFoundError):
        for name in os.listdir(f"{private}/{WORKING}"):
            record = f"{private}/{WORKING}/{name}"
            with suppress(FileNotFoundError):
                process, _, session = os.fsdecode(content(record)).partition("\0")
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
    note = content(record)
    if not note.endswith(BEGUN):
        with open(record, "ab") as file:
            file.write(BEGUN)
    agents = _names_in(note)
    return agents.pop() if len(agents) == 1 else UNKNOWN


def _agents_in(record: str) -> set[str]:
    try:
        return _names_in(content(record))
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
