"""One step of a role that a model plays: its prompt, its attempts, and the commit."""

from __future__ import annotations

import re
from textwrap import shorten
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.fold import ACCEPTED
from verdigris.core.value import replace
from verdigris.drivers.edits import Bad, describe_reds, gather_material, read_standing
from verdigris.drivers.judges.implementor import judge_implementation, open_reds
from verdigris.drivers.judges.refactorer import judge_refactoring, rebase_changes
from verdigris.drivers.judges.tester import judge_tests
from verdigris.drivers.machine import history
from verdigris.drivers.machine.commit import StepCommit, commit_step, open_step, propose
from verdigris.drivers.machine.history import CODER, TESTER
from verdigris.drivers.play import Exhausted, undo_when_interrupted
from verdigris.drivers.step_records import Proposal, Verified, summarise_red
from verdigris.models.roles import feedback
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.models.roles.prompt import Task
from verdigris.turns.aside import lay_back

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from verdigris.drivers.edits import Seen
    from verdigris.drivers.machine.history import Position
    from verdigris.drivers.machine.open_machine import Machine
    from verdigris.models.roles.context import Material
    from verdigris.storage.project import Project
    from verdigris.turns import git


_CAME_BACK = """\
Your last test came back. {finding}
Look at it again: fix that test, no other, or make it smaller, so that it follows from the kata and is red \
for the right reason. If it is right as it is, answer test-is-right with the reason, and the implementor \
tries again. If the kata is wrong, answer kata-is-wrong."""
_UPHELD = """\
{finding}
So the test stays as it is: find another way to make it pass."""
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


def notes_for(now: Position, machine: Machine) -> tuple[str, ...]:
    return tuple(_notes(now, machine))


def _notes(now: Position, machine: Machine) -> Iterator[str]:
    settings = machine.settings
    match now.role:
        case history.REFACTORER:
            lines = f"{settings.refactor_lines} lines, added and removed"
            yield f"The limits of this refactor: {settings.refactor_files} files and {lines}."
        case history.TESTER if now.finding:
            yield _CAME_BACK.format(finding=now.finding)
        case history.CODER if now.finding:
            yield _UPHELD.format(finding=now.finding)
        case history.TESTER if points := unshown_points(machine.kata(), now.points):
            yield f"Points of the kata that no test shows yet: {list_points(points)}."
    if now.concerns:
        yield "\n".join(("Concerns about the last commit:", *(f"- {concern}" for concern in now.concerns)))


_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+(?P<text>\S.*)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TOLD = 70
_MOST = 12


def points_of(kata: str) -> tuple[str, ...]:
    """The list items of the outermost level; a kata in prose has none."""
    found: list[tuple[int, str]] = []
    fenced = False
    for line in kata.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (item := _ITEM.fullmatch(line)):
            found.append((len(item["indent"].expandtabs()), item["text"].strip()))
    outermost = min((indent for indent, _ in found), default=0)
    return tuple(text for indent, text in found if indent == outermost)


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


class MachineStep:
    """A step of a role that a model plays."""

    def __init__(
        self, machine: Machine, position: Position, material: Material, notes: tuple[str, ...]
    ) -> None:
        self._machine, self._position, self._role = machine, position, position.role
        self._project = machine.project_for(position.role)
        most = machine.settings.attempts
        self._attempts = machine.attempts(self._project, position.role, position.step, most)
        self._log = self._attempts.log
        self._material, self._notes = material, notes

    def take(self) -> Outcome:
        with undo_when_interrupted(lambda: self._back("the step was interrupted")):
            return self._make_step()

    def _make_step(self) -> Outcome:
        if self._is_accepted():
            done = self._commit(None)
            if isinstance(done, StepCommit):
                return done
            self._notes = (*self._notes, done.said)
        else:
            self._back("the step was interrupted")
        return self._converse()

    def _is_accepted(self) -> bool:
        return open_step(self._project).verdict == ACCEPTED

    def _converse(self) -> Outcome:
        return self._attempts.make(self._material, self._task(), self._judge_answer, self._back)

    def _judge_answer(
        self, got: EditPlan | RoleStop, attempt: int, seen: Seen
    ) -> StepCommit | RoleStop | Bad:
        if isinstance(got, EditPlan):
            return self._carry_out(got, attempt, seen)
        return refuse_unfinished(self._project, got) or self._log_stop(got)

    def _task(self) -> Task:
        now = self._position
        if self._role is CODER:
            return Task(self._role, now.step, describe_reds(open_reds(self._project, now.tests)), self._notes)
        words = read_standing(self._project).words
        returned = self._role is TESTER and bool(now.finding)
        return Task(self._role, now.step, (), self._notes, words, returned)

    # -- the edits ----------------------------------------------------------------------------

    def _carry_out(self, plan: EditPlan, attempt: int, seen: Seen) -> StepCommit | Bad:
        reds = (
            dict(map(summarise_red, open_reds(self._project, self._position.tests)))
            if self._role is CODER
            else {}
        )
        because = self._position.finding if self._role is TESTER else ""
        intents = dict(plan.intents)
        said = Proposal(plan.type, plan.subject, plan.rationale, intents, reds, because, plan.points)
        propose(self._machine, self._project, attempt, said)
        found = self._judge_edits(plan, seen)
        return found if isinstance(found, Bad) else self._commit(found)

    def _judge_edits(self, plan: EditPlan, seen: Seen) -> Verified | Bad | None:
        """None: accepted; the log has the details."""
        start = open_step(self._project).tree
        changes = rebase_changes(self._project, start, plan.changes)
        if self._is_accepted() or self._role.judge == "refactor":
            return judge_refactoring(self._project, self._machine.settings, changes, seen)
        if self._role.judge == "red":
            settings = self._machine.settings
            return judge_tests(self._project, settings, replace(plan, changes=changes), start, seen)
        meant = replace(plan, changes=changes)
        return judge_implementation(
            self._project, self._machine.settings, self._machine.kata(), meant, self._position.tests, seen
        )

    def _commit(self, found: Verified | None) -> StepCommit | Bad:
        match commit_step(self._machine, self._project, found):
            case StepCommit() as done:
                self._log.record_end(
                    outcome="committed",
                    verdict=done.verdict,
                    commit=done.commit,
                    subject=done.subject,
                    concerns=list(done.concerns),
                )
                return done
            case refused:
                return _by_hook(refused)

    def _back(self, why: str) -> None:
        """Goes back to the step's start; accepted edits stay until they are committed."""
        step = open_step(self._project)
        lay_back(self._project, step.rest or step.tree, f"step {step.step}, {step.role}: {why}")

    def _log_stop(self, stop: RoleStop) -> RoleStop:
        self._log.record_end(outcome=stop.say.value, why=stop.reason)
        return replace(stop, reason=self._machine.role_models.scrub(stop.reason))


def _by_hook(refused: git.CommitRefused) -> Bad:
    said = feedback.tool_failed(HOOK, HOOK, f"{refused.why}\n{refused.output}")
    return Bad(said, (refused.why,), refused.output)


def refuse_unfinished(project: Project, stop: RoleStop) -> Bad | None:
    """Refuses `kata-done` while a test fails."""
    if stop.say is not Say.KATA_DONE:
        return None
    found = read_standing(project)
    if found.green:
        return None
    reason = f"kata-done needs tests that all pass, and these fail: {found.named}"
    return Bad(feedback.not_allowed(reason), (reason,))
