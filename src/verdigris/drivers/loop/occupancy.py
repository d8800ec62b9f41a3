"""Who is at work with programs in a repository, and how they are asked to stop.

One run and one daemon at a time, from whatever worktree they were started. A lock that goes with its holder
says so; a note beside it says with what. A mark asks one process to stop before its next step.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from verdigris.core.errors import StorageError, UserError
from verdigris.core.value import value
from verdigris.storage.durable_files import write_whole
from verdigris.storage.lock import hold_alone, hold_lock
from verdigris.storage.repository import LOCKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.storage.repository import Repository

Post = Literal["run", "daemon"]
RUN: Post = "run"
DAEMON: Post = "daemon"
_BUSY = {
    RUN: "a program is at work in this repository already",
    DAEMON: "a daemon is at work in this repository already",
}
_LET_IT_END = "let it end, or stop it with `tdd loop stop`"
_MOMENT = 0.5
"""Seconds: whoever asks whether the lock is held has it for less."""


@value
class Occupant:
    pid: int
    program: str = ""
    """Empty: a daemon."""


@contextmanager
def occupy(repo: Repository, post: Post, program: str = "", *, patient: bool = False) -> Iterator[None]:
    """Alone, or a UserError that names who is at work; `patient`: waits for them to end."""
    with hold_alone(_lock(repo, post), _BUSY[post], _LET_IT_END, wait=None if patient else _MOMENT):
        note = json.dumps({"pid": os.getpid(), "program": program})
        write_whole(_folder(repo) / f"{post}.json", note.encode())
        if post == DAEMON or find_occupant(repo, DAEMON) != Occupant(os.getpid()):
            _mark(repo, os.getpid()).unlink(missing_ok=True)  # of a process that had the same number
        try:
            yield
        finally:
            if _mark_text(repo, os.getpid()) == program:
                _mark(repo, os.getpid()).unlink(missing_ok=True)


def find_occupant(repo: Repository, post: Post) -> Occupant | None:
    lock = _lock(repo, post)
    if not lock.exists():
        return None
    with suppress(UserError):
        try:
            with hold_lock(lock, wait=0):
                return None
        except StorageError:
            return None  # whoever cannot open it cannot know
    try:
        said = json.loads((_folder(repo) / f"{post}.json").read_bytes())
        return Occupant(int(said["pid"]), str(said["program"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Occupant(0)  # it has begun just now


def ask_to_stop(repo: Repository, pid: int, program: str) -> None:
    """An empty `program`: all that the process does."""
    write_whole(_mark(repo, pid), program.encode())


def is_asked_to_stop(repo: Repository, program: str) -> bool:
    """Whether this process is, in what it does for `program`; empty: as a daemon."""
    return _mark_text(repo, os.getpid()) in {"", program}


def _mark_text(repo: Repository, pid: int) -> str | None:
    try:
        return _mark(repo, pid).read_text("utf-8")
    except OSError:
        return None


def _mark(repo: Repository, pid: int) -> Path:
    return _folder(repo) / f"stop-{pid}"


def _folder(repo: Repository) -> Path:
    return repo.control / "loop"


def _lock(repo: Repository, post: Post) -> Path:
    return repo.control / LOCKS / f"loop-{post}"
