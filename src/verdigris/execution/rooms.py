"""Opens rooms for a project, with its caches, report folders and frozen files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Literal, TypeVar

from verdigris.core.errors import HarnessError
from verdigris.core.languages import facts_of_manifest, keeps_bytecode, language_of, manifest_names
from verdigris.core.paths import Entry, PathClass, compile_glob
from verdigris.core.surroundings import Surroundings
from verdigris.core.value import field, replace, value
from verdigris.execution.room import LEAN, Layer, Room, Sandbox, Terms, furnish
from verdigris.languages.registry import usual
from verdigris.sandbox import child
from verdigris.sandbox.child import Availability
from verdigris.sandbox.confinement import Confinement
from verdigris.sandbox.folders import Folders
from verdigris.storage.project import Project

Equip = Callable[[Confinement, Folders], Confinement]


@value
class RoomEquipment:
    env: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    """Folders that the tool reads, also if they lie in a temporary folder."""
    writable: tuple[tuple[str, str], ...] = ()
    """Pairs as in `Confinement`."""
    placed: tuple[tuple[str, str], ...] = ()
    """Pairs (folder, path): the folder is mounted at the path, and writes take effect in it."""
    shadowed: tuple[tuple[str, str], ...] = ()
    """The same, but writes are thrown away."""

    def add_to(self, confinement: Confinement, folders: Folders) -> Confinement:
        return replace(
            confinement,
            needed=(*confinement.needed, *self.needed),
            writable=(*confinement.writable, *self.writable),
            placed=self.placed,
            shadows=tuple((folder, path, *folders.pair()) for folder, path in self.shadowed),
        )


T = TypeVar("T")

_MAGIC = frozenset("*?[")

TRIES = 2
"""How often a run is attempted: the remembered way to confine it may not work any more."""
GIT_SEEN = "`room: {git: true}`: the run could read the repository's history, and answers in it"
PROCESSES_SEEN = "no process table of its own can be made here: the run could see and end other processes"
HOST_INSTEAD = "no network of its own can be made here: the run had the machine's"


def possible(project: Project) -> Availability:
    """How a run can be confined here; the worktree's private folder remembers it."""
    return child.recall_availability(_note(project))


def terms_of(project: Project) -> Terms:
    settings = project.settings
    found = possible(project)
    given = settings.room_env if settings.room_plugins is None else (*settings.room_env, LEAN)
    return Terms(
        root=str(project.root),
        control=str(project.repo.control),
        sandbox=Sandbox(found.way, found.disk, found.processes),
        network=settings.room_network if found.network else "host",
        given=given,
        git="" if settings.room_git else str(project.repo.common_dir),
    )


def notes_of(project: Project, terms: Terms) -> tuple[str, ...]:
    """Notes for a verdict: what the room could not provide, and what a person's settings allowed."""
    if terms.way is None:
        return ()
    network = () if terms.network == project.settings.room_network else (HOST_INSTEAD,)
    table = () if terms.sandbox.processes else (PROCESSES_SEEN,)
    return (*network, *table) if terms.git else (*network, *table, GIT_SEEN)


@contextmanager
def room(
    project: Project,
    argv: Sequence[str] = (),
    *,
    layer: Layer | None = None,
    equip: Equip | None = None,
) -> Iterator[Room]:
    """Opens a room for a run of `argv`, on the tree of `layer`, or on the worktree's if there is no layer."""
    terms = terms_of(project)
    layer = hide_held_out(project, on_view(project, layer))
    if layer is not None and terms.way is None:
        raise HarnessError("another tree can be shown in a sandbox only")
    laid = None if layer is None else partial(furnish, project, layer)
    around = Surroundings() if layer is None else layer.around
    with closing(Room(terms, argv, laid, _with_lent(project, equip), around=around)) as made:
        yield made


@contextmanager
def bare_room(project: Project, argv: Sequence[str]) -> Iterator[Room]:
    """Opens a room that confines nothing and has the caller's environment: for a run like the user's own."""
    with closing(Room(terms_of(project).unconfined_terms(), argv)) as made:
        made.env = dict(os.environ)
        yield made


@value
class RoomTraces:
    """What a run in a room tried to write, which files it opened, and what the room could not provide."""

    sandbox: Literal["overlay", "none"] = "none"
    wrote: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def traces_of(project: Project, made: Room) -> RoomTraces:
    wrote, opened = made.wrote(project.classify), made.opened_files()
    return RoomTraces(made.sandbox, wrote, opened, (*notes_of(project, made.terms), *made.notes()))


def on_view(project: Project, layer: Layer | None) -> Layer | None:
    """The layer for a project that shows another tree than the one on disk: every run must see that tree."""
    if project.view is None:
        return layer
    if layer is None:
        return Layer(project.view.tree, project.view.worktree)
    return replace(layer, worktree=project.view.worktree)


def _with_lent(project: Project, equip: Equip | None) -> Equip | None:
    """The same equipment, and the packages that the view of the tree provides."""
    lent = project.view.lent if project.view is not None else ()
    if not lent:
        return equip
    more = RoomEquipment(shadowed=tuple((folder, str(project.root / path)) for folder, path in lent))

    def equip_with_packages(confinement: Confinement, folders: Folders) -> Confinement:
        made = confinement if equip is None else equip(confinement, folders)
        return replace(made, shadows=(*made.shadows, *more.add_to(made, folders).shadows))

    return equip_with_packages


def hide_held_out(project: Project, layer: Layer | None) -> Layer | None:
    """The layer without the inputs that a loop's program holds back; makes a layer if there is none."""
    bounds = project.settings.bounds
    if bounds is None or not bounds.held_out or not possible(project).ok:
        return layer
    if layer is None:
        tree = project.workspace.snapshot()
        layer = Layer(tree, tree)
    held = _find_held_out(project, layer.wanted, bounds.held_out)
    return replace(layer, hidden=tuple(dict.fromkeys((*layer.hidden, *held))))


def _find_held_out(project: Project, tree: str, patterns: Iterable[str]) -> Iterator[str]:
    """Finds held-out inputs: plain paths on disk, because files that git ignores are in no tree; patterns in
    the tree.
    """
    regexes = [re.compile(compile_glob(pattern)) for pattern in patterns]
    for pattern in patterns:
        if not _MAGIC & set(pattern) and (project.root / pattern).exists():
            yield pattern.strip("/")
    for entry in project.workspace.files(tree):
        if any(regex.fullmatch(entry.path) for regex in regexes):
            yield entry.path


def attempt_confined(project: Project, attempt: Callable[[], T | str]) -> T:
    """Makes an attempt in a room. If it returns why it was not confined, it is made once more."""
    why = ""
    for _ in range(TRIES):
        done = attempt()
        if not isinstance(done, str):
            return done
        why = done
        forget(project)
    raise HarnessError(f"the run could not be confined, so it was not made: {why}", hint="`tdd doctor`")


def forget(project: Project) -> None:
    """Forgets how runs are confined here, because that did not work. The next run finds out again."""
    child.forget(_note(project))


def _note(project: Project) -> str:
    return str(project.repo.private / child.NOTE)


FILES = 200
LARGE = 1 << 20
"""A file with more bytes than this stays in the worktree, and is compared before and after the run."""
_READ_FIRST = manifest_names() | {"__init__.py"}


def frozen_layer(project: Project, tree: str, claimed: Iterable[str] = ()) -> Layer | None:
    """Makes a layer of the worktree's own tree; the files of `claimed` come first.

    None if there is no sandbox.
    """
    if not possible(project).ok:
        return None
    entries = project.workspace.files(tree)
    first = frozenset(claimed)
    oracle = [entry for entry in entries if entry.path in first or _decides(project, entry.path)]
    configures = [re.compile(usual(stack).runner) for stack in project.settings.stacks]
    oracle.sort(key=lambda entry: _rank(entry.path, first, configures))
    folders = dict.fromkeys(e.path.rpartition("/")[0] for e in entries if keeps_bytecode(e.path))
    firm = tuple(entry for entry in oracle[:FILES] if _size(project, entry) <= LARGE)
    return Layer(tree, tree, firm, tuple(folders))


def layer_beside(layer: Layer | None, held: Layer | None) -> Layer | None:
    """The layer of another tree, if there is one, with the frozen files of a verdict's room."""
    if layer is None or held is None:
        return held
    return replace(layer, firm=held.firm, cacheless=held.cacheless)


def _decides(project: Project, path: str) -> bool:
    return (
        project.classify(path) in {PathClass.TEST, PathClass.SPEC}
        or facts_of_manifest(path.rpartition("/")[2]) is not None
    )


def _rank(path: str, first: frozenset[str], configures: Sequence[re.Pattern[str]]) -> tuple[bool, bool, bool]:
    """The order in which files are frozen: the configuration of a runner, then tests, then data."""
    name = path.rpartition("/")[2]
    early = name in _READ_FIRST or ".config." in name or any(regex.match(path) for regex in configures)
    return path not in first, not early, language_of(path) is None


def _size(project: Project, entry: Entry) -> int:
    try:
        return os.lstat(project.root / entry.path).st_size
    except OSError:
        return 0
