"""Notes which agents are at work in a worktree, which file each writes, and who is about to run a command."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from verdigris.storage.calls.call_records import CALLERS, content, remove
from verdigris.storage.calls.open_calls import open_shells, words
from verdigris.storage.log.light import digest

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterator


EDITS = "edits"
LONGEST_EDIT = 600.0
"""Seconds that an edit counts as open: a client that is killed, or whose user says no, reports no end."""


def note_edit(private: str, context: str, path: str) -> None:
    """Notes that a file tool is about to write a path; an agent writes one file at a time."""
    _note(private, EDITS, context, f"{context}\0{path}")


def end_edit(private: str, context: str) -> None:
    remove(_note_of(private, EDITS, context))


def open_edits(private: str, context: str) -> dict[str, str]:
    """Path → the other agent whose file tool is about to write it."""
    found = {}
    for record, by, path in _notes(private, EDITS):
        if not _is_recent(record):
            remove(record)
        elif by != context:
            found[path] = by
    return found


def _is_recent(record: str) -> bool:
    """Whether it was written lately; what lies ahead was written before the clock was put back."""
    with suppress(FileNotFoundError):
        return abs(time.time() - os.stat(record).st_mtime) < LONGEST_EDIT
    return False


def _note(private: str, kind: str, whose: str, text: str) -> None:
    os.makedirs(f"{private}/{kind}", mode=0o700, exist_ok=True)
    with open(_note_of(private, kind, whose), "wb") as record:
        record.write(os.fsencode(text))


def _note_of(private: str, kind: str, whose: str) -> str:
    return f"{private}/{kind}/{digest(whose.encode(errors='surrogatepass'))}"


def _notes(private: str, kind: str) -> Iterator[tuple[str, str, str]]:
    """The notes of a kind: the file, and both parts of its text. One may go meanwhile."""
    for name in _names(f"{private}/{kind}"):
        record = f"{private}/{kind}/{name}"
        with suppress(FileNotFoundError):
            first, _, second = os.fsdecode(content(record)).partition("\0")
            yield record, first, second


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
        os.makedirs(f"{private}/{CALLERS}", mode=0o700, exist_ok=True)
    elif not _names_of_calls(private):
        return
    record = _record(private, session, command)
    with open(record, "ab") as file:
        if content(record).endswith(BEGUN):
            file.truncate(0)
        file.write(os.fsencode(f"{agent}\n"))


def forget_caller(private: str, agent: str) -> None:
    """Forgets a subagent that has ended; with the last one, the session's own calls too."""
    records = [f"{private}/{CALLERS}/{name}" for name in _names_of_calls(private)]
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
            if os.stat(f"{private}/{CALLERS}/{name}").st_mtime < now - _DAY:
                remove(f"{private}/{CALLERS}/{name}")


def _names_of_calls(private: str) -> list[str]:
    return _names(f"{private}/{CALLERS}")


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def at_work(private: str, session: str) -> frozenset[str]:
    """The agents that are active in a worktree: this session, those from prompt to stop, those with an open
    call, and subagents.
    """
    records = (f"{private}/{CALLERS}/{name}" for name in _names_of_calls(private))
    noted = {agent for record in records for agent in _agents_in(record)}
    shells = (context for context, _ in open_shells(private))
    return frozenset({session, *noted, *shells, *_working_sessions(private)} - {""})


WORKING = "working"


def note_session(private: str, session: str, process: str) -> None:
    """Notes that a session has work to do. `process`: the client's number; empty if it is not known."""
    _note(private, WORKING, session, f"{process}\0{session}")


def end_session(private: str, session: str) -> None:
    remove(_note_of(private, WORKING, session))


def are_clients_gone(private: str) -> bool:
    """Whether sessions had work to do, and none of their clients lives: no call of theirs is open either."""
    return bool(_names(f"{private}/{WORKING}")) and not any(_working_sessions(private))


def _working_sessions(private: str) -> Iterator[str]:
    """A client that was killed reports no stop: its process is gone."""
    for record, process, session in _notes(private, WORKING):
        if os.path.exists(f"/proc/{process}") if process else _is_recent(record):
            yield session


def caller(private: str, session: str, line: str) -> str:
    """The subagent whose command the line contains, which begins now; empty for the session, or `UNKNOWN`.

    It is unknown, too, if two agents are about to run the same command: one of them could be taken for the
    other.
    """
    if not _names_of_calls(private):
        return ""
    for word in words(line):
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


def _record(private: str, session: str, command: str) -> str:
    return f"{private}/{CALLERS}/" + digest(f"{session}\0{command}".encode(errors="surrogatepass"))
