"""Tells which calls of agents are open and whose they are, and whether processes outlived a shell call."""

from __future__ import annotations

import os
import time
from itertools import pairwise

from verdigris.storage.calls.call_records import (
    CallRecord,
    finish,
    living,
    names,
    read_all,
    remove,
    remove_socket,
)

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from verdigris.core.actions import Deny


LINE = 100
PATIENCE = 3.0
"""Seconds in which the guard finishes a call whose own process was killed."""


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
    """The command of a call that is open now; one that was killed is waited for while it is finished."""
    return next((record.command for record in read_all(private) if _is_open(record)), None)


def _is_open(record: CallRecord) -> bool:
    ends = time.monotonic() + PATIENCE
    while record.is_locked:
        if _runs(os.path.basename(record.path)) or time.monotonic() > ends:
            return True
        time.sleep(0.01)
    return False


def _runs(pid: str) -> bool:
    """Whether the process that serves the call runs; not one that has ended and waits for its parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return not file.read().rpartition(b") ")[2].startswith(b"Z")
    except FileNotFoundError:
        return not os.path.isdir("/proc/self")  # a system that tells nothing of processes
    except OSError:
        return True


def in_words(command: str) -> str:
    """The first line of what the agent wrote, without what its client put around it."""
    return words(command)[-1].split("\n")[0][:LINE]


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


def shared_inodes(private: str) -> frozenset[int]:
    """Inodes that a process in another mount namespace has mapped; none if no call of an agent lives."""
    if not alive(private):
        return frozenset()
    from verdigris.sandbox.processes import mapped_inodes

    return mapped_inodes()


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


def words(line: str) -> list[str]:
    """The possible commands in a line: the line itself, and the text that some clients let it evaluate."""
    import shlex

    try:
        words = shlex.split(line)
    except ValueError:
        return [line]
    return [line, *(word for before, word in pairwise(words) if before == "eval")]
