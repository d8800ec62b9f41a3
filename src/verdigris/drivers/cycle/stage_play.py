"""Lets a model play one stage of a cycle: asks it, carries out its edits, and lets a verb judge them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import CycleStopped
from verdigris.core.paths import PathClass
from verdigris.core.records import Actor
from verdigris.core.state import Cycle, Stage
from verdigris.drivers.cycle.frame import CycleStep, report_step, spec_of
from verdigris.drivers.cycle.pages import EXAMPLE
from verdigris.drivers.cycle.settings import CycleSettings, load_cycle
from verdigris.drivers.cycle.stages import advance, resume
from verdigris.drivers.cycle.validation.judgement import HOLDOUT, GivenVerdict, validate
from verdigris.drivers.edits import (
    Bad,
    Seen,
    describe_reds,
    format_changes,
    gather_material,
    read_files,
    refuse,
    run_linters,
    settle_edits,
    write_changes,
)
from verdigris.drivers.happenings import Watcher
from verdigris.drivers.play import Exhausted, Play, RoleRun, open_roles
from verdigris.models.protocol import Usage
from verdigris.models.roles import Role
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.models.roles.context import Material
from verdigris.models.roles.prompt import Task, put_fences
from verdigris.models.roles.teams import CYCLE
from verdigris.storage.durable_files import write_whole
from verdigris.storage.lock import hold_alone
from verdigris.storage.project import Project
from verdigris.turns.aside import lay_back
from verdigris.turns.test_bug import report_bug

PLANNER, TESTER, VALIDATOR, CODER = CYCLE.roles
ROLE_OF = {Stage.PLAN: PLANNER, Stage.RED: TESTER, Stage.VALIDATE: VALIDATOR, Stage.GREEN: CODER}
DRIVER = "cycle"
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
        yield OpenRun(**vars(run), project=project, settings=settings)


def set_back(project: Project, cycle: Cycle, why: str) -> None:
    """Sets the tree back to what the open stage's next attempt begins with; all bytes are kept.

    Files that are neither test nor source nor a role's doing are somebody else's.
    """
    start = cycle.accepted or cycle.tree if cycle.stage is Stage.GREEN else cycle.tree
    now = project.workspace.snapshot()
    if cycle.stage is Stage.VALIDATE or now == start:
        return
    records = project.log.records(start=cycle.since)
    edits = (one for one in records if one.type == "edit" and one.worktree == project.repo.worktree)
    # Written through the kernel in the open stage.
    written = frozenset(path for one in edits for path in one.data.get("paths", ()))

    def is_ours(path: str) -> bool:
        return path in written or project.classify(path) is not PathClass.OTHER

    if any(is_ours(change.path) for change in project.workspace.changes(start, now)):
        lay_back(project, start, f"cycle {cycle.id}, stage {cycle.stage}: {why}", only=is_ours)


def play_stage(run: OpenRun, project: Project, cycle: Cycle, step: int) -> tuple[CycleStep | Deny, Usage]:
    """Lets a model play the stage, and counts its tokens; if the cycle stopped, its state says why."""
    role, stage = ROLE_OF[cycle.stage], StageAnswers(run, project, cycle)
    play: Play[CycleStep | Deny] = run.play(
        project, role, step, run.settings.attempts, stage.judge, stage.set_back
    )
    play = replace(play, reopen=stage.reopen, interrupted="the run was interrupted")
    play.tell_beginning()

    def show() -> tuple[Material, Task]:
        tree, budget = project.workspace.snapshot(), run.settings.prompt_tokens
        return material_of(project, cycle, tree, budget), task_of(project, cycle, step)

    done = play.take(show)
    if isinstance(done, Exhausted):
        tried = f"no answer of the {role} was accepted in {run.settings.attempts} attempts"
        done = stage.stop(f"{tried}: {done.why}")
    elif isinstance(done, Deny):
        play.log.record_end(outcome="refused", why=done.reason)
    else:
        play.log.record_end(outcome="done", why="; ".join(done.said))
    return done, play.model.usage


@dataclass(frozen=True)
class StageAnswers:
    """Carries out what the role of a stage answers, by the verbs of the cycle."""

    run: OpenRun
    project: Project
    cycle: Cycle

    def judge(self, got: EditPlan | RoleStop, _: int, seen: Seen) -> CycleStep | Deny | Bad:
        match got:
            case RoleStop(say=Say.TEST_IS_WRONG):
                return self._report_bug(got.reason)
            case RoleStop(say=Say.SPEC_IS_WRONG):
                role = ROLE_OF[self.cycle.stage]
                return self.stop(f"the {role} says that the spec is wrong: {got.reason}")
            case RoleStop():  # the validator's verdict, on top of the kernel's own checks
                for path, data in got.changes.items():
                    write_whole(self.project.root / HOLDOUT / path, data)
                return validate(self.project, GivenVerdict(got.say.value, got.findings))
        return self._judge_edits(got, seen)

    def stop(self, why: str) -> CycleStep:
        stopped = CycleStopped(cycle=self.cycle.id, why=self.run.role_models.scrub(why))
        self.project.record(stopped, sync=True)
        return report_step(self.project, stopped.why)

    def _report_bug(self, reason: str) -> CycleStep | Deny:
        """Reports the place that the coder names; if that is no test, the first test that is still red."""
        project = self.project
        found = _PLACE.search(reason)
        left = [test for test in self.cycle.tests if test not in self.cycle.green]
        tries = [((found[1],), found[2] or reason)] if found else []
        for places, why in (*tries, (tuple(left[:1]), reason)):
            with suppress(UserError):
                reported = report_bug(project, places, self.run.role_models.scrub(why), cwd=project.root)
                if isinstance(reported, Deny):
                    return reported
                return report_step(project, f"test-bug {reported.bug}: {', '.join(reported.places)} — {why}")
        return self.stop(f"the coder says that a test is wrong: {reason}")

    def _judge_edits(self, plan: EditPlan, seen: Seen) -> CycleStep | Bad:
        project, start = self.project, self.project.workspace.snapshot()
        judge = ROLE_OF[self.cycle.stage].judge
        if (bad := write_changes(project, plan.changes)) is not None:
            return bad
        if judge == "settlement":
            return settle_edits(project, seen) or report_step(project, "the frozen tests are accepted")
        if judge == "red" and (bad := format_changes(project, start) or run_linters(project)):
            return bad
        done = advance(project)
        return refuse(done) if isinstance(done, Deny) else done

    def set_back(self, why: str) -> None:
        set_back(self.project, self.project.state().open_cycle or self.cycle, why)

    def reopen(self) -> Deny | None:
        """In the green stage, opens a turn for the next attempt."""
        state = self.project.state()
        if (state.open_cycle or self.cycle).stage is not Stage.GREEN or state.turn is not None:
            return None
        opened = resume(self.project, "")
        return opened if isinstance(opened, Deny) else None


# -- what the role is shown and asked ---------------------------------------------------------


def material_of(project: Project, cycle: Cycle, tree: str, budget: int) -> Material:
    """`tree`: the files at the role's start. It holds nothing of another role's reasoning."""
    spec = (project.root / cycle.spec_path).read_text("utf-8", "replace")
    found = gather_material(project, read_files(project, tree), spec, cycle.spec_path, budget)
    return replace(found, own=frozenset({cycle.plan})) if cycle.stage is Stage.PLAN else found


def task_of(project: Project, cycle: Cycle, step: int) -> Task:
    left = set(cycle.tests) - set(cycle.green) if cycle.stage is Stage.GREEN else set()
    reds = tuple(red for red in project.state().reds.values() if red.test_id in left)
    return Task(ROLE_OF[cycle.stage], step, describe_reds(reds), tuple(_notes(project, cycle)))


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
        return
    first = next(iter(project.log.records(start=cycle.since)), None)
    if first is not None and first.seq == cycle.since and (why := first.data.get("why")):
        found = (f"- {finding}" for finding in cycle.findings)
        yield "\n".join((f"The tests are yours again: {why}. Mend that, and keep what is right.", *found))


def step_of(project: Project, cycle: Cycle) -> int:
    """How many stages the cycle has had, with the open one; a repeated stage counts again."""
    moves = {"cycle_started", "cycle_advanced", "cycle_frozen"}
    here = project.repo.worktree
    records = project.log.records(start=cycle.first)
    return sum(record.type in moves and record.worktree == here for record in records)
