"""Starts the user's interpreter and its test tool while we are still loading ourselves.

No code of the project runs in it before it gets the greeting of a run. If it is not needed, it is killed.
"""

from __future__ import annotations

import os

from verdigris.core.errors import VerdigrisError
from verdigris.execution.children import Started, start
from verdigris.execution.room import Room, read
from verdigris.sandbox.notes import replace_file

TYPE_CHECKING = False  # see children.py
if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.execution.room import Terms

CHANNEL = "VERDIGRIS_CHANNEL"
EAGER = "VERDIGRIS_EAGER"
NOTE = "headstart"
"""A file with the room's terms, the folder and the command, separated by NUL: reading it needs no import."""


class Early:
    """A process that waits for its greeting, in a room of its own."""

    def __init__(self, started: Started, room: Room, *, warm: bool = False) -> None:
        self.started = started
        self.room = room
        self.warm = warm
        """Whether it is the child of a resident, which must not make a verdict's run."""

    def end(self) -> None:
        self.started.end()
        self.room.close()


_waiting: dict[tuple[str, ...], Early] = {}
"""The waiting process, by the words of its note; at most one."""


def begin(folder: str, *, warm: bool = False) -> None:
    """Starts the command that the last run in this worktree started; nothing if in doubt."""
    try:
        private = _private(folder)
        with open(os.path.join(private, NOTE), "rb") as file:
            words = os.fsdecode(file.read()).split("\0")
        terms, (cwd, *argv) = read(words)
        if warm and (lent := _borrow_child(private, terms, argv, cwd)):
            _waiting[tuple(words)] = lent
            return
        room = Room(terms, argv)
    except (OSError, ValueError, IndexError, VerdigrisError):
        return
    try:
        started = start(argv, cwd, {**room.env, EAGER: "1"}, CHANNEL, room.confine)
    except (OSError, ValueError, IndexError):
        room.close()
        return
    _waiting[tuple(words)] = Early(started, room)


def _borrow_child(private: str, terms: Terms, argv: list[str], cwd: str) -> Early | None:
    if not os.path.isdir(os.path.join(private, "warm")):
        return None
    from verdigris.execution.resident.forkserver import begin as lend

    lent = lend(private, terms, argv, cwd)
    return None if lent is None else Early(*lent, warm=True)


def take(terms: Terms, argv: tuple[str, ...], cwd: str) -> Early | None:
    """Returns the waiting process, if it is the one that would be started now."""
    early = _waiting.pop((*terms.words(), cwd, *argv), None)
    if early is not None and (not early.started.has_arrived() or early.started.child.poll() is not None):
        early.end()
        return None
    return early


def cancel() -> None:
    while _waiting:
        _waiting.popitem()[1].end()


def remember(private: Path, terms: Terms, argv: tuple[str, ...], cwd: str) -> None:
    """Notes the command for the next head start."""
    words = os.fsencode("\0".join((*terms.words(), cwd, *argv)))
    try:
        note = private / NOTE
        if not note.is_file() or note.read_bytes() != words:
            replace_file(note, words)
    except OSError:
        return


def _private(folder: str) -> str:
    """The private folder of the main worktree, found by searching upwards only."""
    while not os.path.isdir(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            raise FileNotFoundError(folder)
        folder = above
    return os.path.join(folder, ".git", "tdd", "worktrees", "main")
