"""What is configured, and the tree from which edits are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verdigris.core.events.event import Event
from verdigris.core.value import value


@value
class Configured(Event):
    tdd_yaml: str
    """Digest of the file that the rest was compiled from."""
    settings: Mapping[str, Any]
    classes: Any


@value
class Unconfigured(Event):
    why: str = ""


@value
class Scaffolded(Event):
    """Files that `tdd init` is about to write because they were missing."""

    files: Mapping[str, str]
    """Path → digest of its content."""
    project: bool = False
    """They make a project, rather than adding to one."""


@value
class GateInstalled(Event):
    """Files of a client that a gate was written into, as they were and as they are now."""

    client: str
    before: Mapping[str, str]
    """Without those that did not exist."""
    after: Mapping[str, str]


@value
class GateRemoved(Event):
    client: str


@value
class Ground(Event):
    """The tree against which unclaimed edits are told; what a commit of others brought belongs to it."""

    tree: str
    commit: str | None
    on: str | None
    """The branch."""
    why: str
    paths: tuple[str, ...] = ()


@value
class HeadSeen(Event):
    """HEAD moved by a plain commit of the tree as it stands: nothing else changes."""

    commit: str | None
    on: str | None
