"""Claude Code as a `Client`, and what stands around its calls: its shell, its places."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.gates.agent_shell.launcher import own_paths, real_path
from verdigris.gates.clients import hook_dialect
from verdigris.gates.clients.claude.dialect import DIALECT
from verdigris.gates.clients.claude.quick import LOCAL, NAME, PROJECT, prefix_now
from verdigris.gates.clients.claude.settings import HOOKS, SHARED, place_of, prefix
from verdigris.gates.clients.hook_settings import INSTALL
from verdigris.gates.clients.registry import Surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.gates.calls import HookCall
    from verdigris.setup.doctor_checks import DoctorFinding
    from verdigris.storage.project import Project
    from verdigris.storage.repository import Repository


MANAGED = Path("/etc/claude-code")


def _is_confinable(project: Project) -> bool:
    from verdigris.execution.rooms import possible

    return possible(project).way is not None


def _active(repo: Repository, environment: Mapping[str, str]) -> object:
    try:
        return prefix_now(environment.get, lambda name: json.loads(place_of(repo, name).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@lru_cache
def _guarded_paths(user: Path, home: Path) -> tuple[Path, ...]:
    settings = (
        home / "settings.json",
        home / "settings.local.json",
        home / ".claude.json",
        home / "hooks",
        home / "plugins",
        MANAGED,
        user / ".claude.json",
    )
    return tuple(Path(real_path(str(place))) for place in (*settings, *own_paths()[0]))


class ClaudeCode:
    name = NAME
    title = "Claude Code"
    hooks = HOOKS
    parse = staticmethod(DIALECT.parse)
    manner = staticmethod(DIALECT.manner)
    render = staticmethod(hook_dialect.render)
    fault = staticmethod(hook_dialect.fault)

    def start(self, call: HookCall, environment: Mapping[str, str]) -> str:
        """The client's variable first, since the call's folder follows an agent's `cd`."""
        return environment.get(PROJECT) or call.cwd

    def surroundings(self, project: Project, environment: Mapping[str, str]) -> Surroundings:
        confined = _active(project.repo, environment) == prefix(project.repo)
        return Surroundings(confined, confined or _is_confinable(project), self.guarded(environment))

    def guarded(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        """The user's own settings of the client, and the files of the gate."""
        home = Path(environment.get("HOME", "/"))
        return _guarded_paths(home, Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude"))

    def prefix(self, project: Project) -> str:
        return prefix(project.repo)

    def plan(self, *, team: bool = False) -> tuple[str, ...]:
        own = f"will add hooks and the shell prefix to {LOCAL} (yours alone, not committed)"
        if not team:
            return (own,)
        return (
            own,
            f"will add hooks to {SHARED} (for the team: commit it), beside what is there",
            f"team mates without tdd: Claude Code reads, and writes nothing until {INSTALL}",
        )

    # What installs is loaded late: every hook loads this module.

    def confine(self, project: Project) -> None:
        from verdigris.gates.clients.claude.install import confine

        confine(project)

    def install(self, project: Project, *, team: bool = False) -> tuple[str, ...]:
        from verdigris.gates.clients.claude.install import install

        return install(project, team=team)

    def uninstall(self, project: Project) -> tuple[str, ...]:
        from verdigris.gates.clients.claude.install import uninstall

        return uninstall(project)

    def cycle_files(self) -> Mapping[str, str]:
        from verdigris.gates.clients.claude.cycle_files import cycle_files

        return cycle_files()

    def check(self, start: Path) -> DoctorFinding | None:
        from verdigris.gates.clients.claude.install import check

        return check(start)


CLIENT = ClaudeCode()
