"""The file of a session: what was said, line by line, and what it folds to after a stop or a kill.

It lies with the kernel's own files, where no shell of an agent can write. What the law decided is not in
here: that is in the log.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.errors import UserError
from verdigris.core.records import from_json, to_json
from verdigris.core.value import value
from verdigris.drivers.code.conversation import Conversation
from verdigris.drivers.code.plan import Plan
from verdigris.drivers.code.settings import Sweep  # noqa: TC001 - read from JSON by its name
from verdigris.models.protocol import Message, Usage
from verdigris.storage.durable_files import append_line, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.models.providers import Scrubber
    from verdigris.storage.repository import Repository

HEADER = {"session": "verdigris", "schema": 1}
FOLDER, CURRENT = "sessions", "current"
_NAME = re.compile(r"[0-9a-f]{8}")


@value
class Opened:
    model: str
    prefix: tuple[Message, ...] = ()
    """Of the first opening; a session that goes on keeps it, whatever the files say by then."""
    start: int = 0
    """The last event of the log before the session began."""
    chosen: str = ""
    """Who answers, where the command line says it."""


@value
class Tasked:
    """What a person asked for."""

    task: str


@value
class Said:
    messages: tuple[Message, ...]


@value
class TurnBegan:
    number: int
    tree: str
    """The worktree before it, for undo."""
    ground: str = ""
    """What edits were compared with then."""


@value
class Undone:
    """A person took a turn back, and those after it were taken back before."""

    number: int


@value
class Counted:
    usage: Usage


@value
class Planned:
    plan: Plan


@value
class Judged:
    """A verdict on a turn, as the model was told it."""

    footer: str


@value
class ModelChosen:
    """A person named who answers from here on: `provider:name`."""

    model: str


@value
class SweepBegan:
    """A person gave the open refactor a scope and a budget."""

    sweep: Sweep


@value
class Compacted:
    said: tuple[Message, ...]


@value
class Ended:
    outcome: str
    why: str = ""


Entry: TypeAlias = (
    Opened
    | Tasked
    | Said
    | TurnBegan
    | Undone
    | Counted
    | Planned
    | Judged
    | ModelChosen
    | SweepBegan
    | Compacted
    | Ended
)
_KINDS: dict[str, type[Entry]] = {
    "opened": Opened,
    "tasked": Tasked,
    "said": Said,
    "turn": TurnBegan,
    "undone": Undone,
    "counted": Counted,
    "planned": Planned,
    "judged": Judged,
    "model": ModelChosen,
    "sweep": SweepBegan,
    "compacted": Compacted,
    "ended": Ended,
}
_WORDS = {kind: word for word, kind in _KINDS.items()}


@value
class SessionRecord:
    """What the entries fold to."""

    model: str = ""
    """By its own name; the tools of the whole session are chosen by it."""
    chosen: str = ""
    """Who answers, where a person named somebody."""
    choices: int = 0
    """Made while it was open."""
    conversation: Conversation = Conversation(())
    tasks: tuple[str, ...] = ()
    turns: tuple[TurnBegan, ...] = ()
    """Those that are not undone."""
    last_turn: int = 0
    usage: Usage = Usage()
    plan: Plan = Plan()
    verdicts: tuple[str, ...] = ()
    sweep: Sweep | None = None
    """The last one; it holds while a refactor is open."""
    start: int = 0
    openings: int = 0
    outcome: str = ""
    """Empty while it is open, and after a kill."""

    def after(self, entry: Entry) -> SessionRecord:
        match entry:
            case Opened():
                return self._after_opening(entry)
            case Tasked():
                return replace(self, tasks=(*self.tasks, entry.task), outcome="")
            case Said():
                return replace(self, conversation=self.conversation.add(*entry.messages))
            case TurnBegan() | Undone():
                return self._after_turn(entry)
            case Counted():
                return replace(self, usage=self.usage + entry.usage)
            case Planned():
                return replace(self, plan=entry.plan)
            case Judged():
                return replace(self, verdicts=(*self.verdicts, entry.footer))
            case ModelChosen():
                return replace(self, chosen=entry.model, choices=self.choices + 1)
            case SweepBegan():
                return replace(self, sweep=entry.sweep)
            case Compacted():
                return replace(self, conversation=replace(self.conversation, said=entry.said))
            case Ended():
                return replace(self, outcome=entry.outcome)

    def _after_turn(self, entry: TurnBegan | Undone) -> SessionRecord:
        if isinstance(entry, Undone):
            return replace(self, turns=tuple(turn for turn in self.turns if turn.number < entry.number))
        return replace(self, turns=(*self.turns, entry), last_turn=entry.number)

    def _after_opening(self, entry: Opened) -> SessionRecord:
        again = replace(
            self,
            model=entry.model,
            chosen=entry.chosen or self.chosen,
            openings=self.openings + 1,
            outcome="",
        )
        if self.openings:
            return again
        return replace(again, conversation=Conversation(entry.prefix), start=entry.start)


class SessionFile:
    """Each entry is on the disk before the session goes on, without the values of key variables."""

    def __init__(self, repo: Repository, name: str, scrub: Scrubber) -> None:
        self.name = name
        self.path = session_path(repo, name)
        self._scrub = scrub
        self.record = fold_session(self.path) if self.path.exists() else SessionRecord()

    def add(self, entry: Entry) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        document = self._scrub.document({"kind": _WORDS[type(entry)], **to_json(entry)})
        append_line(self.path, document, header=HEADER)
        self.record = self.record.after(entry)


def session_path(repo: Repository, name: str) -> Path:
    return repo.private / FOLDER / f"{name}.jsonl"


def fold_session(path: Path) -> SessionRecord:
    record = SessionRecord()
    for entry in read_entries(path):
        record = record.after(entry)
    return record


def read_entries(path: Path) -> Iterator[Entry]:
    """All that the file holds, the oldest first."""
    hint = "`tdd code` begins a new session"
    for number, document in read_lines(path, header=HEADER, what="the file of a session", hint=hint):
        try:
            kind = _KINDS[document["kind"]]
            yield from_json(kind, {k: v for k, v in document.items() if k != "kind"})
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"line {number} of the session {path} cannot be read: {error!r}", hint=hint
            ) from None


def find_session(repo: Repository, name: str) -> str:
    """The whole name of a session, of its beginning; empty: the one that was written to last."""
    names = [path.stem for path in _session_paths(repo)]
    if not name and names:
        return names[-1]
    matching = [one for one in names if name and one.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if not names:
        raise UserError("there is no session in this worktree yet.", hint='`tdd code -p "TASK"` begins one')
    problem = "is not known here" if not matching else "is the beginning of several"
    raise UserError(f"the session {name!r} {problem}.", hint=f"known: {', '.join(names[-5:])}")


def _session_paths(repo: Repository) -> list[Path]:
    """The one that was written to last is the last."""
    found = [path for path in (repo.private / FOLDER).glob("*.jsonl") if _NAME.fullmatch(path.stem)]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def describe_sessions(repo: Repository, most: int = 50) -> list[tuple[str, float, str]]:
    """Name, time of the last entry and first task, the newest first; without files that cannot be read."""
    found = []
    for path in reversed(_session_paths(repo)[-most:]):
        with suppress(UserError):
            tasks = fold_session(path).tasks
            found.append((path.stem, path.stat().st_mtime, tasks[0] if tasks else ""))
    return found


def note_current(repo: Repository, name: str) -> None:
    """Notes the open session, so that a second one is told whose worktree it is."""
    folder = repo.private / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CURRENT).write_text(name, "utf-8")


def read_current(repo: Repository) -> str:
    try:
        return (repo.private / FOLDER / CURRENT).read_text("utf-8").strip()
    except OSError:
        return ""
