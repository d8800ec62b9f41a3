"""Claude Code as a `Client`; each part of it stands in a module of its own, loaded when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.gates.clients.claude import dialect
from verdigris.gates.clients.claude.quick import NAME, PROJECT
from verdigris.gates.clients.claude.settings import HOOKS, LOCAL, SHARED
from verdigris.gates.clients.protocol import Surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.gates.calls import Call, HookAnswer, Manner, Reply
    from verdigris.gates.clients.protocol import Hook
    from verdigris.setup.doctor_checks import Finding
    from verdigris.storage.project import Project


class ClaudeCode:
    @property
    def name(self) -> str:
        return NAME

    @property
    def title(self) -> str:
        return "Claude Code"

    @property
    def hooks(self) -> tuple[Hook, ...]:
        return HOOKS

    def parse(self, raw: bytes, environment: Mapping[str, str]) -> Call:
        return dialect.parse(raw, environment)

    def manner(self, tool: str) -> Manner:
        return dialect.manner(tool)

    def render(self, call: Call, reply: Reply) -> HookAnswer:
        return dialect.render(call, reply)

    def fault(self, call: Call, what: str, hint: str) -> HookAnswer:
        return dialect.fault(call, what, hint)

    def start(self, call: Call, environment: Mapping[str, str]) -> str:
        """The client's word for where its project is; the call's folder follows an agent's `cd`."""
        return environment.get(PROJECT) or call.cwd

    def surroundings(self, project: Project, environment: Mapping[str, str]) -> Surroundings:
        from verdigris.gates.clients.claude.surroundings import surroundings

        return Surroundings(*surroundings(project, environment))

    def guarded(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        from verdigris.gates.clients.claude.surroundings import guarded_paths

        return guarded_paths(environment)

    def prefix(self, project: Project) -> str:
        from verdigris.gates.clients.claude.install import prefix

        return prefix(project.repo)

    def confine(self, project: Project) -> None:
        from verdigris.gates.clients.claude.install import confine

        confine(project)

    def plan(self) -> tuple[str, ...]:
        return (
            f"will add hooks to {SHARED} (shared: commit it), beside what is there",
            f"will add hooks and the shell prefix to {LOCAL} (yours alone, not committed)",
        )

    def install(self, project: Project) -> tuple[str, ...]:
        from verdigris.gates.clients.claude.install import install

        return install(project)

    def uninstall(self, project: Project) -> tuple[str, ...]:
        from verdigris.gates.clients.claude.install import uninstall

        return uninstall(project)

    def cycle_files(self) -> Mapping[str, str]:
        from verdigris.gates.clients.claude.cycle_files import cycle_files

        return cycle_files()

    def check(self, start: Path) -> Finding | None:
        from verdigris.gates.clients.claude.checkup import check

        return check(start)


CLIENT = ClaudeCode()
