"""Puts protected paths back as they were, in place: intent, effect, outcome; what lay there is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import PutBack, PuttingBack, Violation
from verdigris.storage.intents import finishes
from verdigris.storage.snapshots.restoration import list_displaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.storage.project import Project
    from verdigris.storage.snapshots import Displaced

AGENT = "agent"
"""The role of an actor whose drift is put back; a person's own edit is kept."""


def put_back(project: Project, tree: str, paths: Sequence[str], *, why: str) -> tuple[Displaced, ...]:
    """Lay `paths` as in `tree`; what `tree` does not have goes. The caller holds the operation.

    Files keep their inodes, so that a mount over them stays. Each path becomes a violation, which names the
    blob of the bytes that had to make way.
    """
    if not paths:
        return ()
    intent = PuttingBack(tree=tree, paths=tuple(paths), why=why)
    # Before the intent: what an earlier call displaced is in the log, and not to be told again.
    project.workspace.forget_laying()
    project.record(intent, sync=True)
    return carry_out(project, intent)


def carry_out(project: Project, intent: PuttingBack) -> tuple[Displaced, ...]:
    """The effect of an intent that is in the log, and its outcome. Safe to repeat."""
    displaced = project.workspace.lay(intent.tree, intent.paths, expect=intent.tree)
    blobs = {found.path: found.blob for found in displaced}
    violations = (
        Violation(path=path, what=intent.why, displaced=blobs.get(path, ""))
        for path in dict.fromkeys((*intent.paths, *blobs))
    )
    outcome = PutBack(paths=intent.paths, displaced=list_displaced(displaced))
    project.record(outcome, *violations, sync=True)
    return displaced


@finishes(PuttingBack)
def finish_putting_back(project: Project, intent: PuttingBack) -> str:
    carry_out(project, intent)
    return "finished putting protected paths back"
