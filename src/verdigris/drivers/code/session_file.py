"""The file of a session: its entries, one a line, and the record that they fold to.

It lies with the kernel's own files, where no shell of an agent can write. The kernel's decisions are not in
it: they are in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from verdigris.core.errors import UserError
from verdigris.core.records import from_json, to_json
from verdigris.core.value import value
from verdigris.drivers.code.conversation import Conversation
from verdigris.drivers.code.plan import Plan
from verdigris.drivers.code.settings import Sweep
from verdigris.models.protocol import Message, Usage
from verdigris.models.providers import Scrubber
from verdigris.storage.durable_files import append_line, read_lines
from verdigris.storage.repository import Repository

HEADER = {"session": "verdigris", "schema": 1}
FOLDER, CURRENT = "sessions", "current"
_NAME = re.compile(r"[0-9a-f]{8}")


@value
class SessionEntry:
    """One line of the file; `kind` is its name there."""

    kinds: ClassVar[dict[str, type[SessionEntry]]] = {}
    kind: ClassVar[str]

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind
        SessionEntry.kinds[kind] = cls

    def fold(self, record: SessionRecord) -> SessionRecord:
        """The record with what this line adds to it."""
        raise NotImplementedError


@value
class Opened(SessionEntry, kind="opened"):
    model: str
    prefix: tuple[Message, ...] = ()
    """The pinned prefix. A resumed session keeps the first one, even if the files changed since."""
    start: int = 0
    """The number of the log's last event before the session began."""
    chosen: str = ""
    """The model that the command line named."""

    def fold(self, record: SessionRecord) -> SessionRecord:
        chosen = self.chosen or record.chosen
        again = replace(record, model=self.model, chosen=chosen, openings=record.openings + 1, outcome="")
        if record.openings:
            return again
        return replace(again, conversation=Conversation(self.prefix), start=self.start)


@value
class Tasked(SessionEntry, kind="tasked"):
    """A task that a person gave."""

    task: str
    tree: str = ""
    """The worktree then, and the ground that edits were compared with."""
    ground: str = ""
    after: int = 0
    """The number of the log's last event then."""

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, tasks=(*record.tasks, self.task), begun=(*record.begun, self), outcome="")


@value
class Said(SessionEntry, kind="said"):
    messages: tuple[Message, ...]

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, conversation=record.conversation.add(*self.messages))


@value
class TurnBegan(SessionEntry, kind="turn"):
    number: int
    tree: str
    """The worktree before the turn, for undo."""
    ground: str = ""
    """The ground that edits were compared with then."""
    after: int = 0
    """The number of the log's last event then."""

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, turns=(*record.turns, self), last_turn=self.number)


@value
class Undone(SessionEntry, kind="undone"):
    """A person undid this turn and all later ones."""

    number: int
    since: int = 0
    """The events after this one, up to `until`, are about what was undone."""
    until: int = 0

    def fold(self, record: SessionRecord) -> SessionRecord:
        turns = tuple(turn for turn in record.turns if turn.number < self.number)
        return replace(record, turns=turns, undone=(*record.undone, (self.since, self.until)))


@value
class Counted(SessionEntry, kind="counted"):
    usage: Usage

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, usage=record.usage + self.usage)


@value
class Planned(SessionEntry, kind="planned"):
    plan: Plan

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, plan=self.plan)


@value
class Judged(SessionEntry, kind="judged"):
    """A verdict on a turn, in the words for the model."""

    footer: str

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, verdicts=(*record.verdicts, self.footer))


@value
class ModelChosen(SessionEntry, kind="model"):
    """A person chose the model for later turns: `provider:name`."""

    model: str

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, chosen=self.model, choices=record.choices + 1)


@value
class SweepBegan(SessionEntry, kind="sweep"):
    """A person gave the open refactor a scope and a budget."""

    sweep: Sweep

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, sweep=self.sweep)


@value
class Compacted(SessionEntry, kind="compacted"):
    said: tuple[Message, ...]

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, conversation=replace(record.conversation, said=self.said))


@value
class Ended(SessionEntry, kind="ended"):
    outcome: str
    why: str = ""

    def fold(self, record: SessionRecord) -> SessionRecord:
        return replace(record, outcome=self.outcome)


@value
class SessionRecord:
    """The state of a session: what its entries fold to."""

    model: str = ""
    """The model of the first opening, by its own name. It decides the tools of the whole session."""
    chosen: str = ""
    """The model that a person chose, if one did."""
    choices: int = 0
    """How often a person chose a model."""
    conversation: Conversation = Conversation(())
    tasks: tuple[str, ...] = ()
    begun: tuple[Tasked, ...] = ()
    """The same, each with where it began."""
    turns: tuple[TurnBegan, ...] = ()
    """The turns that are not undone."""
    undone: tuple[tuple[int, int], ...] = ()
    """Ranges of events, the first one excluded, that are about undone work."""
    last_turn: int = 0
    usage: Usage = Usage()
    plan: Plan = Plan()
    verdicts: tuple[str, ...] = ()
    sweep: Sweep | None = None
    """The last sweep; it counts while a refactor is open."""
    start: int = 0
    openings: int = 0
    outcome: str = ""
    """Empty while it is open, or if it was killed."""


class SessionFile:
    """Writes each entry to disk before the session goes on, without the values of key variables."""

    def __init__(self, repo: Repository, name: str, scrub: Scrubber) -> None:
        self.name = name
        self.path = session_path(repo, name)
        self._scrub = scrub
        self.record = fold_session(self.path) if self.path.exists() else SessionRecord()

    def add(self, entry: SessionEntry) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        document = self._scrub.document({"kind": entry.kind, **to_json(entry)})
        append_line(self.path, document, header=HEADER)
        self.record = entry.fold(self.record)


def session_path(repo: Repository, name: str) -> Path:
    return repo.private / FOLDER / f"{name}.jsonl"


def fold_session(path: Path) -> SessionRecord:
    record = SessionRecord()
    for entry in read_entries(path):
        record = entry.fold(record)
    return record


def read_entries(path: Path) -> Iterator[SessionEntry]:
    """All entries of the file, the oldest first."""
    hint = "`tdd code` begins a new session"
    for number, document in read_lines(path, header=HEADER, what="the file of a session", hint=hint):
        try:
            kind = SessionEntry.kinds[document["kind"]]
            yield from_json(kind, {k: v for k, v in document.items() if k != "kind"})
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"line {number} of the session {path} cannot be read: {error!r}", hint=hint
            ) from None


def find_session(repo: Repository, name: str) -> str:
    """The full name of a session, from its beginning; empty: the session that was written to last."""
    names = [path.stem for path in _session_paths(repo)]
    if not name and names:
        return names[-1]
    matching = [s for s in names if name and s.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if not names:
        raise UserError("there is no session in this worktree yet.", hint='`tdd code -p "TASK"` begins one')
    problem = "is not known here" if not matching else "is the beginning of several"
    raise UserError(f"the session {name!r} {problem}.", hint=f"known: {', '.join(names[-5:])}")


def _session_paths(repo: Repository) -> list[Path]:
    """Sorted by the time of the last write."""
    paths = [path for path in (repo.private / FOLDER).glob("*.jsonl") if _NAME.fullmatch(path.stem)]
    return sorted(paths, key=lambda path: path.stat().st_mtime_ns)


def describe_sessions(repo: Repository, most: int = 50) -> list[tuple[str, float, str]]:
    """Name, time of the last entry and first task, the newest first; skips files that cannot be read."""
    lines = []
    for path in reversed(_session_paths(repo)[-most:]):
        with suppress(UserError):
            tasks = fold_session(path).tasks
            lines.append((path.stem, path.stat().st_mtime, tasks[0] if tasks else ""))
    return lines


def note_current(repo: Repository, name: str) -> None:
    """Notes the open session, so that a second one can name it."""
    folder = repo.private / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CURRENT).write_text(name, "utf-8")


def read_current(repo: Repository) -> str:
    try:
        return (repo.private / FOLDER / CURRENT).read_text("utf-8").strip()
    except OSError:
        return ""
