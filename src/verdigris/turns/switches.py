"""A person's switches, `tdd off` and `tdd on`, and `tdd revise`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import Revised, SwitchedOff, SwitchedOn
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.test_ids import split_id
from verdigris.execution.resident.resident import stop
from verdigris.languages.registry import holds_tests
from verdigris.languages.tests import marks, written_as
from verdigris.storage.project import texts_at
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import WorktreeState
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


def revise(project: Project, names: Sequence[str], why: str) -> tuple[str, ...]:
    """`tdd revise NAME… --why WHY`: a person's word, and it stays in the log."""
    if not why.strip():
        raise UserError("a revision needs a reason.", hint='e.g. --why "rounding is now half-even"')
    with operation(project) as state:
        meant = dict.fromkeys((*names, *_behind_slugs(project, state, names)))
        project.record(Revised(names=tuple(meant), why=why), sync=True)
        return tuple(names)


def _behind_slugs(project: Project, state: WorktreeState, names: Sequence[str]) -> tuple[str, ...]:
    """By these ids the tests are known to whom a text without them, or another one, is shown."""
    slugs = {name.partition("[")[0] for name in names if not split_id(name).function}
    tree = state.ground or project.workspace.snapshot()
    files = (entry.path for entry in project.workspace.files(tree)) if slugs else ()
    tests = [p for p in files if project.classify(p) is PathClass.TEST or holds_tests(p, project.classify(p))]
    found = (
        written_as(path, mark)
        for path, text in texts_at(project, tree, tests).items()
        for mark in marks(path, text)
        if mark.slug in slugs
    )
    return tuple(filter(None, found))
