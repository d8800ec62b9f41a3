"""Finds an intent without its outcome, and finishes or undoes it: the old state or the new, never between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.codec import from_json
from verdigris.core.events import Event
from verdigris.storage.intents import finisher_of

if TYPE_CHECKING:
    from verdigris.storage.project import Project


def recover(project: Project) -> str | None:
    """What was finished or undone, in words; None when nothing was open."""
    pending = project.state().intent
    if pending is None:
        return None
    kind = Event.kinds[pending.kind]
    return finisher_of(kind)(project, from_json(kind, pending.data))
