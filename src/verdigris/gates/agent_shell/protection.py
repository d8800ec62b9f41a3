"""Makes the shell card: what is mounted how in this phase."""

# Of `os`, since pathlib raises on a path below a folder that the user may not search:
# ruff: noqa: PTH110

from __future__ import annotations

import os
import stat
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.confinement.protection import mounts, plan_mounts, readonly_classes
from verdigris.core.errors import NotConfigured, VerdigrisError
from verdigris.core.records import Actor
from verdigris.gates.agent_shell import git_regions
from verdigris.gates.agent_shell.confinement import (
    ANCHOR,
    DISK,
    HOLE,
    MASKED,
    PROCESSES,
    READONLY,
    TERMINALS,
    ShellCard,
    confine,
    is_apart,
    log_position,
    surroundings,
    write,
)
from verdigris.gates.agent_shell.launcher import launcher, write_launcher
from verdigris.gates.agent_shell.places import PROC, PTS, compared_folders, make_folders, places
from verdigris.sandbox import strength
from verdigris.sandbox.folders import ROOMS
from verdigris.sandbox.process_space import make_apart
from verdigris.sandbox.syscalls import IDS, Way, identity_map, ways
from verdigris.storage.project import Project, open_project
from verdigris.storage.repository import LOCKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verdigris.core.paths import PathClass
    from verdigris.core.state import Phase


OWN = {PROC: PROCESSES, PTS: TERMINALS}
KINDS = {"hole": HOLE, "readonly": READONLY, "anchor": ANCHOR}
LINK = "120000"
LOG_LOCK = "lock"
MAIN_SOURCE = "src"


def main(root: str, private: str) -> None:
    """Runs for the entry; the exit code says whether there is a card."""
    try:
        refresh(root, private)
    except VerdigrisError as error:
        sys.exit(f"verdigris: {error.message}" + (f" ({error.hint})" if error.hint else ""))


def refresh(root: str, private: str) -> ShellCard:
    control = os.path.dirname(os.path.dirname(private))  # noqa: PTH120 - names stay `str`
    around = surroundings(control, os.environ)
    try:
        project = open_project(Path(root), Actor("kernel", client="shell"))
    except NotConfigured:
        if strength.remembered(control):
            raise
        card = ShellCard(root, "", (), log_position(control), around=around)
    else:
        log = log_position(control)  # before the state is read: what is appended meanwhile makes a new card
        repo = project.repo
        for folder in (repo.private, repo.lock("").parent, repo.control / ROOMS):
            folder.mkdir(parents=True, exist_ok=True)
        git_regions.make_switches(project.repo)
        if launcher(project.repo).exists():
            write_launcher(project.repo)  # after an upgrade it may name what is no more
        make_folders(os.environ, project.settings.sandbox_write, root)
        way, planned = find_shell_way(project)
        strength.require(control, remembered_ways(way, planned))
        ids = tuple((name, identity_map(name)) for name in IDS) if way == "mapped" else ()
        card = ShellCard(root, way or "", planned, log, ids, around)
    write(private, card)
    return card


def protection(project: Project, phase: Phase | None = None) -> tuple[tuple[str, int], ...]:
    """Absolute path and kind of each mount, a folder before what is in it; as in the phase that it is in."""
    control = str(project.repo.control)
    masked = {f"{control}/{name}": MASKED for name in ("store", LOCKS, ROOMS)}
    masked[f"{control}/{LOG_LOCK}"] = DISK
    planned = {path: KINDS[kind] for path, kind in plan_mounts(regions(project, phase)).items()}
    planned = dict.fromkeys(compared_folders(project, os.environ), ANCHOR) | planned
    return (*sorted(planned.items()), *masked.items(), *((disk, DISK) for disk in _disks()))


def find_shell_way(project: Project) -> tuple[Way | None, tuple[tuple[str, int], ...]]:
    """A way that works for an agent's shell, and its mounts: with processes of its own, if that works."""
    planned = with_own_processes(protection(project))
    if (way := find_way(planned)) is not None:
        return way, planned
    planned = protection(project)
    return find_way(planned), planned


def remembered_ways(way: Way | None, planned: Iterable[tuple[str, int]]) -> dict[str, str]:
    found = way or ""
    return {strength.SHELL: found, strength.PROCESSES: found if is_apart(planned) else ""}


def with_own_processes(planned: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """The same mounts, for processes that see no others and write to no other terminal."""
    return tuple((path, OWN.get(path, kind)) for path, kind in planned)


def regions(project: Project, phase: Phase | None = None) -> dict[str, bool]:
    """The map of places with the phase in it. What exists only: nothing can be mounted on the rest."""
    top = str(project.root)
    kept = readonly_classes(phase or project.state().phase)
    inside = mounts(_with_links(project, _files(project), kept), kept, _roomy(project))
    found = {f"{top}/{path}": not readonly for path, readonly in inside.items()}
    found |= places(project, os.environ)
    return {path: writable for path, writable in found.items() if os.path.exists(path)}


def find_way(planned: Iterable[tuple[str, int]]) -> Way | None:
    """The strongest way that works here, found out by going it in a child."""
    return next((way for way in ways() if _works(tuple(planned), way)), None)


def _works(planned: tuple[tuple[str, int], ...], way: Way) -> bool:
    return _succeeds(partial(_confine_apart if is_apart(planned) else confine, planned, way))


def _confine_apart(planned: tuple[tuple[str, int], ...], way: Way) -> None:
    make_apart(own_ids=way == "own")
    if not _succeeds(partial(confine, planned, way, lambda: None)):
        raise OSError("it does not work in a PID namespace")


def _succeeds(trial: Callable[[], None]) -> bool:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            trial()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _files(project: Project) -> dict[str, PathClass]:
    """A link cannot be mounted over: what it leads to has a name of its own."""
    entries = project.workspace.files(project.workspace.snapshot())
    return {e.path: project.classify(e.path) for e in entries if e.mode != LINK}


def _with_links(
    project: Project, files: Mapping[str, PathClass], kept: frozenset[PathClass]
) -> dict[str, PathClass]:
    """Another hard link to a protected file is as protected: its name leads to the same bytes."""
    nodes = {path: _node(f"{project.root}/{path}") for path in files}
    shared = {node: files[path] for path, node in nodes.items() if node and files[path] in kept}
    return {path: shared.get(node, files[path]) if node else files[path] for path, node in nodes.items()}


def _node(path: str) -> tuple[int, int] | None:
    """Identifies a file that has more than one name."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_nlink > 1 else None


def _roomy(project: Project) -> list[str]:
    """Stacks' roots and source roots: builds and editable installs put folders of their own there."""
    roots = [stack.root for stack in project.settings.stacks]
    sources = [glob for stack in project.settings.stacks for glob in (*stack.source, MAIN_SOURCE)]
    below = [f"{root}/{source.rstrip('/')}" for root in roots for source in sources]
    return [os.path.normpath(path).removeprefix("./") for path in (*roots, *below)]


def _disks() -> list[str]:
    if os.geteuid() != 0:
        return []
    with os.scandir("/dev") as entries:
        return [entry.path for entry in entries if stat.S_ISBLK(entry.stat(follow_symlinks=False).st_mode)]
