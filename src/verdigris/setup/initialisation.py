"""`tdd init` and `tdd uninit`: what is written, recorded and taken away."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from pathlib import Path
from typing import Literal

from verdigris.core.errors import StorageError, UserError
from verdigris.core.events import Configured, Event, Ground, SwitchedOff, SwitchedOn, Unconfigured
from verdigris.core.paths import Classes, PathClass
from verdigris.core.records import Actor, from_json
from verdigris.core.settings import Settings, Stack
from verdigris.core.state import Phase, State
from verdigris.core.value import replace, value
from verdigris.execution.resident.resident import stop
from verdigris.languages.registry import language_for
from verdigris.runners.protocol import Progress
from verdigris.sandbox import strength
from verdigris.setup.detection import detect
from verdigris.storage.config import load, render
from verdigris.storage.durable_files import write_whole
from verdigris.storage.git import ask_users_git
from verdigris.storage.intents import recover
from verdigris.storage.log.log import Log
from verdigris.storage.project import CONFIG, Project, configured_event, drafts, open_log, open_project
from verdigris.storage.repository import Repository, find_repository, head
from verdigris.storage.snapshots.workspace import Workspace
from verdigris.turns.baseline import known_baseline
from verdigris.turns.next_move import following_move

WROTE = "init"
ADOPTED = "init, with the tdd.yaml that was there"


@value
class InitPlan:
    repo: Repository
    settings: Settings
    content: str | None
    """The new text of tdd.yaml; None if a valid one exists."""
    notes: tuple[str, ...] = ()
    """Notes on tools that were found and are not configured."""
    assumed: bool = False
    """The language is a guess: no file shows one."""

    @property
    def log(self) -> str:
        return os.path.relpath(self.repo.control / "events.jsonl", self.repo.root)


@value
class Initialised:
    phase: str
    next: str
    tests: bool
    """Whether there are tests in the tree."""
    already: bool
    baseline: str = ""
    """How the suite stands, in one line, if it was run."""


@value
class Removed:
    file: Literal["removed", "kept", "missing"]
    was_configured: bool


def plan(start: Path, *, lang: str | None = None) -> InitPlan:
    repo = find_repository(start)
    _put_frozen_back(repo)
    if (repo.root / CONFIG).exists():
        return InitPlan(repo, load(repo.root).settings, None)
    found = detect(repo.root, lang)
    if not found.stacks and found.notes:
        hint = "name the language (`tdd init --lang NAME`), or write tdd.yaml first"
        raise UserError("; ".join(found.notes) + ".", hint=hint)
    settings = Settings(stacks=found.stacks or (Stack(),))
    return InitPlan(repo, settings, render(settings), found.notes, assumed=not found.stacks)


def _put_frozen_back(repo: Repository) -> None:
    """Writes tdd.yaml again as an open turn or refactor froze it, if it is gone."""
    here = open_log(repo).state().of(repo.worktree)
    frozen = here.turn or here.refactor
    if frozen is None or here.configuration is None or os.path.lexists(repo.root / CONFIG):
        return
    data = Workspace(repo, lambda _: PathClass.OTHER).read(frozen.tree, CONFIG)
    if data is None:
        raise UserError(
            f"tdd.yaml is gone while the {here.phase} phase is open, and no snapshot has it.",
            hint="`tdd off --why 'tdd.yaml is gone'` ends the phase; then `tdd on` and `tdd init`",
        )
    write_whole(repo.root / CONFIG, data)


def initialise(start: Path, actor: Actor) -> Initialised:
    return carry_out(plan(start), actor)


def carry_out(plan: InitPlan, actor: Actor) -> Initialised:
    """Safe to repeat, and after a kill: the file comes first, and is adopted if the events do not follow."""
    log = open_log(plan.repo)
    state = log.state()
    has_ground = state.of(plan.repo.worktree).ground is not None
    if state.configuration is not None and plan.content is None and has_ground:
        return _describe_result(open_project(plan.repo.root, actor), already=True)
    if plan.content is not None:
        write_whole(plan.repo.root / CONFIG, plan.content.encode())
    return _describe_result(_record(plan, log, actor), already=False)


def with_baseline(start: Path, actor: Actor, done: Initialised, progress: Progress | None) -> Initialised:
    """Runs the suite once on what is there, so that what does not run is said first."""
    project = open_project(start, actor)
    baseline = known_baseline(project, progress)
    return replace(done, next=following_move(project, project.state()), baseline=baseline)


def _record(plan: InitPlan, log: Log[State], actor: Actor) -> Project:
    configured = configured_event(plan.repo.root)
    settings = from_json(Settings, configured.settings)
    project = Project(plan.repo, log, actor, settings, Classes.from_json(configured.classes))
    with project.exclusive():
        fresh = log.state().configuration is None
        recover(project)
        state, tree, now = project.state(), project.workspace.snapshot(), head(plan.repo)
        events: list[Event] = [configured]
        if fresh and state.phase is not Phase.RED:
            # A phase that was open at `tdd uninit` ended with it.
            events += [SwitchedOff(why="uninit"), SwitchedOn(tree=tree)]
        if fresh or state.ground is None:
            why = ADOPTED if plan.content is None else WROTE
            events.append(Ground(tree=tree, commit=now.commit, on=now.branch, why=why))
        project.record(*events, sync=True)
    return project


def _describe_result(project: Project, *, already: bool) -> Initialised:
    state = project.state()
    return Initialised(state.phase, following_move(project, state), has_tests(project), already)


def has_tests(project: Project) -> bool:
    """Whether the tree holds a file that may hold tests."""
    paths = [entry.path for entry in project.workspace.files(project.workspace.snapshot())]
    return any(_may_test(project, path) for path in paths)


def _may_test(project: Project, path: str) -> bool:
    language = language_for(path)
    if language is None or not language.tests.may_hold_tests(path):
        return False
    match project.classify(path):
        case PathClass.TEST:
            return True
        case PathClass.SOURCE if language.facts.tests_in_source:
            return language.tests.holds_test((project.root / path).read_bytes())
        case _:
            return False


def uninitialise(start: Path, actor: Actor, *, force: bool) -> Removed:
    repo = find_repository(start)
    log = open_log(repo)
    was_configured = log.state().configuration is not None
    file = _remove(repo, log, force=force)
    stop(str(repo.private))
    if was_configured:
        log.append(drafts(repo, actor, Unconfigured(why="uninit")), sync=True)
        strength.forget(str(repo.control))
    return Removed(file, was_configured)


def _remove(repo: Repository, log: Log[State], *, force: bool) -> Literal["removed", "kept", "missing"]:
    path = repo.root / CONFIG
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if not force and found != _digest_of_init(log):
            return "kept"
        path.unlink()
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        raise _unwritable(path, error) from error
    return "removed"


def _digest_of_init(log: Log[State]) -> str | None:
    """The digest of the file that the latest `tdd init` wrote; None if it adopted one."""
    by_init = False
    for record in log.records(reverse=True):
        if record.type == Ground.kind() and record.data["why"] in {WROTE, ADOPTED}:
            if record.data["why"] == ADOPTED:
                return None
            by_init = True
        elif by_init and record.type == Configured.kind():
            return str(record.data["tdd_yaml"])
    return None


NAME = "pre-push"
EARLIER = "pre-push.before-tdd"
"""The hook that was there before ours; it runs first."""
_MARK = "# Written by `tdd init --pre-push`"
_HOOK = Path(__file__).with_name("pre-push.sh")


@value
class PrePushHook:
    path: Path
    earlier: bool
    """Another hook exists, which ours will call."""


def plan_hook(root: Path) -> PrePushHook:
    folder = _hooks_folder(root)
    path = folder / NAME
    return PrePushHook(path, not _is_ours(path) and os.path.lexists(path))


def write_hook(plan: PrePushHook) -> None:
    """Safe to repeat, and after a kill: the earlier hook is renamed first, and ours calls it by that name."""
    path, aside = plan.path, plan.path.with_name(EARLIER)
    if plan.earlier and os.path.lexists(aside):
        raise UserError(
            f"{path} and {aside} are both there, and neither is ours.",
            hint=f"join them, or remove {aside.name}; then `tdd init --pre-push` again",
        )
    text = _HOOK.read_text("utf-8").replace("{python}", shlex.quote(sys.executable))
    new = path.with_name(f".{NAME}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, "utf-8")
        new.chmod(0o755)
        if plan.earlier:
            path.rename(aside)
        new.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error


def remove_hook(root: Path) -> Path | None:
    """Returns where it was, with the earlier hook put back; None if ours is not there."""
    path = _hooks_folder(root) / NAME
    if not _is_ours(path):
        return None
    aside = path.with_name(EARLIER)
    try:
        if os.path.lexists(aside):
            aside.replace(path)
        else:
            path.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def _hooks_folder(root: Path) -> Path:
    """Asks the user's git: `core.hooksPath` may name another."""
    return root / ask_users_git(root, "rev-parse", "--git-path", "hooks")


def _is_ours(path: Path) -> bool:
    try:
        return _MARK in path.read_text("utf-8", "replace")
    except OSError:
        return False


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be changed: {error.strerror}", hint="make its folder writable and try again"
    )
