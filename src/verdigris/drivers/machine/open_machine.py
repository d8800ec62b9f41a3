"""Opens the machine on a repository: its private worktree, and who plays its roles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.fold import ACCEPTED
from verdigris.core.records import Actor
from verdigris.core.settings import MachineSettings
from verdigris.core.state import Phase
from verdigris.drivers import private_worktree
from verdigris.drivers.happenings import Watcher
from verdigris.drivers.play import RoleRun, open_roles
from verdigris.drivers.private_worktree import (
    Leftover,
    adapt_stacks,
    ancestor,
    current_branch,
    describe_changes,
    hooks_folder,
    is_made,
    is_same_commit,
    list_branches,
    make_worktree,
    open_private,
    ref,
)
from verdigris.languages.registry import language_named
from verdigris.languages.starter import says_nothing
from verdigris.models.roles import Role
from verdigris.models.roles.context import as_text
from verdigris.models.roles.teams import MACHINE
from verdigris.storage import durable_files
from verdigris.storage.config import load_machine
from verdigris.storage.git import ask_users_git, git
from verdigris.storage.lock import hold_alone
from verdigris.storage.project import Project, open_project
from verdigris.storage.repository import Repository, head, in_progress
from verdigris.turns.aside import lay_back
from verdigris.turns.git import sync

DRIVER, BRANCHES = "machine", "tdd-machine/"
CLIENT = "machine"
_BUSY = "a machine is at work in this worktree already"
_LET_IT_END = "let it end, or stop it with Ctrl-C there; `tdd status` shows how far it is"
_BUILDING = 180
"""Seconds for a compiler without a cache."""


def place(home: Repository, branch: str) -> Path:
    return private_worktree.worktree_path(home, DRIVER, branch)


def _move_along(home: Repository, root: Path, ours: str, branch: str) -> None:
    """Raises a UserError if the branches diverged: a person has to merge them."""
    if current_branch(root) != ours:
        raise UserError(
            f"the machine's worktree {root} is not on its branch {ours}",
            hint=f"git -C {root} switch {ours}, or remove it: git worktree remove --force {root}",
        )
    if not ancestor(home.root, ref(branch), ref(ours)) and not ancestor(home.root, ref(ours), ref(branch)):
        raise UserError(
            f"{branch} and the machine's branch {ours} have diverged",
            hint=f"put yours on top: `git rebase {ours}`; {_way_to_give_up(root, ours, branch)}",
        )
    if is_taken_back(home.root, ref(branch), ref(ours)):
        raise UserError(
            f"{branch} was reset to before the machine's commits, which are still on {ours}",
            hint=f"to have them again: `git merge --ff-only {ours}`; {_way_to_give_up(root, ours, branch)}",
        )


def _way_to_give_up(root: Path, ours: str, branch: str) -> str:
    words = f"git worktree remove --force {root} && git branch --force {ours} {branch}"
    return f"or give the machine's up: `{words}`"


def is_taken_back(root: Path, theirs: str, ours: str) -> bool:
    """Whether a person removed commits of ours from the user's branch."""
    if is_same_commit(root, theirs, ours):
        return False
    ahead = ask_users_git(root, "rev-list", f"{theirs}..{ours}").split()
    had = git(root, "reflog", "show", "--format=%H", theirs).out.split() if ahead else []
    return not frozenset(had).isdisjoint(ahead)


def leftovers(root: Path) -> tuple[Leftover, ...]:
    """Lists what the machine left, and why some of it must stay; changes nothing."""
    return (*_left_branches(root), *_left_folder(root))


def _left_branches(root: Path) -> Iterator[Leftover]:
    for branch, place in list_branches(root, BRANCHES):
        theirs = branch.removeprefix(BRANCHES)
        where = f" in {place}" if place else ""
        why = describe_changes(place) if place else ""
        if not ancestor(root, ref(branch), ref(theirs)):
            moves = f"`git merge --ff-only {branch}`, or `git branch -D {branch}`"
            why = f"{theirs} does not have its commits: {moves}"
        yield Leftover(f"the machine's branch {branch}{where}", why, place, branch)


def _left_folder(root: Path) -> Iterator[Leftover]:
    """The folder of plans and logs; it stays if it has other files too."""
    folder = root / durable_files.TDD_FOLDER
    if not durable_files.is_made_here(root):
        return
    others = sorted(path.name for path in folder.iterdir() if path.name not in durable_files.PRIVATE)
    kept = f"it holds {others[0]}, which is not the machine's" if others else ""
    yield Leftover(f"{durable_files.TDD_FOLDER}/ with the machine's plans and logs", kept, folder=str(folder))


@dataclass(frozen=True)
class Machine(RoleRun):
    home: Project
    """The user's checkout."""
    project: Project
    """The project that the machine works in: its private worktree, or the user's checkout."""
    branch: str
    """The user's branch."""
    settings: MachineSettings

    @property
    def hooks(self) -> str | None:
        """The user's folder of hooks, if git would not find it in the private worktree."""
        return hooks_folder(self.home.root) if self.is_sandboxed else None

    @property
    def is_sandboxed(self) -> bool:
        return self.project.root != self.home.root

    def project_for(self, role: Role) -> Project:
        """The project as the role acts in it, with a context of its own."""
        who = "person" if self.settings.player(role.name).human else "agent"
        limited = replace(self.project.settings, timeout=self._seconds())
        return replace(self.project, actor=Actor(who, f"{CLIENT}:{role}", CLIENT), settings=limited)

    def _seconds(self) -> int:
        """The time limit of a test run: three times that of the suite before, and time for one more test."""
        baseline = self.project.state().baseline
        took = 3 * baseline.duration_ms // 1000 if baseline is not None else 0
        languages = [language_named(stack.language) for stack in self.project.settings.stacks]
        building = 0 if all(one.facts.loads_singly for one in languages) else _BUILDING
        return min(self.project.settings.timeout, took + building + self.settings.test_seconds)

    def kata(self) -> str:
        """The kata as committed, else the file in the user's checkout."""
        for root in (self.project.root, self.home.root):
            try:
                text = as_text((root / self.settings.kata).read_bytes())
            except OSError:
                continue
            if text is None:
                raise UserError(
                    f"the kata {self.settings.kata} is not a text file.", hint="it has to be text in UTF-8"
                )
            if not says_nothing(text):
                return text.removeprefix("\ufeff")
        raise UserError(
            f"there is no kata: {self.settings.kata} is missing or empty.",
            hint="describe there what is to be built, or name another file: `machine: {kata_description: …}`",
        )


@contextmanager
def open_machine(start: Path, watch: Watcher, *, record: Path | None = None) -> Iterator[Machine]:
    """One per worktree; a second one is refused."""
    home = open_project(start, Actor(client=CLIENT))
    settings = load_machine(home.root)
    branch = _branch(home)
    alone = hold_alone(home.repo.lock("machine"), _BUSY, _LET_IT_END)
    with open_roles(MACHINE, settings, home.root, watch, record=record) as run, alone:
        project = (
            _open_private_project(home, settings, branch) if settings.sandbox else _in_place(home, settings)
        )
        machine = Machine(**vars(run), home=home, project=project, branch=branch, settings=settings)
        machine.kata()
        yield machine


def _branch(home: Project) -> str:
    now = head(home.repo)
    if now.branch is None:
        raise UserError("HEAD is detached: the machine commits to a branch.", hint="git switch -c NAME")
    if now.commit is None:
        raise UserError(
            f"{now.branch} has no commit yet: the machine builds on one.",
            hint="commit the scaffold first: git add -A && git commit -m 'chore: scaffold'",
        )
    if unfinished := in_progress(home.repo):
        raise UserError(
            f"a {unfinished} is in progress.", hint=f"finish or abort it: `git {unfinished} --abort`"
        )
    return now.branch


# -- its worktree ---------------------------------------------------------------------------


def _in_place(home: Project, settings: MachineSettings) -> Project:
    state = home.state()
    if state.phase is Phase.OFF:
        raise UserError(f"Verdigris is off here ({state.off_why}).", hint="`tdd on`")
    if state.machine.step is None and state.phase is not Phase.RED:
        raise UserError(f"the {state.phase} phase is open here.", hint="end it first: `tdd status` says how")
    return _adapt_project(home, settings)


def _open_private_project(home: Project, settings: MachineSettings, branch: str) -> Project:
    root, ours = place(home.repo, branch), f"{BRANCHES}{branch}"
    if not is_made(root):
        make_worktree(home.repo, DRIVER, root, ours, ref(branch))
    _move_along(home.repo, root, ours, branch)
    project = open_private(home, root, CLIENT, settings.share)
    if not ancestor(root, ref(branch), "HEAD"):
        _follow(project, branch)
    return _adapt_project(adapt_stacks(home, project), settings)


def _follow(project: Project, branch: str) -> None:
    """Follows the user's branch. An accepted step is committed first; an open one begins again."""
    step = project.state().machine.step
    if step is not None and step.verdict == ACCEPTED:
        return
    if step is not None:
        lay_back(project, step.rest or step.tree, f"{branch} has new commits")
    match sync(project, ("merge", "--quiet", "--ff-only", ref(branch)), quiet=True):
        case Deny() as no:
            raise UserError(no.reason, hint=f"in {project.root}: {no.next}")
        case moved if moved.exit_code != 0:
            raise UserError(
                f"the machine's worktree {project.root} does not follow {branch}.",
                hint=f"git -C {project.root} status",
            )


def _adapt_project(project: Project, settings: MachineSettings) -> Project:
    """One strike: refused edits are set aside at once."""
    said = project.settings
    strict = said.uncovered if settings.uncovered == "record" else settings.uncovered
    return replace(project, settings=replace(said, strikes=1, uncovered=strict))
