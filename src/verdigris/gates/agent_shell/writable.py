"""Lists what an agent's shell may write outside the worktree.

Temporary folders and caches are writable. What a person's next command would run or read is not, wherever it
lies: a home, settings, programs on PATH, or another worktree in a temporary folder.
"""

# Of `os`, since pathlib raises on a path below a folder that the user may not search:
# ruff: noqa: PTH110, PTH112

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.agents import of_all
from verdigris.core.confinement.protection import CACHES, PROGRAMS, STARTUP_FILES, base_of, folders_of
from verdigris.sandbox.places import SHARED_MEMORY, TEMPORARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.confinement.protection import Cache

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
DEVICES = (SHARED_MEMORY, "/dev/mqueue", "/dev/pts")
PROC = "/proc"
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
    """As `sandbox.write` spells it."""
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
