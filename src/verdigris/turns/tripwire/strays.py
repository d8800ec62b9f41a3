"""Finds protected paths that changed, and the content that each goes back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.checks.source_edits import find_edits
from verdigris.core.paths import LINK, PathClass
from verdigris.core.protection import protected_classes
from verdigris.core.state import Phase
from verdigris.core.value import value
from verdigris.languages.registry import holds_tests
from verdigris.storage.links import among
from verdigris.turns.tripwire.messages import base

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project
    from verdigris.turns.tripwire.watch import TripwireMemory

LOOKING = 20.0
"""Seconds for reading what changed in red: a client gives a hook no more than a minute."""
_ORDER = tuple(PathClass)


@value
class Strays:
    """Paths of one class, and the tree in which they are right."""

    cls: PathClass
    paths: tuple[str, ...]
    home: str
    link: bool = False
    """The first path is a link that leads out of the worktree, or stands where a folder was."""


def strays(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, tree: str
) -> tuple[Strays, ...]:
    """Changed protected paths by class, the most protected first."""
    alone = (*_links(project, state, memory, tree), *_spec_of_cycle(project, state, memory, tree))
    behind = frozenset(path for s in alone for path in s.paths)
    found = [*_switches(project, state, memory, tree), *_of_phase(project, state, memory, tree)]
    classes = {cls: [s for s in found if s.cls is cls] for cls in PathClass}
    apart = (
        Strays(cls, tuple(path for s in alike for path in s.paths if path not in behind), alike[0].home)
        for cls, alike in classes.items()
        if alike
    )
    return (*alone, *(s for s in apart if s.paths))


def _switches(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, tree: str
) -> Iterator[Strays]:
    """Nothing that the kernel does changes them, but what `tdd sync` brings."""
    if memory is None or memory.tree == tree:
        return
    changed = [
        c.path
        for c in project.workspace.changes(memory.tree, tree)
        if project.classify(c.path) is PathClass.SWITCH
    ]
    if paths := _unlike(project, base(state), tree, changed):
        yield Strays(PathClass.SWITCH, paths, memory.tree)


def _links(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, tree: str
) -> Iterator[Strays]:
    """New ones, each with what had its place."""
    home = _home(state, memory)
    if home is None:
        return
    changes = project.workspace.changes(home, tree) if home != tree else ()
    new = [c.path for c in changes if c.new_mode == LINK]
    out = {link.path: link.cls for link in among(project, new)} if new else {}
    for path in new:
        gone = [c.path for c in changes if c.path.startswith(f"{path}/")]
        classes = {project.classify(p) for p in gone} - {PathClass.OTHER}
        if path in out or classes:
            yield Strays(out.get(path) or min(classes, key=_ORDER.index), (path, *gone), home, link=True)


def _spec_of_cycle(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, tree: str
) -> Iterator[Strays]:
    """In no stage is it written, although red lets everybody write other specs."""
    cycle = state.open_cycle
    if cycle is None:
        return
    trees = (cycle.tree, memory.tree if memory else cycle.tree)
    if all(_is_changed(project, cycle.spec_path, known, tree) for known in trees):
        yield Strays(PathClass.SPEC, (cycle.spec_path,), cycle.tree)


def _is_changed(project: Project, path: str, before: str, after: str) -> bool:
    return before != after and any(c.path == path for c in project.workspace.changes(before, after))


def _of_phase(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, tree: str
) -> Iterator[Strays]:
    home = _home(state, memory)
    if home is None:
        return
    wanted = protected_classes(state.phase)
    changed: dict[PathClass, list[str]] = {cls: [] for cls in PathClass}
    if PathClass.SOURCE in wanted:
        edits = find_edits(project, difference(project, home, tree).source, tree, seconds=LOOKING)
        # What nobody had time to read counts as an edit.
        changed[PathClass.SOURCE] = [*(edit.path for edit in edits.found), *edits.unread]
    if state.phase is not Phase.RED:
        for path in difference(project, home, tree).oracle:
            cls = project.classify(path)
            changed[PathClass.TEST if holds_tests(path, cls) else cls].append(path)
        wanted |= {PathClass.OTHER}
    for cls in wanted - {PathClass.SWITCH}:
        found = changed[cls]
        if paths := _unlike(project, base(state), tree, found):
            yield Strays(cls, paths, home)


def _home(state: WorktreeState, memory: TripwireMemory | None) -> str | None:
    """The tree to compare with: the one that was remembered, or the one that the phase goes by."""
    known = base(state)
    return memory.tree if known is not None and memory is not None and _holds(memory, state) else known


def _holds(memory: TripwireMemory, state: WorktreeState) -> bool:
    """Whether what was remembered is still what should be: a claim made since froze another oracle."""
    if memory.base == base(state):
        return memory.phase is state.phase
    return memory.phase is state.phase is not Phase.GREEN


def _unlike(project: Project, known: str | None, tree: str, paths: list[str]) -> tuple[str, ...]:
    """The paths that differ from the tree that the phase is compared with, whoever changed them."""
    if known is None or not paths:
        return tuple(paths)
    differing = {change.path for change in project.workspace.changes(known, tree)}
    return tuple(path for path in paths if path in differing)
