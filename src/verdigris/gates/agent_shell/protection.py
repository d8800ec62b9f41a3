"""Makes the shell card: what is mounted how in this phase, and what may be written outside the worktree."""

# Of `os`, since pathlib raises on a path below a folder that the user may not search:
# ruff: noqa: PTH110, PTH112

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.agents import of_all
from verdigris.core.confinement.protection import (
    STARTUP_FILES,
    is_writable,
    mounts,
    plan_mounts,
    readonly_classes,
)
from verdigris.core.confinement.toolchains import CACHES, PROGRAMS, base_of, folders_of
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
from verdigris.gates.agent_shell.launcher import launcher, own_paths, write_launcher
from verdigris.sandbox import strength
from verdigris.sandbox.entry import SHARED_MEMORY, TEMPORARY
from verdigris.sandbox.folders import ROOMS
from verdigris.sandbox.process_space import make_apart
from verdigris.sandbox.syscalls import IDS, identity_map, ways
from verdigris.storage.path_folders import guarded_files, split_path
from verdigris.storage.project import open_project
from verdigris.storage.repository import LOCKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verdigris.core.confinement.toolchains import Cache
    from verdigris.core.paths import PathClass
    from verdigris.core.state import Phase
    from verdigris.sandbox.syscalls import Way
    from verdigris.storage.project import Project


TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP", *of_all(lambda agent: agent.variables.temporary))
PLACES = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "ZDOTDIR"),
    *of_all(lambda agent: agent.variables.homes),
)
"""Folders of a person's that can be elsewhere than in the home."""
FILES = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "BASH_ENV",
    "ENV",
    "NPM_CONFIG_USERCONFIG",
    "PIP_CONFIG_FILE",
)
IN_HOME = (
    *of_all(lambda agent: agent.in_home),
    ".config",
    ".local",
    ".ssh",
    ".gitconfig",
    ".npmrc",
    *STARTUP_FILES,
)
"""Read-only with the home. Named for where one is a link that leads into a writable folder."""
PROC, PTS = "/proc", "/dev/pts"
DEVICES = (SHARED_MEMORY, "/dev/mqueue", PTS)
MACHINE = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
"""Of `/proc`, where root governs the machine."""


def home_of(environment: Mapping[str, str]) -> str:
    return os.path.realpath(environment.get("HOME") or Path.home())


def outside_regions(environment: Mapping[str, str]) -> dict[str, bool]:
    """Absolute canonical path → writable? What exists only: nothing can be mounted on the rest."""
    home = home_of(environment)
    regions = dict.fromkeys(_caches(CACHES, environment, home), True)
    regions |= dict.fromkeys(_caches(PROGRAMS, environment, home), False)
    regions |= dict.fromkeys(_persons(environment, home), False)
    regions |= dict.fromkeys(_temporary(environment, home), True)
    regions |= dict.fromkeys(DEVICES, True)
    regions[PROC] = True
    if os.geteuid() == 0:
        regions |= {f"{PROC}/{name}": False for name in MACHINE}
    return {path: writable for path, writable in regions.items() if os.path.exists(path)}


def allowed_regions(environment: Mapping[str, str], allowed: Iterable[str]) -> dict[str, bool]:
    """What `sandbox.write` names."""
    home = home_of(environment)
    paths = (os.path.realpath(expand_path(path, home)) for path in allowed)
    return {path: True for path in paths if os.path.exists(path)}


def expand_path(path: str, home: str) -> str:
    """Expands a path as `sandbox.write` spells it."""
    return f"{home}/{path[2:]}" if path.startswith("~/") else path


def make_folders(environment: Mapping[str, str], allowed: Iterable[str]) -> None:
    """A tool makes its cache at its first use, which cannot be inside the sandbox: the home is read-only."""
    home = home_of(environment)
    used = [cache for cache in CACHES if _is_used(cache, environment, home)]
    caches = (path for cache in used for path in folders_of(cache, environment, home))
    for path in (*caches, *(expand_path(name, home) for name in allowed)):
        if not os.path.lexists(path):
            with suppress(OSError):
                Path(path).mkdir(parents=True)


def _is_used(cache: Cache, environment: Mapping[str, str], home: str) -> bool:
    if not cache.tool or os.path.isdir(base_of(cache, environment, home)):
        return True
    from verdigris.storage.git import find_program

    return find_program(cache.tool, os.get_exec_path(environment)) is not None


def _caches(caches: Iterable[Cache], environment: Mapping[str, str], home: str) -> list[str]:
    """One that holds the home is a mistake, and opens nothing."""
    paths = (os.path.realpath(path) for cache in caches for path in folders_of(cache, environment, home))
    return [path for path in paths if not _holds(path, home)]


def _temporary(environment: Mapping[str, str], home: str) -> list[str]:
    named = (os.path.realpath(path) for name in TEMPORARY_VARIABLES if (path := environment.get(name)))
    usual = map(os.path.realpath, TEMPORARY)
    return [*usual, *(path for path in named if not _holds(path, home))]


def _persons(environment: Mapping[str, str], home: str) -> list[str]:
    named = [path for name in (*PLACES, *FILES) if (path := environment.get(name))]
    programs = [path for path in environment.get("PATH", "").split(":") if path.startswith("/")]
    places = [home, *(f"{home}/{name}" for name in IN_HOME), *named, *programs]
    return [os.path.realpath(path) for path in places]


def _holds(path: str, home: str) -> bool:
    return f"{home}/".startswith(path.rstrip("/") + "/")


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
        make_folders(os.environ, project.settings.sandbox_write)
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
    planned = dict.fromkeys(_compared(project), ANCHOR) | planned
    return (*sorted(planned.items()), *masked.items(), *((disk, DISK) for disk in _disks()))


def _compared(project: Project) -> list[str]:
    """Folders of PATH in the worktree; as mounts they can be closed to who outlives a call."""
    allowed = allowed_regions(os.environ, project.settings.sandbox_write)
    inside, _ = split_path(str(project.root), os.environ)
    return [folder for folder in inside if not is_writable(folder, allowed)]


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
    """Absolute path → writable? All else is read-only; of two lines on one path the later wins."""
    top = str(project.root)
    files = _files(project)
    kept = readonly_classes(phase or project.state().phase)
    inside = mounts(_with_links(project, files, kept), kept, _roomy(project))
    found = outside_regions(os.environ)
    found |= git_regions.git_regions(project.repo) | {top: True}
    found |= dict.fromkeys(git_regions.hooks_in(project.root, os.environ), False)
    compared = _compared(project)
    found |= dict.fromkeys(compared, True) | dict.fromkeys(guarded_files(compared, os.environ), False)
    found |= {f"{top}/{path}": not readonly for path, readonly in inside.items()}
    if project.repo.git_dir != project.root / ".git":
        found[f"{top}/.git"] = False
    readonly, holes = own_paths()
    holes = [path for path in holes if is_writable(path, found)]
    found |= dict.fromkeys(readonly, False) | dict.fromkeys(holes, True)
    found |= allowed_regions(os.environ, project.settings.sandbox_write)
    found[str(project.repo.control)] = False
    return found


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
