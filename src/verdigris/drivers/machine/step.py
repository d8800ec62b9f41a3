"""One step of a role that a model plays: its prompt, its attempts, and the commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from textwrap import shorten
from typing import TypeAlias

from verdigris.core.fold import ACCEPTED
from verdigris.core.value import replace
from verdigris.drivers.commits import Proposal, Verified, summarise_red
from verdigris.drivers.edits import Bad, Seen, describe_reds, forbid, gather_material, read_standing
from verdigris.drivers.judges.implementor import judge_implementation, open_reds
from verdigris.drivers.judges.refactorer import judge_refactoring, rebase_changes
from verdigris.drivers.judges.tester import judge_tests
from verdigris.drivers.machine import history
from verdigris.drivers.machine.commit import StepCommit, commit_step, open_step
from verdigris.drivers.machine.history import CODER, TESTER, Position
from verdigris.drivers.machine.open_machine import Machine
from verdigris.drivers.play import Exhausted, Play
from verdigris.drivers.specs.markdown import list_items, read_page
from verdigris.models.roles import feedback, read_prompts
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.models.roles.context import Material
from verdigris.models.roles.prompt import Task
from verdigris.storage.project import Project
from verdigris.turns.aside import lay_back
from verdigris.turns.completion import list_owed

HOOK = "git commit"


Outcome: TypeAlias = StepCommit | RoleStop | Exhausted


def material_of(machine: Machine) -> Material:
    """Reads only git, so that a resumed run shows the same; leaves out held-out tests of both worktrees."""
    project = machine.project
    told = history.record(project.repo, history.commits(project.root), project.classify)
    settings = machine.settings
    found = gather_material(project, told.files, machine.kata(), settings.kata, settings.prompt_tokens)
    withheld = found.withheld | frozenset(machine.home.state().held_out)
    return replace(found, ages=told.ages, history=told.history, withheld=withheld)


def notes_for(now: Position, machine: Machine) -> Iterator[str]:
    """What the role has to know in this step besides its task."""
    settings = machine.settings
    match now.role:
        case history.REFACTORER:
            lines = f"{settings.refactor_lines} lines, added and removed"
            yield f"The limits of this refactor: {settings.refactor_files} files and {lines}."
        case history.TESTER if now.finding:
            yield read_prompts("machine")["a test came back"].format(finding=now.finding)
        case history.CODER if now.finding:
            yield read_prompts("machine")["a test stays"].format(finding=now.finding)
        case history.TESTER if points := unshown_points(machine.kata(), now.points):
            yield f"Points of the kata that no test shows yet: {list_points(points)}."
    if now.concerns:
        yield "\n".join(("Concerns about the last commit:", *(f"- {concern}" for concern in now.concerns)))


_TOLD = 70
_MOST = 12


def points_of(kata: str) -> tuple[str, ...]:
    """The list items of the outermost level; a kata in prose has none."""
    return tuple(item.text.partition("\n")[0] for item in list_items(read_page(kata).lines))


def unshown_points(kata: str, shown: Collection[int]) -> tuple[str, ...]:
    """Lists points as `3 (one number is its value)`."""
    points = enumerate(points_of(kata), 1)
    return tuple(
        f"{number} ({shorten(text, _TOLD, placeholder=' …')})"
        for number, text in points
        if number not in shown
    )


def list_points(points: Sequence[str]) -> str:
    """The first of them, on one line."""
    more = f", and {len(points) - _MOST} more" if len(points) > _MOST else ""
    return ", ".join(points[:_MOST]) + more


def play_step(machine: Machine, now: Position, notes: tuple[str, ...]) -> Outcome:
    """Lets a model play the step. Accepted edits that a kill left behind are committed first."""
    project = machine.project_for(now.role)

    def set_back(why: str) -> None:
        """Goes back to the step's start; accepted edits stay until they are committed."""
        step = open_step(project)
        lay_back(project, step.rest or step.tree, f"step {step.step}, {step.role}: {why}")

    def judge(got: EditPlan | RoleStop, attempt: int, seen: Seen) -> StepCommit | RoleStop | Bad:
        if isinstance(got, RoleStop):
            scrubbed = replace(got, reason=machine.role_models.scrub(got.reason))
            return refuse_unfinished(project, got) or scrubbed
        machine.propose(project, now.step, attempt, _proposal(project, now, got))
        found = _judge_edits(machine, project, now, got, seen)
        return found if isinstance(found, Bad) else _commit(machine, project, found)

    play: Play[StepCommit | RoleStop] = machine.play(
        project, now.role, now.step, machine.settings.attempts, judge, set_back
    )
    done: Outcome | Bad | None = _commit(machine, project, None) if is_accepted(project) else None
    if done is None or isinstance(done, Bad):
        told = (*notes, done.said) if done is not None else notes
        done = play.take(lambda: (material_of(machine), _task(project, now, told)))
    match done:
        case StepCommit():
            play.log.record_end(
                outcome="committed",
                verdict=done.verdict,
                commit=done.commit,
                subject=done.subject,
                concerns=list(done.concerns),
            )
        case RoleStop():
            play.log.record_end(outcome=done.say.value, why=done.reason)
    return done


def is_accepted(project: Project) -> bool:
    return open_step(project).verdict == ACCEPTED


def _task(project: Project, now: Position, notes: tuple[str, ...]) -> Task:
    if now.role is CODER:
        return Task(now.role, now.step, describe_reds(open_reds(project, now.tests)), notes)
    returned = now.role is TESTER and bool(now.finding)
    return Task(now.role, now.step, (), notes, read_standing(project).words, returned)


def _proposal(project: Project, now: Position, plan: EditPlan) -> Proposal:
    reds = dict(map(summarise_red, open_reds(project, now.tests))) if now.role is CODER else {}
    because = now.finding if now.role is TESTER else ""
    intents = dict(plan.intents)
    return Proposal(plan.type, plan.subject, plan.rationale, intents, reds, because, plan.points)


def _judge_edits(
    machine: Machine, project: Project, now: Position, plan: EditPlan, seen: Seen
) -> Verified | Bad | None:
    """None: accepted; the log has the details."""
    start, settings = open_step(project).tree, machine.settings
    plan = replace(plan, changes=rebase_changes(project, start, plan.changes))
    if is_accepted(project) or now.role.judge == "refactor":
        return judge_refactoring(project, settings, plan.changes, seen)
    if now.role.judge == "red":
        return judge_tests(project, settings, plan, start, seen)
    return judge_implementation(project, settings, machine.kata(), plan, now.tests, seen)


def _commit(machine: Machine, project: Project, found: Verified | None) -> StepCommit | Bad:
    done = commit_step(machine, project, found)
    if isinstance(done, StepCommit):
        return done
    said = feedback.tool_failed(HOOK, HOOK, f"{done.why}\n{done.output}")
    return Bad(said, (done.why,), done.output)


def refuse_unfinished(project: Project, stop: RoleStop) -> Bad | None:
    """Refuses `kata-done` while a test fails, or while no test notices what the code decides."""
    if stop.say is not Say.KATA_DONE:
        return None
    standing = read_standing(project)
    if not standing.green:
        return forbid(f"kata-done needs tests that all pass, and these fail: {standing.named}")
    owed = list_owed(project)
    if not owed:
        return None
    return forbid(
        f"kata-done needs tests that notice the code's decisions; one may pass at once: {'; '.join(owed)}"
    )
