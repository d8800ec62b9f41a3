"""What the suite lost since the last acceptance, and the reasons that people gave for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.events import Revised
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value
from verdigris.core.weakening import Weakening, weakenings
from verdigris.core.weakening_inherited import imported
from verdigris.kernel.operation import operation
from verdigris.kernel.texts import texts_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.kernel.project import Project

RECORDED = frozenset({"changed", "data"})
"""Noted only: a test or golden file that asks for something else is how a requirement changes."""


@value
class Lost:
    """What the suite lost, in words."""

    blocking: tuple[str, ...]
    noted: tuple[str, ...]


def lost(project: Project, state: WorktreeState, tree: str) -> Lost:
    """What is under a recorded reason or a reported test-bug is not counted."""
    found = _weakenings(project, state, state.ground or tree, tree)
    return Lost(
        tuple(_told(one) for one in found if one.kind not in RECORDED),
        tuple(_told(one) for one in found if one.kind in RECORDED),
    )


def _weakenings(project: Project, state: WorktreeState, old: str, new: str) -> tuple[Weakening, ...]:
    changed = [c.path for c in project.workspace.changes(old, new) if old != new]
    tests = [path for path in changed if project.classify(path) is PathClass.TEST]
    if not tests:
        return ()
    before, after = (_with_bases(project, tree, texts_at(project, tree, tests)) for tree in (old, new))
    return weakenings(before, after, revised=(*state.revised, *_reported(state)), data_changed=True)


def _with_bases(project: Project, tree: str, texts: Mapping[str, str]) -> dict[str, str]:
    """With the test files that these import from: what they inherit stands there."""
    found, new = dict(texts), dict(texts)
    files = [e.path for e in project.workspace.files(tree) if e.path.endswith(".py")]
    while new:
        words = {word for text in new.values() for word in imported(text)}
        near = [p for p in files if p not in found and p.rpartition("/")[2].removesuffix(".py") in words]
        new = texts_at(project, tree, [p for p in near if project.classify(p) is PathClass.TEST])
        found |= new
    return found


def _told(one: Weakening) -> str:
    was = f" was `{one.before}`" if one.before else ""
    now = f" is `{one.after}`" if one.after else ""
    return f"{one.path}:{one.line}: {one.kind}:{was}{now}"


def revise(project: Project, names: Sequence[str], why: str) -> tuple[str, ...]:
    """`tdd revise NAME… --why WHY`: a person's word, and it stays in the log."""
    if not why.strip():
        raise UserError("a revision needs a reason.", hint='e.g. --why "rounding is now half-even"')
    with operation(project):
        project.record(Revised(names=tuple(names), why=why), sync=True)
        return tuple(names)


def _reported(state: WorktreeState) -> tuple[str, ...]:
    return tuple(place.rpartition(":")[0] for bug in state.test_bugs.values() for place in bug.places)
