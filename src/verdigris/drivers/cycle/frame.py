"""What every verb of a cycle shares: the open cycle, refusals, and what holds in each stage."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.cycle import next_step, supersede_steps
from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.core.verdict.turn_events import denial_event
from verdigris.drivers.cycle.entry import read_at
from verdigris.storage.git import git
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from verdigris.core.state import Cycle
    from verdigris.drivers.specs.spec import Spec
    from verdigris.storage.project import Project


@value
class CycleStep:
    """A verb was carried out."""

    said: tuple[str, ...]
    cycle: Cycle | None
    next: str


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def report_step(project: Project, *said: str) -> CycleStep:
    state = project.state()
    cycle = state.cycle
    following = next_step(cycle, turn=state.turn is not None) if cycle is not None else "`tdd status`"
    return CycleStep(said, cycle, following)


def refuse(project: Project, denial: Deny, verb: str) -> Deny:
    project.record(denial_event(denial, verb))
    return denial


def open_cycle(project: Project, verb: str) -> Cycle | Deny:
    cycle = project.state().open_cycle
    if cycle is not None:
        return cycle
    return refuse(project, Deny("no-cycle", "No cycle is open here.", "`tdd cycle start SPEC`"), verb)


def deny_misplaced(project: Project, cycle: Cycle) -> Deny | None:
    """What holds in every stage: nobody stopped it, the branch is its own, and the spec is what it was."""
    if cycle.stopped:
        return Deny("cycle-stopped", f"The cycle waits for a person: {cycle.stopped}", next_step(cycle))
    branch = head(project.repo).branch
    if branch != cycle.on and not _is_renamed(project, cycle, branch):
        return Deny(
            "cycle-branch",
            f"The cycle {cycle.id} began on branch {cycle.on}; checked out is {branch or 'no branch'}.",
            f"`tdd sync -- switch {cycle.on}`, or a person ends it: `tdd cycle abort --why WHY`",
        )
    return deny_drift(project, cycle)


def deny_drift(project: Project, cycle: Cycle) -> Deny | None:
    spec = read_at(project, cycle.spec_path)
    if spec is not None and spec.digest == (cycle.frozen_hash or cycle.spec_hash):
        return None
    what = "is gone" if spec is None else "changed since the cycle began"
    return Deny(
        "spec-drift",
        f"{cycle.spec_path} {what}: the target moved under the tests.",
        f"put it back (`git checkout {cycle.commit[:12]} -- {cycle.spec_path}`); {supersede_steps(cycle)}",
    )


def _is_renamed(project: Project, cycle: Cycle, branch: str | None) -> bool:
    """The old name is gone, and what is checked out goes on from where the cycle began."""
    if branch is None or git(project.root, "rev-parse", "--quiet", "--verify", f"refs/heads/{cycle.on}").ok:
        return False
    return git(project.root, "merge-base", "--is-ancestor", cycle.commit, "HEAD").ok


def spec_of(project: Project, cycle: Cycle) -> Spec:
    spec = read_at(project, cycle.spec_path)
    if spec is None:
        raise UserError(f"{cycle.spec_path} is gone.", hint=f"git checkout -- {cycle.spec_path}")
    return spec
