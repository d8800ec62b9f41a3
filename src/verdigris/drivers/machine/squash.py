"""Squashes red, green and refactor into one green commit, and forwards the user's branch.

The tree stays as it is, so hooks and verdicts of the steps hold for it. The new commit is made beside HEAD
and put in its place at once: a kill leaves the old commits or the new one.
"""

from __future__ import annotations

import re
from textwrap import shorten
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.state import Phase
from verdigris.drivers.machine import history
from verdigris.drivers.machine.roles import REFACTORER, TESTER
from verdigris.drivers.machine.worktree import taken_back
from verdigris.drivers.private_worktree import ancestor, ref
from verdigris.storage.git import ask_users_git, git
from verdigris.storage.lock import hold_lock
from verdigris.storage.repository import head, in_progress
from verdigris.turns.commit import CommitIdentity, author_environment
from verdigris.turns.operation import operation
from verdigris.turns.sync import sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.drivers.machine.history import MachineCommit, Position
    from verdigris.drivers.machine.opening import Machine
    from verdigris.storage.project import Project


_TRAILER = re.compile(r"TDD-\w+: ")


def in_a_cycle(machine: Machine) -> bool:
    """Whether HEAD holds steps of a cycle that is not one commit yet."""
    return bool(_steps(machine))


def squash_cycle(machine: Machine, now: Position) -> str | None:
    """Where the next step begins a cycle: makes one commit of the last one. Why it was not made, if so."""
    steps = _steps(machine)
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
    author = CommitIdentity(machine.settings.author_name, machine.settings.author_email)
    signed = ("-S",) if git(root, "config", "--type=bool", "commit.gpgsign").out.strip() == "true" else ()
    made = git(
        root,
        *("commit-tree", "HEAD^{tree}", "-p", f"{oldest}^", *signed, "-F", "-"),
        stdin=text,
        env=author_environment(root, author),
        hidden=machine.casting.scrub.variables,
    )
    if not made.ok:
        return f"the cycle stays {len(steps)} commits: git could not make one of them: {made.text}"
    ask_users_git(
        root, "update-ref", "-m", "tdd: one commit of a cycle", "HEAD", made.out.strip(), steps[0].commit
    )
    with operation(machine.project):
        pass  # takes in where HEAD is now
    return None


def _steps(machine: Machine) -> list[MachineCommit]:
    """The newest first; nothing that the user's branch has, and nothing of a cycle before."""
    root = machine.project.root
    found: list[MachineCommit] = []
    for told in history.commits(root):
        made = told.made
        if made is None or made.squashed or _is_users(machine, root, made.commit):
            break
        if found and found[-1].role is TESTER and made.role is not TESTER:
            break
        found.append(made)
    return found


def _is_users(machine: Machine, root: Path, commit: str) -> bool:
    return machine.sandboxed and ancestor(root, commit, ref(machine.branch))


def cycle_message(messages: Sequence[str], last: int) -> str:
    """Headed as the implementor's; each step's own words below it, then all the trailers in their order."""
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
    """Without the headline that is the commit's own."""
    body = "\n".join(lines[1:]).strip()
    return "\n\n".join(filter(None, ("" if lines[0] == head else f"{lines[0]}:", body)))


def _split_trailers(message: str) -> tuple[list[str], list[str]]:
    lines = message.strip().splitlines()
    trailers = list(_trailers(lines))
    return lines[: len(lines) - len(trailers)], trailers


def _trailers(lines: Sequence[str]) -> Iterator[str]:
    """The last block, where it is one."""
    first = next((n for n in range(len(lines), 0, -1) if not lines[n - 1].strip()), len(lines))
    block = lines[first:]
    return iter(block if block and _TRAILER.match(block[0]) else ())


_TOLD = 160


def forward(home: Project, branch: str, to: str) -> str | None:
    """Why the user's checkout stays where it is; None when it stands where the machine does."""
    now = head(home.repo)
    target = git(home.root, "rev-parse", "--verify", "--quiet", to).out.strip()
    if now.branch == branch and now.commit == target:
        return None
    return hindrance(home, branch, to) or _move_branch(home, to)


def hindrance(home: Project, branch: str, to: str) -> str | None:
    """Why it could not be moved now, if it had to be."""
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
    if taken_back(home.root, ref(branch), to):
        return f"{branch} was reset to before the machine's commits"
    try:
        with hold_lock(home.repo.lock("operation"), wait=0):
            return None
    except UserError:
        return "another tdd command is at work in your checkout"


def _move_branch(home: Project, to: str) -> str | None:
    match sync(home, ("merge", "--quiet", "--ff-only", to), quiet=True):
        case Deny() as no:
            return no.reason
        case moved if moved.exit_code != 0:
            return f"git would not fast-forward it: {shorten(moved.said, _TOLD, placeholder=' …')}"
        case _:
            return None
