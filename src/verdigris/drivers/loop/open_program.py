"""Opens a program: where it works, who plays its roles, and what it must not touch."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.records import Actor
from verdigris.drivers.budget import Meter
from verdigris.drivers.edits import gather_material
from verdigris.drivers.happenings import Delayed, Noted, scrub_events
from verdigris.drivers.loop.branches.remote import GitRemote
from verdigris.drivers.loop.branches.work import BranchBlocked, find_base, prepare_branch
from verdigris.drivers.loop.history import read_history
from verdigris.drivers.loop.occupancy import RUN, occupy
from verdigris.drivers.loop.programs.boundaries import bind_project, bounds_of, withheld_paths
from verdigris.drivers.loop.programs.discovery import find_program, lint_program
from verdigris.drivers.loop.roles import DRIVER, RATCHET, TEAM, TEST_DRIVEN
from verdigris.drivers.loop.settings import load_loop
from verdigris.drivers.private_worktree import adapt_stacks, hooks, open_private
from verdigris.drivers.step_records import StepRecords
from verdigris.models.casting import cast_roles
from verdigris.storage.git import git
from verdigris.storage.project import open_project
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.core.events import Event
    from verdigris.drivers.happenings import Watcher
    from verdigris.drivers.loop.branches.work import WorkBranch
    from verdigris.drivers.loop.history import ProgramState
    from verdigris.drivers.loop.programs.discovery import FoundProgram
    from verdigris.drivers.loop.settings import LoopSettings
    from verdigris.models.casting import Casting
    from verdigris.models.roles import Role
    from verdigris.models.roles.context import Material
    from verdigris.storage.project import Project


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class OpenProgram:
    home: Project
    """The user's checkout."""
    project: Project
    """The private worktree on the program's branch, bound to what the program may change."""
    found: FoundProgram
    settings: LoopSettings
    casting: Casting
    keeper: StepRecords
    meter: Meter
    watch: Watcher
    base: str = ""
    """The commit of the base branch that the program's branch has taken in."""
    hooks: str | None = None
    """Where git has to be told where the hooks are."""

    @property
    def remote(self) -> GitRemote | None:
        return remote_of(self.home.root, self.settings)

    @property
    def name(self) -> str:
        return self.found.name

    def state(self) -> ProgramState:
        return read_history(self.project.log.records(), self.name)

    def record(self, *events: Event) -> None:
        self.project.record(*events, sync=True)

    def acting(self, role: Role) -> Project:
        """Each role in a context of its own. One strike: what is refused is set aside at once."""
        actor = Actor("agent", f"{DRIVER}:{role}:{self.name}", DRIVER)
        return replace(
            self.project, actor=actor, settings=replace(self.project.settings, strikes=1, uncovered="block")
        )

    def material(self, tree: str) -> Material:
        found = gather_material(
            self.project, tree, self.found.brief, self.found.path, self.settings.prompt_tokens
        )
        bounds = self.project.settings.bounds
        held = withheld_paths(bounds, found.files) if bounds is not None else frozenset()
        return replace(found, withheld=found.withheld | held)


def require_ready(found: FoundProgram, root: Path) -> None:
    """A program with findings does not run, and says why."""
    faults = lint_program(found, root)
    if faults:
        raise UserError(
            f"{found.name} does not run: {faults[0]}" + (f", and {len(faults) - 1} more" * (len(faults) > 1)),
            hint=f"{faults[0].fix}; `tdd loop lint {found.name}` lists all findings",
        )


@contextmanager
def open_program(
    start: Path, name: str, watch: Watcher, *, record: Path | None = None
) -> Iterator[OpenProgram]:
    """One at a time in a repository; the lock goes with whoever holds it."""
    home = open_project(start, Actor(client=DRIVER))
    found = find_program(home.root, name)
    require_ready(found, home.root)
    settings = load_loop(home.root)
    needed = TEST_DRIVEN if found.is_test_driven else RATCHET
    casting = cast_roles(
        TEAM,
        settings,
        root=home.root,
        record=record,
        notice=lambda why: watch(Delayed(why)),
        optional=[role for role in TEAM.names if role not in needed],
    )
    with occupy(home.repo, RUN, name), casting:
        told = scrub_events(watch, casting.scrub)
        work, base = _prepare(home, found, settings, told)
        project = adapt_stacks(home, open_private(home, work.root, DRIVER, settings.share))
        with operation(project):
            pass  # what a kill left half done is finished first
        tokens = min(filter(None, (settings.tokens, found.program.limits.tokens)), default=0)
        yield OpenProgram(
            home,
            _bound(project, found),
            found,
            settings,
            casting,
            StepRecords(home.root, casting.scrub),
            Meter(tokens, told, settings.prices),
            told,
            base,
            hooks(home.root),
        )


class BranchStuck(UserError):
    """The program's branch needs a person."""


def remote_of(root: Path, settings: LoopSettings) -> GitRemote | None:
    known = git(root, "remote").out.split()
    return GitRemote(settings.remote) if settings.remote in known else None


def follow_base(open_: OpenProgram) -> OpenProgram:
    """Before an iteration: what people did to the branch and to its base is taken in."""
    _, base = _prepare(open_.home, open_.found, open_.settings, open_.watch)
    return replace(open_, base=base)


def _prepare(
    home: Project, found: FoundProgram, settings: LoopSettings, watch: Watcher
) -> tuple[WorkBranch, str]:
    remote = remote_of(home.root, settings)
    base = find_base(home.root, settings.base, remote)
    work = base if isinstance(base, BranchBlocked) else prepare_branch(home, found.name, base, remote)
    if isinstance(work, BranchBlocked) or isinstance(base, BranchBlocked):
        why = work.why if isinstance(work, BranchBlocked) else ""
        raise BranchStuck(why, hint=f"a person has to mend the branch; then `tdd loop run {found.name}`")
    for note in work.notes:
        watch(Noted(note))
    return work, base.commit


def _bound(project: Project, found: FoundProgram) -> Project:
    files = [entry.path for entry in project.workspace.files(project.workspace.snapshot())]
    return bind_project(project, bounds_of(found, files))
