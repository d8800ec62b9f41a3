"""Find an intent without its outcome, and finish or undo it: the old state or the new, never between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.codec import from_json
from verdigris.core.events import (
    Committing,
    Event,
    Formatted,
    Formatting,
    HoldingOut,
    LayingAside,
    MovingBack,
    Proved,
    Proving,
    PuttingBack,
    Releasing,
    Restoring,
    Syncing,
)

if TYPE_CHECKING:
    from verdigris.kernel.project import Project


def recover(project: Project) -> str | None:
    """What was finished or undone, in words; None when nothing was open."""
    pending = project.state().intent
    if pending is None:
        return None
    from verdigris.kernel import aside, committing, gitwhole, holdout, putback, sync
    from verdigris.kernel.observe import difference
    from verdigris.kernel.workspace.laying import list_displaced

    intent = from_json(Event.kinds[pending.kind], pending.data)
    match intent:
        case LayingAside():
            aside.carry_out(project, intent)
            return f"finished laying {intent.aside} aside"
        case Restoring():
            aside.carry_out_restore(project, intent)
            return f"finished restoring {intent.aside}"
        case Proving():
            # First all the way out: that call may have displaced bytes, and knows its own half-written files.
            away = project.workspace.lay(intent.start, intent.paths, expect=intent.edited)
            back = project.workspace.lay(intent.edited, intent.paths, expect=intent.start)
            project.record(Proved(displaced=list_displaced((*away, *back))), sync=True)
            return "brought the turn's edits back"
        case Formatting():
            touched = difference(project, intent.tree, project.workspace.snapshot()).protected
            displaced = project.workspace.lay(intent.tree, {*intent.paths, *touched}, expect=intent.tree)
            undone = Formatted(tree=intent.tree, undone=True, displaced=list_displaced(displaced))
            project.record(undone, sync=True)
            return "undid an interrupted format"
        case HoldingOut():
            holdout.carry_out(project, intent)
            return "finished holding tests out"
        case Releasing():
            holdout.carry_out_release(project, intent)
            return "finished releasing held-out tests"
        case PuttingBack():
            putback.carry_out(project, intent)
            return "finished putting protected paths back"
        case MovingBack():
            gitwhole.carry_out(project, intent)
            return "finished moving HEAD, index and files back"
        case Syncing():
            sync.finish(project, intent, exit_code=None)
            return "took in an interrupted sync"
        case Committing():
            return committing.finish(project, intent)
        case _:
            return None
