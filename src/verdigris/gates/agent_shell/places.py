"""The one map of places that an agent may write, whatever tool it uses: shell, file tool, server's tool.

Absolute canonical path → writable? What lies in none of them is not. The phase decides on the worktree's own
files (`turns/write.py`, `gates/agent_shell/protection.py`); this map decides on all else.
"""

# Of `os`, since pathlib raises on a path below a folder that the user may not search:
# ruff: noqa: PTH112, PTH114, PTH115, PTH118, PTH120

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.agents import AGENTS, of_all
from verdigris.core.confinement import SHARED_MEMORY, TEMPORARY
from verdigris.core.confinement.protection import STARTUP_FILES, is_writable
from verdigris.core.confinement.toolchains import CACHES, PROGRAMS, Cache, base_of, folders_of, is_made_early
from verdigris.core.errors import VerdigrisError
from verdigris.core.paths import ENVIRONMENTS, NODE_MODULES, above
from verdigris.gates.agent_shell import git_regions
from verdigris.gates.agent_shell.launcher import HOOK, NAME, launcher, own_paths
from verdigris.storage.relied_files import HEAD, LOG
from verdigris.storage.repository import find_repository, is_git_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.storage.project import Project


TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP", *of_all(lambda agent: agent.variables.temporary))
FOLDERS = (
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
KERNELS = ("/dev", PROC, "/sys")
"""What is read and written there is no file; a path there means another thing to each process."""
_LINKS = 40
"""So many lead on at most, as for the kernel."""


def places(project: Project, environment: Mapping[str, str]) -> dict[str, bool]:
    """The map without the phase: the worktree is writable in it."""
    top = str(project.root)
    regions = outside_regions(environment, top)
    regions |= git_regions.git_regions(project.repo) | {top: True}
    regions |= dict.fromkeys(git_regions.hooks_in(project.root, environment), False)
    from verdigris.storage.calls.path_folders import guarded_files

    compared = compared_folders(project, environment)
    regions |= dict.fromkeys(compared, True) | dict.fromkeys(guarded_files(compared, environment), False)
    if project.repo.git_dir != project.root / ".git":
        regions[f"{top}/.git"] = False
    readonly, holes = own_paths()
    holes = [path for path in holes if is_writable(path, regions)]
    regions |= dict.fromkeys(readonly, False) | dict.fromkeys(holes, True)
    regions |= allowed_regions(environment, project.settings.sandbox_write)
    regions[str(project.repo.control)] = False
    return regions


def compared_folders(project: Project, environment: Mapping[str, str]) -> list[str]:
    """Folders of PATH in the worktree; as mounts they can be closed to who outlives a call."""
    allowed = allowed_regions(environment, project.settings.sandbox_write)
    from verdigris.storage.calls.path_folders import split_path

    inside, _ = split_path(str(project.root), environment)
    return [folder for folder in inside if not is_writable(folder, allowed)]


def outside_regions(environment: Mapping[str, str], root: str = "") -> dict[str, bool]:
    """`root`: the worktree, in which relative folders of PATH are looked for."""
    home = home_of(environment)
    regions = dict.fromkeys(_caches(CACHES, environment, home), True)
    regions |= dict.fromkeys(_caches(PROGRAMS, environment, home), False)
    regions |= dict.fromkeys(_persons(environment, home), False)
    regions |= dict.fromkeys(_temporary(environment, home), True)
    regions |= dict.fromkeys(program_folders(environment, root), False)
    regions |= dict.fromkeys(DEVICES, True)
    regions[PROC] = True
    if os.geteuid() == 0:
        regions |= {f"{PROC}/{name}": False for name in MACHINE}
    return regions


def home_of(environment: Mapping[str, str]) -> str:
    return os.path.realpath(environment.get("HOME") or Path.home())


def allowed_regions(environment: Mapping[str, str], allowed: Iterable[str]) -> dict[str, bool]:
    """What `sandbox.write` names; of another repository under the law nothing is writable."""
    home = home_of(environment)
    paths = (os.path.realpath(expand_path(path, home)) for path in allowed)
    return {path: not os.path.isdir(f"{path}/.git/tdd") for path in paths}


def expand_path(path: str, home: str) -> str:
    """Expands a path as `sandbox.write` spells it."""
    return f"{home}/{path[2:]}" if path.startswith("~/") else path


def make_folders(environment: Mapping[str, str], allowed: Iterable[str], root: str = "") -> None:
    """A tool makes its cache at its first use, which cannot be inside the sandbox: the home is read-only.

    A folder of programs that is missing is made, too, where an agent could make it: only what exists can be
    mounted.
    """
    home = home_of(environment)
    used = [cache for cache in CACHES if _is_used(cache, environment, home)]
    caches = [path for cache in used for path in folders_of(cache, environment, home)]
    named = [expand_path(name, home) for name in allowed]
    for path in (*caches, *named):
        _make(path)
    known = {root: True, home: False}
    known |= dict.fromkeys((*_temporary(environment, home), *_caches(CACHES, environment, home)), True)
    for path in (*_caches(PROGRAMS, environment, home), *program_folders(environment, root)):
        if is_writable(os.path.dirname(path), known):
            _make(path)


def _make(path: str) -> None:
    if not os.path.lexists(path):
        with suppress(OSError):
            Path(path).mkdir(parents=True)


def _is_used(cache: Cache, environment: Mapping[str, str], home: str) -> bool:
    if is_made_early(cache) or os.path.isdir(base_of(cache, environment, home)):
        return True
    from verdigris.storage.git import find_program

    return bool(cache.tool) and find_program(cache.tool, os.get_exec_path(environment)) is not None


def _caches(caches: Iterable[Cache], environment: Mapping[str, str], home: str) -> list[str]:
    """One that holds the home is a mistake, and opens nothing."""
    paths = (os.path.realpath(path) for cache in caches for path in folders_of(cache, environment, home))
    return [path for path in paths if not _holds(path, home)]


def _temporary(environment: Mapping[str, str], home: str) -> list[str]:
    named = (os.path.realpath(path) for name in TEMPORARY_VARIABLES if (path := environment.get(name)))
    usual = map(os.path.realpath, TEMPORARY)
    return [*usual, *(path for path in named if not _holds(path, home))]


def _persons(environment: Mapping[str, str], home: str) -> list[str]:
    named = [path for name in (*FOLDERS, *FILES) if (path := environment.get(name))]
    return [os.path.realpath(path) for path in (home, *(f"{home}/{name}" for name in IN_HOME), *named)]


def program_folders(environment: Mapping[str, str], root: str) -> list[str]:
    """The folders of PATH, also those that do not exist yet: a person's next command may come from there.

    A relative one is the worktree's. An environment of the worktree's that is not made yet is left out: it is
    the agent's to make.
    """
    named = [name for name in environment.get("PATH", "").split(":") if root or name.startswith("/")]
    paths = (os.path.realpath(os.path.join(root, name)) for name in named)
    return [path for path in paths if not (root and _holds(path, root)) and not _is_unmade(path)]


def _is_unmade(path: str) -> bool:
    *_, above, name = ("", *path.split("/"))
    environment = name == "bin" and above in ENVIRONMENTS
    return (environment or (above, name) == (NODE_MODULES, ".bin")) and not os.path.lexists(path)


def _holds(path: str, inner: str) -> bool:
    return f"{inner}/".startswith(path.rstrip("/") + "/")


def refuse(project: Project, spelling: str, cwd: Path, client: str) -> Deny | None:
    """Why an agent's tool may not write a path; None if the map has it as writable.

    Tools differ at a link at the end: some write through it, some replace it. Both must be allowed.
    """
    asked = os.path.join(cwd, spelling)
    if _leads_through_kernel(asked):
        return _deny_outside(os.path.normpath(asked))
    parent, name = os.path.split(os.path.normpath(asked))
    for path in dict.fromkeys((os.path.realpath(asked), os.path.join(os.path.realpath(parent), name))):
        if denial := _refuse_foreign(project, path):
            return denial
        if _is_below(path, str(project.root)) and not _is_below(path, str(project.repo.common_dir)):
            if any(_is_below(path, hooks) for hooks in git_regions.hooks_in(project.root, os.environ)):
                return _deny_hook(spelling)
        elif denial := _refuse_outside(project, path, client):
            return denial
    return None


def could_be_written(project: Project, spelling: str, cwd: Path) -> bool:
    """Whether a word in a tool's arguments may be a file outside the worktree that the user could write.

    Many such words are routes, titles or folders to search.
    """
    path = os.path.realpath(os.path.join(cwd, spelling))
    if "/" not in spelling or _is_below(path, str(project.root)) or os.path.isdir(path):
        return False
    above = os.path.dirname(path)
    return above != "/" and os.access(path if os.path.lexists(path) else above, os.W_OK)


def _refuse_outside(project: Project, path: str, client: str) -> Deny | None:
    if _is_note(path, client, os.environ):
        return None
    if is_writable(path, places(project, os.environ)):
        return None
    return _deny_outside(path)


def _leads_through_kernel(path: str) -> bool:
    """Whether the way leads there, by a link too: `/proc/self/cwd` is another folder to each process."""
    for _ in range(_LINKS):
        path = os.path.normpath(path)
        if any(_is_below(path, place) for place in KERNELS) and not _is_below(path, SHARED_MEMORY):
            return True
        link = next((place for place in (*reversed([*above(path)]), path) if os.path.islink(place)), None)
        if link is None:
            return False
        path = os.path.join(os.path.dirname(link), os.readlink(link)) + path[len(link) :]
    return True


def _deny_outside(path: str) -> Deny:
    home = home_of(os.environ)
    shown = f"~{path[len(home) :]}" if _is_below(path, home) else path
    return Deny(
        "outside",
        f"{shown} lies outside the worktree, where an agent writes only temporary folders and caches.",
        f"write inside the worktree; a person may allow it in tdd.yaml: `sandbox: {{write: [{shown}]}}`",
    )


def _refuse_foreign(project: Project, path: str) -> Deny | None:
    """Refuses what belongs to another repository that is under the law, and any repository's git folder."""
    if _is_below(path, str(project.repo.common_dir)):
        return None
    around = next((place for place in above(path) if os.path.lexists(f"{place}/.git")), "")
    theirs = any(place.endswith("/.git") or is_git_dir(Path(place)) for place in above(path))
    if not theirs and (around == str(project.root) or not _is_under_law(project, around)):
        return None
    return Deny(
        "other-repository",
        f"{path} belongs to another repository, and no agent of this one may write it.",
        "start the agent in that repository to change it",
    )


def _is_under_law(project: Project, around: str) -> bool:
    try:
        repo = find_repository(Path(around)) if around else None
    except VerdigrisError:
        return False
    return repo is not None and repo.common_dir != project.repo.common_dir and repo.control.is_dir()


GROWING = frozenset({LOG, HEAD, "lock", "confined"})
"""Files of the control area that a command of ours may change."""


def relied_on(project: Project) -> list[str]:
    """The files that the gate relies on and no snapshot holds: launchers, git's hooks and settings, those of
    clients, start-up files.
    """
    repo, home = project.repo, home_of(os.environ)
    settings = [name for name in of_all(lambda agent: agent.in_home) if "/" in name]
    return [
        *map(str, (launcher(repo), repo.control / NAME, repo.control / HOOK)),
        *(str(path) for path in repo.control.iterdir() if path.is_file() and path.name not in GROWING),
        *(str(repo.common_dir / name) for name in git_regions.SWITCHES),
        *(f"{place}/{name}" for place in (project.root, home) for name in settings),
        *(f"{home}/{name}" for name in (*STARTUP_FILES, ".gitconfig", ".npmrc")),
    ]


def _deny_hook(name: str) -> Deny:
    return Deny(
        "switch",
        f"git runs what lies in {name} at a person's next command (`core.hooksPath`): no agent may write it.",
        "leave it as it is, and tell the person what to change",
    )


def _is_note(path: str, client: str, environment: Mapping[str, str]) -> bool:
    """Whether it is a file that the client itself has its agent write: plans, memory."""
    agent = AGENTS.get(client)
    if agent is None or not agent.notes:
        return False
    homes = [environment[name] for name in agent.variables.homes if environment.get(name)]
    base = os.path.realpath(homes[0] if homes else f"{home_of(environment)}/{agent.in_home[0]}")
    return _is_below(path, base) and re.match("|".join(agent.notes), path[len(base) + 1 :]) is not None


def _is_below(path: str, place: str) -> bool:
    return f"{path}/".startswith(f"{place.rstrip('/')}/")
