"""`tdd off` and `tdd on`: a person's switches, with a reason, in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Deny, Do
from verdigris.core.events import SwitchedOff, SwitchedOn
from verdigris.core.policy import decide
from verdigris.execution.resident.resident import stop
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from verdigris.storage.project import Project


def switch_off(project: Project, why: str) -> Deny | None:
    """An open turn ends without a verdict; its edits stay in the tree."""
    with operation(project) as state:
        decision = decide(state, Do("off"), project.settings)
        if isinstance(decision, Deny):
            return decision
        project.record(SwitchedOff(why=why), sync=True)
        stop(str(project.repo.private))
        return None


def switch_on(project: Project) -> Deny | None:
    """The tree as it stands is the new ground."""
    with operation(project) as state:
        decision = decide(state, Do("on"), project.settings)
        if isinstance(decision, Deny):
            return decision
        project.record(SwitchedOn(tree=project.workspace.snapshot()), sync=True)
        return None
