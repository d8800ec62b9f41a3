"""What the role of a stage is shown and asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.state import Stage
from verdigris.drivers.cycle.frame import spec_of
from verdigris.drivers.cycle.pages import EXAMPLE
from verdigris.drivers.edits import describe_reds, gather_material, read_files
from verdigris.models.roles.prompt import Task, put_fences
from verdigris.models.roles.teams import CYCLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.state import Cycle, Red
    from verdigris.models.roles.context import Material
    from verdigris.storage.project import Project


DRIVER = "cycle"

PLANNER, TESTER, VALIDATOR, CODER = CYCLE.roles
ROLE_OF = {Stage.PLAN: PLANNER, Stage.RED: TESTER, Stage.VALIDATE: VALIDATOR, Stage.GREEN: CODER}


def material_of(project: Project, cycle: Cycle, tree: str, budget: int) -> Material:
    """`tree`: the files at the role's start. It holds nothing of another role's reasoning."""
    spec = (project.root / cycle.spec_path).read_text("utf-8", "replace")
    found = gather_material(project, read_files(project, tree), spec, cycle.spec_path, budget)
    return replace(found, own=frozenset({cycle.plan})) if cycle.stage is Stage.PLAN else found


def task_of(project: Project, cycle: Cycle, step: int) -> Task:
    reds = describe_reds(_frozen_reds(project, cycle)) if cycle.stage is Stage.GREEN else ()
    return Task(ROLE_OF[cycle.stage], step, reds, tuple(_notes(project, cycle)))


def _notes(project: Project, cycle: Cycle) -> Iterator[str]:
    if cycle.stage is Stage.GREEN:
        return
    scenarios = (f"- {one.id}  (line {one.line}: {one.name})" for one in spec_of(project, cycle).scenarios)
    yield "\n".join(("The ids of the spec's scenarios:", *scenarios))
    if cycle.stage is Stage.PLAN:
        yield f"The plan is the file {cycle.plan}. What it says of one scenario has this form:\n{EXAMPLE}"
        return
    plan = (project.root / cycle.plan).read_text("utf-8", "replace")
    yield f"The plan ({cycle.plan}):\n{put_fences(plan)}"
    if cycle.stage is Stage.VALIDATE:
        found = (f"- {line}" for line in describe_reds(project.state().valid_reds))
        yield "\n".join(("The kernel ran the tests. Red now, each on an assertion:", *found))
    elif why := why_again(project, cycle):
        found = (f"- {finding}" for finding in cycle.findings)
        yield "\n".join((f"The tests are yours again: {why}. Mend that, and keep what is right.", *found))


def why_again(project: Project, cycle: Cycle) -> str:
    """Why the tests were sent back; empty the first time."""
    first = next(iter(project.log.records(start=cycle.since)), None)
    return str(first.data.get("why", "")) if first is not None and first.seq == cycle.since else ""


def _frozen_reds(project: Project, cycle: Cycle) -> tuple[Red, ...]:
    left = set(cycle.tests) - set(cycle.green)
    return tuple(red for red in project.state().reds.values() if red.test_id in left)


def step_of(project: Project, cycle: Cycle) -> int:
    """How many stages the cycle has had, with the open one; a repeated stage counts again."""
    moves = {"cycle_started", "cycle_advanced", "cycle_frozen"}
    here = project.repo.worktree
    records = project.log.records(start=cycle.first)
    return sum(record.type in moves and record.worktree == here for record in records)
