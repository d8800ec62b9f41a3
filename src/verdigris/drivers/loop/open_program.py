"""Opens a program as the only one at work in its repository: its worktree, its roles, its bounds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from verdigris.core.errors import UserError
from verdigris.core.events import Event
from verdigris.core.records import Actor
from verdigris.core.value import value
from verdigris.drivers.edits import gather_material, read_files
from verdigris.drivers.happenings import Noted, Watcher, scrub_texts
from verdigris.drivers.loop.branches.remote import GitRemote
from verdigris.drivers.loop.branches.work import WorkBranch, prepare_branch
from verdigris.drivers.loop.discovery import (
    FoundProgram,
    bind_project,
    bounds_of,
    find_program,
    lint_program,
    withheld_paths,
)
from verdigris.drivers.loop.history import ProgramState, follow_history
from verdigris.drivers.loop.settings import LoopSettings, load_loop
from verdigris.drivers.loop.tasks import DRIVER, RATCHET, TEST_DRIVEN
from verdigris.drivers.play import RoleRun, open_roles
from verdigris.drivers.private_worktree import adapt_stacks, open_private
from verdigris.models.roles import Role
from verdigris.models.roles.context import Material
from verdigris.models.roles.teams import LOOP
from verdigris.storage.durable_files import write_whole
from verdigris.storage.git import git
from verdigris.storage.lock import hold_alone, is_held
from verdigris.storage.project import Project, open_project
from verdigris.storage.repository import LOCKS, Repository
from verdigris.turns.operation import operation

Post = Literal["run", "daemon"]
RUN: Post = "run"
DAEMON: Post = "daemon"
_BUSY = {
    RUN: "a program is at work in this repository already",
    DAEMON: "a daemon is at work in this repository already",
}
_LET_IT_END = "let it end, or stop it with `tdd loop stop`"
_MOMENT = 0.5
"""Seconds. Who only asks whether the lock is held holds it for a shorter time."""


@value
class Occupant:
    pid: int
    program: str = ""
    """Empty for a daemon."""


@contextmanager
def occupy(repo: Repository, post: Post, program: str = "", *, patient: bool = False) -> Iterator[None]:
    """Holds the post alone, or raises a UserError that names the holder; `patient`: waits instead."""
    with hold_alone(_lock(repo, post), _BUSY[post], _LET_IT_END, wait=None if patient else _MOMENT):
        note = json.dumps({"pid": os.getpid(), "program": program})
        write_whole(_folder(repo) / f"{post}.json", note.encode())
        if post == DAEMON or find_occupant(repo, DAEMON) != Occupant(os.getpid()):
            _mark(repo, os.getpid()).unlink(missing_ok=True)  # for an earlier process of that id
        try:
            yield
        finally:
            if _mark_text(repo, os.getpid()) == program:
                _mark(repo, os.getpid()).unlink(missing_ok=True)


def find_occupant(repo: Repository, post: Post) -> Occupant | None:
    if not is_held(_lock(repo, post)):
        return None
    try:
        said = json.loads((_folder(repo) / f"{post}.json").read_bytes())
        return Occupant(int(said["pid"]), str(said["program"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Occupant(0)  # it has the lock and has not written its note yet


def ask_to_stop(repo: Repository, pid: int, program: str) -> None:
    """Asks the process to stop its work on `program`; empty: all of its work."""
    write_whole(_mark(repo, pid), program.encode())


def is_asked_to_stop(repo: Repository, program: str) -> bool:
    """Whether this process was asked to stop its work on `program`; empty: its work as a daemon."""
    return _mark_text(repo, os.getpid()) in {"", program}


def _mark_text(repo: Repository, pid: int) -> str | None:
    try:
        return _mark(repo, pid).read_text("utf-8")
    except OSError:
        return None


def _mark(repo: Repository, pid: int) -> Path:
    return _folder(repo) / f"stop-{pid}"


def _folder(repo: Repository) -> Path:
    return repo.control / "loop"


def _lock(repo: Repository, post: Post) -> Path:
    return repo.control / LOCKS / f"loop-{post}"


@dataclass(frozen=True)
class OpenProgram(RoleRun):
    home: Project
    """The user's checkout."""
    project: Project
    """The private worktree on the program's branch, bound to the paths that the program may change."""
    found: FoundProgram
    settings: LoopSettings
    base: str
    """The commit of the base branch that the program's branch contains."""

    @property
    def remote(self) -> GitRemote | None:
        return remote_of(self.home.root, self.settings)

    @property
    def name(self) -> str:
        return self.found.name

    def state(self) -> ProgramState:
        return follow_history(self.project.log, self.name)

    def record(self, *events: Event) -> None:
        """Takes keys out of all texts, which a model or a tool may have repeated."""
        self.project.record(*(scrub_texts(event, self.role_models.scrub) for event in events), sync=True)

    def project_for(self, role: Role) -> Project:
        """The project as the role acts in it. One strike: a refused edit is set aside at once."""
        actor = Actor("agent", f"{DRIVER}:{role}:{self.name}", DRIVER)
        return replace(
            self.project, actor=actor, settings=replace(self.project.settings, strikes=1, uncovered="block")
        )

    def material(self, tree: str) -> Material:
        files, budget = read_files(self.project, tree), self.settings.prompt_tokens
        found = gather_material(self.project, files, self.found.brief, self.found.path, budget)
        bounds = self.project.settings.bounds
        held = withheld_paths(bounds, found.files) if bounds is not None else frozenset()
        return replace(found, withheld=found.withheld | held)


def require_ready(found: FoundProgram, root: Path) -> None:
    """Raises a UserError if the program has findings."""
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
    """One at a time in a repository; the lock ends with the process that holds it."""
    home = open_project(start, Actor(client=DRIVER))
    found = find_program(home.root, name)
    require_ready(found, home.root)
    settings = load_loop(home.root)
    needed = TEST_DRIVEN if found.is_test_driven else RATCHET
    optional = [role for role in LOOP.names if role not in needed]
    limit = min(filter(None, (settings.tokens, found.program.limits.tokens)), default=0)
    settings = replace(settings, tokens=limit)
    alone = occupy(home.repo, RUN, name)
    with open_roles(LOOP, settings, home.root, watch, record=record, optional=optional) as run, alone:
        work = _prepare(home, name, settings, run.watch)
        project = adapt_stacks(home, open_private(home, work.root, DRIVER, settings.share))
        with operation(project):
            pass  # finishes first what a killed process left half done
        bound = _bind(project, found)
        yield OpenProgram(
            **vars(run), home=home, project=bound, found=found, settings=settings, base=work.base
        )


def remote_of(root: Path, settings: LoopSettings) -> GitRemote | None:
    known = git(root, "remote").out.split()
    return GitRemote(settings.remote) if settings.remote in known else None


def follow_base(open_: OpenProgram) -> OpenProgram:
    """Before an iteration: takes in what people did to the branch and to its base."""
    return replace(open_, base=_prepare(open_.home, open_.name, open_.settings, open_.watch).base)


def _prepare(home: Project, name: str, settings: LoopSettings, watch: Watcher) -> WorkBranch:
    work = prepare_branch(home, name, settings.base, remote_of(home.root, settings))
    for note in work.notes:
        watch(Noted(note))
    return work


def _bind(project: Project, found: FoundProgram) -> Project:
    files = [entry.path for entry in project.workspace.files(project.workspace.snapshot())]
    return bind_project(project, bounds_of(found, files))
