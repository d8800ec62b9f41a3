"""Opens the machine on a repository: chooses the worktree and checks that every role has a player."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.fold import ACCEPTED
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.drivers.budget import Meter
from verdigris.drivers.happenings import Delayed, scrub_events
from verdigris.drivers.machine import worktree
from verdigris.drivers.machine.roles import TEAM
from verdigris.drivers.private_worktree import adapt_stacks, hooks, open_private, ref
from verdigris.drivers.step_records import StepRecords
from verdigris.languages.registry import language_named
from verdigris.languages.starter import says_nothing
from verdigris.models.casting import cast_roles
from verdigris.models.roles.context import as_text
from verdigris.storage import tdd_folder
from verdigris.storage.config import load_machine
from verdigris.storage.git import git
from verdigris.storage.lock import hold_alone
from verdigris.storage.project import open_project
from verdigris.storage.repository import head, in_progress
from verdigris.turns.aside import lay_back
from verdigris.turns.git.sync import sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.core.settings import MachineSettings
    from verdigris.drivers.happenings import Watcher
    from verdigris.models.casting import Casting
    from verdigris.models.roles import Role
    from verdigris.storage.project import Project


CLIENT = "machine"
_BUSY = "a machine is at work in this worktree already"
_LET_IT_END = "let it end, or stop it with Ctrl-C there; `tdd status` shows how far it is"
_BUILDING = 180
"""Seconds for a compiler that begins with nothing."""


@dataclass(frozen=True)
class Machine:
    home: Project
    """The user's checkout."""
    project: Project
    """Where the machine works: its private worktree, or the user's checkout."""
    branch: str
    """The user's."""
    settings: MachineSettings
    casting: Casting
    keeper: StepRecords
    meter: Meter
    watch: Watcher
    hooks: str | None = None
    """Where git has to be told where the hooks are."""

    @property
    def sandboxed(self) -> bool:
        return self.project.root != self.home.root

    def acting(self, role: Role) -> Project:
        """Each role in a context of its own; a person who plays one is a person."""
        who = "person" if self.settings.player(role.name).human else "agent"
        limited = replace(self.project.settings, timeout=self._seconds())
        return replace(self.project, actor=Actor(who, f"{CLIENT}:{role}", CLIENT), settings=limited)

    def _seconds(self) -> int:
        """For a run of the tests: what the suite took before, and what one more test may take."""
        baseline = self.project.state().baseline
        took = 3 * baseline.duration_ms // 1000 if baseline is not None else 0
        languages = [language_named(stack.language) for stack in self.project.settings.stacks]
        building = 0 if all(one.facts.loads_singly for one in languages) else _BUILDING
        return min(self.project.settings.timeout, took + building + self.settings.test_seconds)

    def kata(self) -> str:
        """As committed; where it is not, as it lies in the user's checkout."""
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
    """One per worktree; a second one says so."""
    home = open_project(start, Actor(client=CLIENT))
    settings = load_machine(home.root)
    branch = _branch(home)
    casting = cast_roles(
        TEAM, settings, root=home.root, record=record, notice=lambda why: watch(Delayed(why))
    )
    with hold_alone(home.repo.lock("machine"), _BUSY, _LET_IT_END), casting:
        keeper = StepRecords(home.root, casting.scrub)
        project = _private(home, settings, branch) if settings.sandbox else _in_place(home, settings)
        told = scrub_events(watch, casting.scrub)
        meter = Meter(settings.tokens, told, settings.prices)
        own_hooks = hooks(home.root) if project.root != home.root else None
        machine = Machine(home, project, branch, settings, casting, keeper, meter, told, own_hooks)
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


# -- where it works ---------------------------------------------------------------------------


def _in_place(home: Project, settings: MachineSettings) -> Project:
    state = home.state()
    if state.phase is Phase.OFF:
        raise UserError(f"Verdigris is off here ({state.off_why}).", hint="`tdd on`")
    if state.machine.step is None and state.phase is not Phase.RED:
        raise UserError(f"the {state.phase} phase is open here.", hint="end it first: `tdd status` says how")
    return _adapt_project(home, settings)


def dirty(root: Path) -> list[str]:
    """Files that differ from HEAD, of those that git knows or would add; nothing of ours."""
    said = git(root, "status", "--porcelain", "-z", "--untracked-files=all").out
    paths = (entry[3:] for entry in said.split("\0") if len(entry) > 3)  # noqa: PLR2004 - the status and a space
    return [path for path in paths if not path.startswith(f"{tdd_folder.NAME}/")]


def _private(home: Project, settings: MachineSettings, branch: str) -> Project:
    found = worktree.private(home.repo, branch)
    project = open_private(home, found.root, CLIENT, settings.share)
    if worktree.behind(found.root, branch):
        _follow(project, branch)
    return _adapt_project(adapt_stacks(home, project), settings)


def _follow(project: Project, branch: str) -> None:
    """What was begun on the old ground begins anew; what was accepted there is committed there first."""
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
    """One strike: what is not accepted goes at once, and the role hears why."""
    said = project.settings
    strict = said.uncovered if settings.uncovered == "record" else settings.uncovered
    return replace(project, settings=replace(said, strikes=1, uncovered=strict))
