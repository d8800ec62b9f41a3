"""An opened repository: its log, configuration, tree and actor."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.errors import NotConfigured, StorageError
from verdigris.core.events import Configured, Event, encode
from verdigris.core.fold import StateFolding
from verdigris.core.languages import facts_named
from verdigris.core.paths import Classes, PathClass, classify, with_frozen
from verdigris.core.records import Actor, Draft, Record, from_json, to_json
from verdigris.core.settings import Settings
from verdigris.core.state import Configuration, State, WorktreeState
from verdigris.core.value import replace, take_fields, value
from verdigris.storage.calls.call_records import finish_left, is_any_call
from verdigris.storage.lock import hold_lock
from verdigris.storage.log.light import digest
from verdigris.storage.log.log import Log
from verdigris.storage.repository import Repository, find_repository, head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from verdigris.storage.snapshots.workspace import Workspace


CONFIG = "tdd.yaml"


@value
class TreeView:
    """A tree that is shown instead of the worktree: runs and readers see its files."""

    tree: str
    worktree: str
    """The real tree of the worktree."""
    lent: tuple[tuple[str, str], ...] = ()
    """Pairs (folder, path from the root): packages that runs see at the path; writes there are lost."""


@value
class Project:
    """An opened repository, with all that an operation needs."""

    repo: Repository
    log: Log[State]
    actor: Actor
    settings: Settings
    configured: Classes
    """The classes of the configuration alone; `classes` are those in force."""
    view: TreeView | None = None
    """None: the worktree as it is."""

    @property
    def root(self) -> Path:
        return self.repo.root

    @cached_property
    def workspace(self) -> Workspace:
        from verdigris.storage.snapshots.workspace import Workspace

        return Workspace(self.repo, self.classify, None if self.view is None else self.view.tree)

    @property
    def context(self) -> str:
        """Which agent is acting; empty for a person."""
        return self.actor.context if self.actor.role == "agent" else ""

    @cached_property
    def classes(self) -> Classes:
        """Path classes; an open turn adds the files that its tests read, an open cycle its spec."""
        state = self.state()
        reads = state.turn.reads if state.turn is not None else ()
        specs = (state.open_cycle.spec_path,) if state.open_cycle is not None else ()
        return with_frozen(self.configured, (*reads, *specs))

    def classify(self, path: str) -> PathClass:
        return classify(path, self.classes)

    def state(self) -> WorktreeState:
        return self.log.state().of(self.repo.worktree)

    def record(self, *events: Event, sync: bool = False) -> tuple[Record, ...]:
        """One atomic batch: all of the events, or none."""
        if not events:
            return ()
        records = self.log.append(drafts(self.repo, self.actor, *events), sync=sync).records
        self.__dict__.pop("classes", None)  # a claim freezes files, and a verdict frees them
        return tuple(records)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """One operation at a time in a worktree; a killed holder frees it."""
        self.repo.private.mkdir(parents=True, exist_ok=True)
        with hold_lock(self.repo.lock("operation"), wait=OPERATION_WAIT):
            yield


OPERATION_WAIT = 600.0
"""Seconds to wait for another command in this worktree: it may be running a suite."""


def drafts(repo: Repository, actor: Actor, *events: Event) -> tuple[Draft, ...]:
    who = {"role": actor.role, "context": actor.context, "client": actor.client}
    branch = head(repo).branch
    encoded = (encode(event) for event in events)
    return tuple(Draft(kind, data, repo.worktree, branch, who) for kind, data in encoded)


_FOLDING = StateFolding()
"""One for all logs of this process: what it has folded before is known."""


def open_log(repo: Repository) -> Log[State]:
    return Log(repo.control, _FOLDING)


def open_project(start: Path, actor: Actor) -> Project:
    """Opens a project.

    The log has the compiled configuration; YAML is read only if `tdd.yaml` has changed.
    """
    repo = find_repository(start)
    if is_any_call(str(repo.private)):
        from verdigris.storage.relied_files import compare_log

        for line in finish_left(str(repo.private)):
            sys.stderr.write(f"[tdd] {line}\n")
        compare_log(str(repo.private))
    log = open_log(repo)
    state = log.state()
    here = state.of(repo.worktree)
    configuration = here.configuration
    if configuration is None or _may_reconfigure(repo, configuration, here, actor):
        configuration = _read_configuration(repo, log, actor, configuration or state.configuration)
    settings = from_json(Settings, configuration.settings)
    if any(facts_named(stack.language) is None for stack in settings.stacks):
        from verdigris.languages.registry import register_languages_of

        register_languages_of(settings)
    if here.open_cycle is not None:
        settings = replace(settings, red="assertion")
    return Project(repo, log, actor, settings, Classes.from_json(configuration.classes))


def configured_event(root: Path, before: Configuration | None = None) -> Configured:
    """`before`: source that the runner's configuration calls tests stays source, unless it holds some."""
    from verdigris.languages.conventions import compile_classes
    from verdigris.languages.registry import usual
    from verdigris.storage.config import load
    from verdigris.storage.config.stacks import keep_source, layouts, runner_files

    loaded = load(root)
    classes = compile_classes(loaded.settings, layouts(root, loaded.settings), usual)
    if before is not None and before.tdd_yaml == loaded.digest:
        classes = keep_source(root, Classes.from_json(before.classes), classes)
    files = runner_files(loaded.settings)
    return Configured(
        tdd_yaml=loaded.digest,
        settings=to_json(loaded.settings),
        classes=classes.to_json(),
        runner_files=files,
        runner=_digest_of(root, files),
    )


def _may_reconfigure(repo: Repository, known: Configuration, here: WorktreeState, actor: Actor) -> bool:
    """Whether a changed tdd.yaml, or a runner's changed configuration, may be read.

    Not while a turn, a refactor or a cycle is open: it is frozen then. An agent may write the runner's
    configuration in red, so that only a person's command takes over what it says.
    """
    if here.turn is not None or here.refactor is not None or here.open_cycle is not None:
        return False
    try:
        found = digest((repo.root / CONFIG).read_bytes())
    except OSError:
        return False
    if found != known.tdd_yaml:
        return True
    return actor.role != "agent" and _digest_of(repo.root, known.runner_files) != known.runner


def _digest_of(root: Path, files: Iterable[str]) -> str:
    """The digest of all files that are there; empty if none is."""
    found = b""
    for name in files:
        with suppress(OSError):
            found += name.encode() + b"\0" + (root / name).read_bytes() + b"\0"
    return digest(found) if found else ""


def _read_configuration(
    repo: Repository, log: Log[State], actor: Actor, elsewhere: Configuration | None
) -> Configuration:
    """Reads tdd.yaml; if there is none, takes the configuration of another worktree."""
    if (repo.root / CONFIG).is_file():
        event = configured_event(repo.root, elsewhere)
    elif elsewhere is not None:
        event = take_fields(Configured, elsewhere)
    else:
        raise NotConfigured("Verdigris is not set up in this repository.", hint="run `tdd init`")
    # A full disk must not keep a person from reading; a command that writes reports it itself.
    with suppress(StorageError):
        log.append(drafts(repo, actor, event))
    return take_fields(Configuration, event)


def bytes_of(project: Project, path: str) -> bytes | None:
    """The bytes of a file in the worktree, or in the tree shown instead; None if it cannot be read."""
    if project.view is not None:
        return project.workspace.read(project.view.tree, path)
    try:
        return (project.root / path).read_bytes()
    except OSError:
        return None


def text_of(project: Project, path: str) -> str | None:
    data = bytes_of(project, path)
    # With plain line ends, as when a file is read as text.
    if data is None:
        return None
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")


def texts_at(project: Project, tree: str, paths: Iterable[str]) -> dict[str, str]:
    """The texts of those `paths` that the tree has, without files that are too large to be texts."""
    contents = project.workspace.read_many(tree, paths, texts=True)
    return {p: data.decode("utf-8", "surrogateescape") for p, data in contents.items() if data is not None}
