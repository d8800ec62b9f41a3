"""Commits a step, with a message made of what the role proposed and the kernel found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError, UserError
from verdigris.core.events import Committing, StepProposed
from verdigris.core.records import from_json, to_json
from verdigris.core.report import Status
from verdigris.core.value import replace, value
from verdigris.drivers.judges.step import oracle_of
from verdigris.drivers.machine.roles import REFACTORER, TEAM
from verdigris.drivers.message import Proposal, Verified, message
from verdigris.storage import tdd_folder
from verdigris.turns import commit
from verdigris.turns.commit import CommitIdentity, CommitRefused

if TYPE_CHECKING:
    from verdigris.core.state import OpenStep
    from verdigris.drivers.machine.opening import Machine
    from verdigris.storage.project import Project


@value
class StepCommit:
    commit: str
    subject: str
    verdict: str
    concerns: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    """The trees around the step, for those who watch."""


def open_step(project: Project) -> OpenStep:
    step = project.state().machine.step
    if step is None:
        raise HarnessError("the machine's step has no record of its start.", hint="`tdd log verify`")
    return step


def propose(machine: Machine, project: Project, attempt: int, proposal: Proposal) -> None:
    """On record before anything of it is written; without any key that a model may have repeated."""
    said = machine.casting.scrub.document(to_json(proposal))
    blob = project.workspace.blob(json.dumps(said, sort_keys=True).encode())
    step = open_step(project).step
    project.record(StepProposed(step=step, attempt=attempt, proposal=blob), sync=True)


def commit_step(
    machine: Machine, project: Project, found: Verified | None = None
) -> StepCommit | CommitRefused:
    """`found`: of a tester's step; of the others the log knows it, so that a resumed run says the same."""
    step = open_step(project)
    tree = project.workspace.snapshot()
    paths = tuple(
        path
        for path in _changed_paths(project, step.tree, tree)
        if not path.startswith(f"{tdd_folder.NAME}/")
    )
    proposal = _proposal(project, step)
    verified = replace(found or _gather_verified(project, step, proposal), oracle=oracle_of(project, tree))
    role = TEAM.role(step.role)
    text = machine.casting.scrub(message(role, step.step, proposal, verified))
    intent = Committing(
        step=step.step,
        role=role.name,
        parent=step.commit,
        tree=tree,
        message=project.workspace.blob(text.encode(errors="replace")),
        paths=paths,
    )
    author = CommitIdentity(machine.settings.author_name, machine.settings.author_email)
    made = commit.commit(project, intent, author, hidden=machine.casting.scrub.variables, hooks=machine.hooks)
    if isinstance(made, CommitRefused):
        if not made.by_content:
            raise UserError(
                machine.casting.scrub(made.why),
                hint="no role can mend that: repair it, then `tdd run` goes on",
            )
        return made
    concerns = tuple(map(machine.casting.scrub, verified.concerns))
    return StepCommit(made, text.partition("\n")[0], verified.verdict, concerns, step.tree, tree)


def _changed_paths(project: Project, old: str, new: str) -> list[str]:
    return [change.path for change in project.workspace.changes(old, new)] if old != new else []


def _proposal(project: Project, step: OpenStep) -> Proposal:
    data = project.workspace.blob_bytes(step.proposal) if step.proposal else None
    if data is None:
        raise HarnessError("what the step proposed is not in the store.", hint="`tdd doctor` checks it")
    return from_json(Proposal, json.loads(data))


def _gather_verified(project: Project, step: OpenStep, proposal: Proposal) -> Verified:
    counts = _counts(project)
    if step.role == REFACTORER.name:
        return Verified(step.verdict, counts, concerns=step.concerns)
    tests = tuple(sorted(step.tests))
    return Verified(step.verdict, counts, tests, proposal.reds, concerns=step.concerns)


def _counts(project: Project) -> str:
    """Counts the results of the acceptance's own run."""
    baseline = project.state().baseline
    data = project.workspace.blob_bytes(baseline.record) if baseline else None
    statuses = list(json.loads(data or b"{}").values())
    passed, skipped = statuses.count(Status.PASS), statuses.count(Status.SKIP)
    failed = len(statuses) - passed - skipped
    return ", ".join(
        f"{number} {word}"
        for number, word in ((passed, "passed"), (failed, "failed"), (skipped, "skipped"))
        if number or word == "passed"
    )
