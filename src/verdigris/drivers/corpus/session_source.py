"""Reads the conversations of `tdd code`, and finds the author of a triple.

A compacted conversation has several parts: the model saw each of them, and never all together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from verdigris.core.errors import UserError
from verdigris.core.records import Record
from verdigris.core.state import WorktreeState
from verdigris.core.value import replace, value
from verdigris.drivers.code.session_file import (
    FOLDER,
    Compacted,
    Counted,
    Ended,
    ModelChosen,
    Opened,
    Said,
    SessionEntry,
    Tasked,
    read_entries,
)
from verdigris.drivers.code.tools.dispatch import tools_for
from verdigris.drivers.corpus.triple import Author, LeftOut, Triple
from verdigris.models.protocol import Message, ToolSpec, Usage
from verdigris.storage.durable_files import TDD_FOLDER
from verdigris.storage.repository import Repository

CLIENT = "code"


@value
class Spoken:
    message: Message
    copied: bool = False
    """It was said in an earlier part, and is repeated here for context."""
    usage: Usage | None = None
    """The tokens of the call that gave this reply."""
    model: str = ""
    """The model that gave the reply."""


@value
class SessionStory:
    """A session's file, as parts between compactions."""

    name: str
    model: str = ""
    tasks: tuple[str, ...] = ()
    prefix: tuple[Message, ...] = ()
    parts: tuple[tuple[Spoken, ...], ...] = ((),)
    outcome: str = ""

    @property
    def statement(self) -> str:
        return "\n\n".join(self.tasks)


@value
class Trajectory:
    """One part of a session in which at least one triple was accepted."""

    id: str
    session: str
    part: int
    """The first is 1."""
    parts: int
    model: str
    tools: tuple[ToolSpec, ...]
    prefix: tuple[Message, ...]
    spoken: tuple[Spoken, ...]
    outcome: str
    triples: tuple[Triple, ...]
    """The triples of the whole session."""

    @property
    def task(self) -> str:
        return self.triples[0].task

    @property
    def split(self) -> str:
        return self.triples[0].split


def tell_story(name: str, entries: Iterable[SessionEntry]) -> SessionStory:
    story, counted, speaker = SessionStory(name), None, ""
    for entry in entries:
        match entry:
            case Opened():
                speaker = entry.model
                story = replace(story, model=story.model or speaker, prefix=story.prefix or entry.prefix)
            case ModelChosen():
                speaker = entry.model
            case Tasked():
                story = replace(story, tasks=(*story.tasks, entry.task))
            case Counted():
                counted = entry.usage
            case Said():
                spoken = tuple(
                    Spoken(said, usage=counted, model=speaker) if said.role == "assistant" else Spoken(said)
                    for said in entry.messages
                )
                *done, last = story.parts
                story, counted = replace(story, parts=(*done, (*last, *spoken))), None
            case Compacted():
                carried = tuple(Spoken(message, copied=True) for message in entry.said)
                story = replace(story, parts=(*story.parts, carried))
            case Ended():
                story = replace(story, outcome=entry.outcome)
            case _:
                pass
    return story


class Sessions:
    """The sessions of a repository, by name, and the logs of its machine's steps."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._stories: dict[str, SessionStory] = {}
        self.left_out: list[LeftOut] = []
        for path in sorted(repo.control.glob(f"worktrees/*/{FOLDER}/*.jsonl")):
            try:
                self._stories[path.stem] = tell_story(path.stem, read_entries(path))
            except UserError as error:
                self.left_out.append(LeftOut(f"session:{path.stem}", error.message))

    def find_story(self, name: str) -> SessionStory | None:
        return self._stories.get(name)

    def author_of(self, record: Record, before: WorktreeState) -> Author:
        """Returns who settled. The model is known for sessions, and for steps whose log is still there."""
        role, client, context = (record.actor.get(name, "") for name in ("role", "client", "context"))
        author = Author(role, client, context)
        story = self._stories.get(context) if client == CLIENT else None
        if story is not None:
            return replace(author, model=story.model)
        step = before.machine.step
        if step is None or role != "agent":
            return author
        return replace(author, model=_model_of_step(self._repo.root, step.step, step.role))

    def trajectories(self, triples: Iterable[Triple]) -> Iterator[Trajectory]:
        """Yields the parts of each session that has triples, with the tools of its model."""
        by_session: dict[str, list[Triple]] = {}
        for triple in triples:
            if triple.author.client == CLIENT and triple.author.context in self._stories:
                by_session.setdefault(triple.author.context, []).append(triple)
        for name, mine in sorted(by_session.items()):
            story = self._stories[name]
            tools = tools_for(story.model)
            for number, part in enumerate(story.parts, start=1):
                yield Trajectory(
                    id=f"{name}-{number}",
                    session=name,
                    part=number,
                    parts=len(story.parts),
                    model=story.model,
                    tools=tools,
                    prefix=story.prefix,
                    spoken=part,
                    outcome=story.outcome,
                    triples=tuple(mine),
                )


def _model_of_step(root: Path, step: int, role: str) -> str:
    try:
        document = json.loads((root / TDD_FOLDER / "logs" / f"step-{step}-{role}.json").read_bytes())
    except (OSError, ValueError):
        return ""
    match document:
        case {"model": str(model)}:
            return model
        case _:
            return ""
