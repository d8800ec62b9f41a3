"""A turn whose foundation changed: no verdict until its reds are proven anew, on the turn's start tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import Settled, Suspended, Violation
from verdigris.core.verdict import Kind, Verdict
from verdigris.kernel.foundation.frozen import changed
from verdigris.kernel.repository import head

if TYPE_CHECKING:
    from verdigris.core.state import Turn
    from verdigris.kernel.project import Project

CHANGED = "changed since the claim, and runs below the tests"


def undermined(project: Project, turn: Turn, tree: str) -> Verdict | None:
    """None while all is as it was frozen. Otherwise `tdd test` of the claims resumes; no edit is touched."""
    paths = changed(project, turn.foundation)
    if not paths:
        return None
    reasons = tuple(f"{path} {CHANGED}" for path in paths)
    now = head(project.repo)
    project.record(
        *(Violation(path=path, what=CHANGED) for path in paths),
        Settled(turn=turn.id, verdict=Kind.TAMPERED, tree=tree, reasons=reasons),
        Suspended(turn=turn.id, tree=turn.tree, commit=now.commit, on=now.branch, why=reasons[0]),
        sync=True,
    )
    return Verdict(Kind.TAMPERED, reasons)
