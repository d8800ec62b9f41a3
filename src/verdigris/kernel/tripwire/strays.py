"""Which protected paths are not as they should be, and where each has to go back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.oraclepart import holds_tests
from verdigris.core.pathclass import PathClass
from verdigris.core.protection import protected_classes
from verdigris.core.state import Phase
from verdigris.core.tripwire import base
from verdigris.core.value import value
from verdigris.kernel.observe import difference, unclaimed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.state import WorktreeState
    from verdigris.kernel.project import Project
    from verdigris.kernel.tripwire.memory import Memory


@value
class Strays:
    """Paths of one class, and the tree in which they are right."""

    cls: PathClass
    paths: tuple[str, ...]
    home: str


def strays(project: Project, state: WorktreeState, memory: Memory | None, tree: str) -> tuple[Strays, ...]:
    """By class, the most protected first."""
    found = [*_switches(project, state, memory, tree), *_of_phase(project, state, memory, tree)]
    classes = {cls: [s for s in found if s.cls is cls] for cls in PathClass}
    return tuple(
        Strays(cls, tuple(path for s in alike for path in s.paths), alike[0].home)
        for cls, alike in classes.items()
        if alike
    )


def _switches(project: Project, state: WorktreeState, memory: Memory | None, tree: str) -> Iterator[Strays]:
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


def _of_phase(project: Project, state: WorktreeState, memory: Memory | None, tree: str) -> Iterator[Strays]:
    known = base(state)
    if known is None:
        return
    home = memory.tree if memory and _holds(memory, state) else known
    if state.phase is Phase.RED:
        changed = {PathClass.SOURCE: [u.path for u in unclaimed(project, home, tree)]}
    else:
        changed = {cls: [] for cls in PathClass}
        for path in difference(project, home, tree).oracle:
            cls = project.classify(path)
            changed[PathClass.TEST if holds_tests(path, cls) else cls].append(path)
        wanted = protected_classes(state.phase) | {PathClass.OTHER}
        changed = {cls: changed[cls] for cls in wanted - {PathClass.SWITCH}}
    for cls, found in changed.items():
        if paths := _unlike(project, known, tree, found):
            yield Strays(cls, paths, home)


def _holds(memory: Memory, state: WorktreeState) -> bool:
    """Whether what was remembered is still what should be: a claim made since froze another oracle."""
    if memory.base == base(state):
        return memory.phase is state.phase
    return memory.phase is state.phase is not Phase.GREEN


def _unlike(project: Project, known: str | None, tree: str, paths: list[str]) -> tuple[str, ...]:
    """What is as in the tree that the phase goes by is right, whoever made it so."""
    if known is None or not paths:
        return tuple(paths)
    differing = {change.path for change in project.workspace.changes(known, tree)}
    return tuple(path for path in paths if path in differing)
