"""Commits a step, squashes a cycle's steps to one commit, and fast-forwards the user's branch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import shorten

from verdigris.core.actions import Deny
from verdigris.core.errors import HarnessError, UserError
from verdigris.core.report import Status
from verdigris.core.state import OpenStep, Phase
from verdigris.core.value import replace, value
from verdigris.drivers.commits import Verified, announce, author_of, changed_paths, message
from verdigris.drivers.edits import accepted_suite, oracle_of
from verdigris.drivers.machine import history
from verdigris.drivers.machine.history import REFACTORER, TESTER, MachineCommit, Position
from verdigris.drivers.machine.open_machine import DRIVER, Machine, is_taken_back
from verdigris.drivers.play import read_proposal
from verdigris.drivers.private_worktree import ancestor, is_same_commit, ref
from verdigris.models.roles.teams import MACHINE
from verdigris.storage.git import ask_users_git, git
from verdigris.storage.lock import is_held
from verdigris.storage.project import Project
from verdigris.storage.repository import head, in_progress
from verdigris.turns.git import CommitRefused, author_environment, commit, sync
from verdigris.turns.operation import operation


@value
class StepCommit:
    commit: str
    subject: str
    verdict: str
    concerns: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    """The trees before and after the step, for watchers."""


def open_step(project: Project) -> OpenStep:
    step = project.state().machine.step
    if step is None:
        raise HarnessError("the machine's step has no record of its start.", hint="`tdd log verify`")
    return step


def commit_step(machine: Machine, project: Project, found: Verified | None) -> StepCommit | CommitRefused:
    """`found`: of a tester's step. For the others the log has it, so that a resumed run says the same."""
    step = open_step(project)
    tree = project.workspace.snapshot()
    proposal = read_proposal(project)
    if proposal is None:
        raise HarnessError("what the step proposed is not in the store.", hint="`tdd doctor` checks it")
    role = MACHINE.role(step.role)
    if found is None:
        is_green = role is not REFACTORER
        tests, reds = (tuple(sorted(step.tests)), proposal.reds) if is_green else ((), {})
        found = Verified(step.verdict, _counts(project), tests, reds, concerns=step.concerns)
    verified = replace(found, oracle=oracle_of(project, tree))
    text = machine.role_models.scrub(message(role, step.step, proposal, verified))
    paths = changed_paths(project, step.tree, tree)
    intent = announce(project, text, paths, step=step.step, role=role.name, driver=DRIVER)
    made = commit(
        project,
        replace(intent, parent=step.commit),
        author_of(machine.settings),
        hidden=machine.role_models.scrub.variables,
        hooks=machine.hooks,
    )
    if isinstance(made, CommitRefused):
        if not made.by_content:
            raise UserError(
                machine.role_models.scrub(made.why),
                hint="no role can mend that: repair it, then `tdd run` goes on",
            )
        return made
    concerns = tuple(map(machine.role_models.scrub, verified.concerns))
    return StepCommit(made, text.partition("\n")[0], verified.verdict, concerns, step.tree, tree)


def _counts(project: Project) -> str:
    """Counts the results of the acceptance's run."""
    statuses = list(accepted_suite(project).values())
    passed, skipped = statuses.count(Status.PASS), statuses.count(Status.SKIP)
    failed = len(statuses) - passed - skipped
    return ", ".join(
        f"{number} {word}"
        for number, word in ((passed, "passed"), (failed, "failed"), (skipped, "skipped"))
        if number or word == "passed"
    )


_TRAILER = re.compile(r"TDD-\w+: ")


def squash_cycle(machine: Machine, now: Position) -> str | None:
    """If the next step begins a cycle, makes one commit of the last one; returns why it could not."""
    steps = cycle_steps(machine)
    if now.role is not TESTER or now.finding or len(steps) < 2:  # noqa: PLR2004 - red and green
        return None
    root = machine.project.root
    oldest = steps[-1].commit
    if held := git(root, "branch", "--remotes", "--contains", oldest).out.split():
        return f"the cycle stays {len(steps)} commits: {held[0]} has them already"
    text = cycle_message(
        [ask_users_git(root, "log", "-1", "--format=%B", each.commit) for each in reversed(steps)],
        now.step - 1,
    )
    signed = ("-S",) if git(root, "config", "--type=bool", "commit.gpgsign").out.strip() == "true" else ()
    made = git(
        root,
        *("commit-tree", "HEAD^{tree}", "-p", f"{oldest}^", *signed, "-F", "-"),
        stdin=text,
        env=author_environment(root, author_of(machine.settings)),
        hidden=machine.role_models.scrub.variables,
    )
    if not made.ok:
        return f"the cycle stays {len(steps)} commits: git could not make one of them: {made.text}"
    ask_users_git(
        root, "update-ref", "-m", "tdd: one commit of a cycle", "HEAD", made.out.strip(), steps[0].commit
    )
    with operation(machine.project):
        pass  # records that HEAD moved
    return None


def cycle_steps(machine: Machine) -> list[MachineCommit]:
    """The steps of the last cycle, the newest first, without squashed ones and those of the user's branch."""
    root = machine.project.root
    found: list[MachineCommit] = []
    for told in history.commits(root):
        made = told.made
        if made is None or made.squashed:
            break
        if machine.is_sandboxed and ancestor(root, made.commit, ref(machine.branch)):
            break
        if found and found[-1].role is TESTER and made.role is not TESTER:
            break
        found.append(made)
    return found


def cycle_message(messages: Sequence[str], last: int) -> str:
    """The implementor's headline, the text of each step, then all trailers in order."""
    parts = [_split_trailers(message) for message in messages]
    head = next((lines[0] for lines, _ in parts if lines[0].startswith(("feat", "fix"))), parts[-1][0][0])
    said = "\n\n".join(_join_body(lines, head) for lines, _ in parts)
    trailers = [line for _, lines in parts for line in lines]
    oracles = [line for line in trailers if line.startswith("TDD-Oracle: ")]
    kept = [line for line in trailers if line not in oracles]
    steps = [line.partition(": ")[2] for line in kept if line.startswith("TDD-Step: ")]
    closing = [] if steps[-1:] == [str(last)] else [f"TDD-Role: {REFACTORER}", f"TDD-Step: {last}"]
    return "\n".join((head, "", said.strip(), "", *kept, *oracles[-1:], *closing)) + "\n"


def _join_body(lines: Sequence[str], head: str) -> str:
    """The text of a step, with its headline unless that is the commit's."""
    body = "\n".join(lines[1:]).strip()
    return "\n\n".join(filter(None, ("" if lines[0] == head else f"{lines[0]}:", body)))


def _split_trailers(message: str) -> tuple[list[str], list[str]]:
    """The lines of a message, and those of its last block if it consists of trailers."""
    lines = message.strip().splitlines()
    first = next((n for n in range(len(lines), 0, -1) if not lines[n - 1].strip()), len(lines))
    if first < len(lines) and _TRAILER.match(lines[first]):
        return lines[:first], lines[first:]
    return lines, []


_TOLD = 160


def forward(home: Project, branch: str, to: str) -> str | None:
    """Fast-forwards the user's checkout to the machine's commit; returns why it could not."""
    now = head(home.repo)
    if now.branch == branch and is_same_commit(home.root, "HEAD", to):
        return None
    if why := hindrance(home, branch, to):
        return why
    match sync(home, ("merge", "--quiet", "--ff-only", to), quiet=True):
        case Deny() as no:
            return no.reason
        case moved if moved.exit_code != 0:
            return f"git would not fast-forward it: {shorten(moved.said, _TOLD, placeholder=' …')}"
        case _:
            return None


def hindrance(home: Project, branch: str, to: str) -> str | None:
    """Why the user's checkout could not be moved now; None if it could."""
    if head(home.repo).branch != branch:
        return f"{branch} is not checked out here any more"
    if unfinished := in_progress(home.repo):
        return f"a {unfinished} is in progress"
    if home.state().phase in {Phase.GREEN, Phase.REFACTOR}:
        return f"the {home.state().phase} phase is open in your checkout"
    changed = git(home.root, "status", "--porcelain", "--untracked-files=no").out.splitlines()
    if changed:
        return f"your checkout has changes ({changed[0][3:]}{' …' if len(changed) > 1 else ''})"
    if not ancestor(home.root, "HEAD", to):
        return f"{branch} has diverged"
    if is_taken_back(home.root, ref(branch), to):
        return f"{branch} was reset to before the machine's commits"
    if is_held(home.repo.lock("operation")):
        return "another tdd command is at work in your checkout"
    return None
