"""The implementor's edits: claimed by the reds that the tester left, and settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.agents.roles import feedback
from verdigris.core.actions import Deny
from verdigris.core.pathclass import PathClass
from verdigris.drivers.machine.judging import Bad, forbidden, written
from verdigris.drivers.machine.message import flat
from verdigris.kernel.claiming import claim
from verdigris.kernel.settle import settle
from verdigris.kernel.testing import run_tests

if TYPE_CHECKING:
    from collections.abc import Collection

    from verdigris.agents.roles.check import EditPlan
    from verdigris.core.state import Red
    from verdigris.drivers.machine.judging import Seen
    from verdigris.kernel.project import Project


def open_reds(project: Project, left: Collection[str]) -> tuple[Red, ...]:
    """Of those that the tester left, what the kernel sees red on the tree as it stands.

    Where the log does not know, the suite is run. What failed before is nobody's task here.
    """
    tree = project.workspace.snapshot()
    if not _current(project, tree):
        run_tests(project, (), cwd=project.root)
    return tuple(red for red in _current(project, tree) if flat(red.test_id) in left)


def _current(project: Project, tree: str) -> tuple[Red, ...]:
    reds = (red for red in project.state().valid_reds if red.tree == tree)
    return tuple(sorted(reds, key=lambda red: red.test_id))


def judge_implementation(project: Project, plan: EditPlan, left: Collection[str], seen: Seen) -> Bad | None:
    """None: accepted. One strike, so that what is not accepted has been laid aside already."""
    reds = open_reds(project, left)
    if not reds:
        return forbidden("no test is red any more, so nothing may be implemented")
    classes = {path: project.classify(path) for path in plan.changes}
    targets = [path for path, cls in classes.items() if cls in {PathClass.SOURCE, PathClass.OTHER}]
    if frozen := [path for path in classes if path not in targets]:
        return forbidden(
            f"{frozen[0]} is of class {classes[frozen[0]]}, which the implementor leaves as it is"
        )
    for red in reds:
        claimed = claim(project, [red.test_id], targets, cwd=project.root)
        if isinstance(claimed, Deny):
            return Bad(feedback.denied(claimed), (f"denied [{claimed.rule}]: {claimed.reason}",))
    return written(project, plan.changes) or settled(project, seen)


def settled(project: Project, seen: Seen) -> Bad | None:
    settlement = settle(project)
    if isinstance(settlement, Deny):
        return Bad(feedback.denied(settlement), (f"denied [{settlement.rule}]: {settlement.reason}",))
    seen += [settlement.report] if settlement.report else []
    if settlement.verdict.accepted:
        return None
    verdict, output = settlement.verdict, settlement.output
    withheld = frozenset(project.state().held_out)
    said = feedback.unsettled(verdict, settlement.report, output, withheld=withheld)
    return Bad(said, (f"{verdict.kind}: {'; '.join(verdict.reasons)}",), "\n".join(output))


def told(reds: tuple[Red, ...]) -> tuple[str, ...]:
    """As the role is told them; the same from the log as right after the run."""
    return tuple(f"{red.test_id}{f' at {red.place}' if red.place else ''}: {red.failure}" for red in reds)
