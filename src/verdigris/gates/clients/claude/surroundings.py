"""What stands around a hook call: is the client's shell confined, can it be, and which places are guarded."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.protection import STARTUP_FILES
from verdigris.gates.agent_shell.launcher import own, real_path
from verdigris.gates.clients.claude.install import prefix
from verdigris.gates.clients.claude.settings import LOCAL, PREFIX, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.storage.project import Project
    from verdigris.storage.repository import Repository

MANAGED = Path("/etc/claude-code")
RUN_NEXT = (
    *(".claude.json", ".gitconfig", ".config/git", ".npmrc", ".ssh", ".local/bin", ".cargo/bin", "go/bin"),
    *STARTUP_FILES,
)
"""In the user's home: start-up files, programs and git's settings; its shell cannot write them either."""


def surroundings(project: Project, environment: Mapping[str, str]) -> tuple[bool, bool, tuple[Path, ...]]:
    """Confined, confinable, guarded."""
    confined = _active(project.repo, environment) == prefix(project.repo)
    return confined, confined or _is_confinable(project), guarded_paths(environment)


def _is_confinable(project: Project) -> bool:
    from verdigris.execution.room.rooms import possible

    return possible(project).way is not None


def _active(repo: Repository, environment: Mapping[str, str]) -> str | None:
    """A running client has it in its environment; who else asks is told by the settings."""
    if "CLAUDE_PID" in environment or PREFIX in environment:
        return environment.get(PREFIX)
    try:
        return str(json.loads(place_of(repo, LOCAL).read_bytes())["env"][PREFIX])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def guarded_paths(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The user's own settings of the client, what their next command runs, and the files of the gate."""
    home = Path(environment.get("HOME", "/"))
    return _guarded_paths(home, Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude"))


@lru_cache
def _guarded_paths(user: Path, home: Path) -> tuple[Path, ...]:
    settings = (
        home / "settings.json",
        home / "settings.local.json",
        home / ".claude.json",
        home / "hooks",
        home / "plugins",
        MANAGED,
        *(user / name for name in RUN_NEXT),
    )
    return tuple(Path(real_path(str(place))) for place in (*settings, *own()[0]))
