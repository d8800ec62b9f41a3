"""Lets a model play one stage of a cycle: asks it, carries out its edits, and lets a verb judge them."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import CycleStopped
from verdigris.core.paths import PathClass
from verdigris.core.records import Actor
from verdigris.core.state import Stage
from verdigris.drivers.cycle.frame import CycleStep, report_step
from verdigris.drivers.cycle.settings import load_cycle
from verdigris.drivers.cycle.stages import advance, resume
from verdigris.drivers.cycle.tasks import DRIVER, ROLE_OF, VALIDATOR, material_of, task_of
from verdigris.drivers.cycle.validation.judgement import HOLDOUT, GivenVerdict, validate
from verdigris.drivers.edits import (
    Bad,
    format_changes,
    refuse,
    run_linters,
    settle_edits,
    write_changes,
)
from verdigris.drivers.play import Exhausted, RoleRun, open_roles, undo_when_interrupted
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.models.roles.teams import CYCLE
from verdigris.storage.durable_files import write_whole
from verdigris.storage.lock import hold_alone
from verdigris.turns.aside import lay_back
from verdigris.turns.test_bug import report_bug

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.core.state import Cycle
    from verdigris.drivers.cycle.settings import CycleSettings
    from verdigris.drivers.edits import Seen
    from verdigris.drivers.happenings import Watcher
    from verdigris.models.roles import Role
    from verdigris.storage.project import Project

_PLACE = re.compile(r"([^\s:`]+:\d+)`?\s*(?:—|–|-+|:)?\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class OpenRun(RoleRun):
    project: Project
    """Where the roles work: the user's own checkout."""
    settings: CycleSettings

    def project_for(self, role: Role, cycle: Cycle, step: int) -> Project:
        """Gives each stage its own context, unless a person plays it; a refused edit is set aside at once."""
        if self.settings.player(role.name).human:
            return self.project
        actor = Actor("agent", f"{DRIVER}:{role}:{cycle.id}.{step}", DRIVER)
        return replace(self.project, actor=actor, settings=replace(self.project.settings, strikes=1))


@contextmanager
def open_run(project: Project, watch: Watcher, *, record: Path | None = None) -> Iterator[OpenRun]:
    """Opens a run, if no other one is open in this worktree."""
    settings = load_cycle(project.root)
    busy = "a cycle is being run in this worktree already"
    alone = hold_alone(project.repo.lock("cycle"), busy, "let it end, or stop it with Ctrl-C there")
    optional = (VALIDATOR.name,)
    with open_roles(CYCLE, settings, project.root, watch, record=record, optional=optional) as run, alone:
        yield OpenRun(run.role_models, run.keeper, run.meter, run.watch, project, settings)


def set_back(project: Project, cycle: Cycle, why: str) -> None:
    """Sets the tree back to what the open stage's next attempt begins with; all bytes are kept.

    Files that are neither test nor source nor a role's doing are somebody else's.
    """
    start = cycle.accepted or cycle.tree if cycle.stage is Stage.GREEN else cycle.tree
    now = project.workspace.snapshot()
    if cycle.stage is Stage.VALIDATE or now == start:
        return
    written = _paths_of_stage(project, cycle)

    def is_ours(path: str) -> bool:
        return path in written or project.classify(path) is not PathClass.OTHER

    if any(is_ours(change.path) for change in project.workspace.changes(start, now)):
        lay_back(project, start, f"cycle {cycle.id}, stage {cycle.stage}: {why}", only=is_ours)


def _paths_of_stage(project: Project, cycle: Cycle) -> frozenset[str]:
    """Returns paths that were written through the kernel in the open stage."""
    records = project.log.records(start=cycle.since)
    edits = (one for one in records if one.type == "edit" and one.worktree == project.repo.worktree)
    return frozenset(path for one in edits for path in one.data.get("paths", ()))


class StagePlay:
    def __init__(self, open_: OpenRun, project: Project, cycle: Cycle, step: int) -> None:
        self._open, self._project, self._cycle, self._step = open_, project, cycle, step
        self._role = ROLE_OF[cycle.stage]
        self._attempts = open_.attempts(project, self._role, step, open_.settings.attempts)
        self._log = self._attempts.log

    def take(self) -> CycleStep | Deny:
        """Plays the stage; if the cycle stopped for a person, its state says why."""
        with undo_when_interrupted(lambda: set_back(self._project, self._cycle, "the run was interrupted")):
            return self._ask()

    def _ask(self) -> CycleStep | Deny:
        project, cycle = self._project, self._cycle
        set_back(project, cycle, "the run was interrupted")
        material = material_of(
            project, cycle, project.workspace.snapshot(), self._open.settings.prompt_tokens
        )
        done: CycleStep | Deny | Exhausted = self._attempts.make(
            material, task_of(project, cycle, self._step), self._carry_out, self._begin_again
        )
        if isinstance(done, Exhausted):
            tried = f"no answer of the {self._role} was accepted in {self._open.settings.attempts} attempts"
            return self._stop(f"{tried}: {done.why}")
        if isinstance(done, Deny):
            self._log.record_end(outcome="refused", why=done.reason)
        else:
            self._log.record_end(outcome="done", why="; ".join(done.said))
        return done

    def _stop(self, why: str) -> CycleStep:
        stopped = CycleStopped(cycle=self._cycle.id, why=self._open.role_models.scrub(why))
        self._project.record(stopped, sync=True)
        return report_step(self._project, stopped.why)

    # -- an answer ----------------------------------------------------------------------------

    def _carry_out(self, got: EditPlan | RoleStop, _: int, seen: Seen) -> CycleStep | Deny | Bad:
        match got:
            case RoleStop(say=Say.TEST_IS_WRONG):
                return self._report_bug(got.reason)
            case RoleStop(say=Say.SPEC_IS_WRONG):
                return self._stop(f"the {self._role} says that the spec is wrong: {got.reason}")
            case RoleStop():
                return self._judge(got)
        return self._judge_edits(got, seen)

    def _judge(self, got: RoleStop) -> CycleStep | Deny:
        """Takes the validator's verdict on top of the kernel's own checks."""
        for path, data in got.changes.items():
            write_whole(self._project.root / HOLDOUT / path, data)
        return validate(self._project, GivenVerdict(got.say.value, got.findings))

    def _report_bug(self, reason: str) -> CycleStep | Deny:
        """Reports the place that the coder names; if that is no test, the first test that is still red."""
        project = self._project
        found = _PLACE.search(reason)
        left = [test for test in self._cycle.tests if test not in self._cycle.green]
        tries = [((found[1],), found[2] or reason)] if found else []
        for places, why in (*tries, (tuple(left[:1]), reason)):
            with suppress(UserError):
                reported = report_bug(project, places, self._open.role_models.scrub(why), cwd=project.root)
                if isinstance(reported, Deny):
                    return reported
                return report_step(project, f"test-bug {reported.bug}: {', '.join(reported.places)} — {why}")
        return self._stop(f"the coder says that a test is wrong: {reason}")

    def _judge_edits(self, plan: EditPlan, seen: Seen) -> CycleStep | Bad:
        project, start = self._project, self._project.workspace.snapshot()
        if (bad := write_changes(project, plan.changes)) is not None:
            return bad
        if self._role.judge == "settlement":
            return settle_edits(project, seen) or report_step(project, "the frozen tests are accepted")
        if self._role.judge == "red" and (bad := format_changes(project, start) or run_linters(project)):
            return bad
        done = advance(project)
        if isinstance(done, Deny):
            return refuse(done)
        return done

    def _begin_again(self, why: str) -> Deny | None:
        """Sets the tree back for the next attempt; in the green stage opens a new turn."""
        project = self._project
        cycle = project.state().open_cycle or self._cycle
        set_back(project, cycle, why)
        if cycle.stage is not Stage.GREEN or project.state().turn is not None:
            return None
        opened = resume(project, "")
        return opened if isinstance(opened, Deny) else None
