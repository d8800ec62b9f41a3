"""A person's settings for sessions: the section of `tdd.yaml`, permissions for calls, and sweeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from verdigris.core.actions import Deny
from verdigris.core.paths import compile_glob
from verdigris.core.settings import DriverSettings, key, section
from verdigris.core.state import Phase
from verdigris.core.value import value
from verdigris.storage.config import load_driver
from verdigris.storage.config.drivers import DriverSection
from verdigris.storage.project import Project

AGENT = "agent"
"""The only role."""


@section("code")
class CodeSettings(DriverSettings):
    repairs: int = key(default=3, least=1)
    """Repairs of one red before a session stops. This and the keys below: [code.md](code.md)."""
    shell_seconds: int = key(default=120, of="seconds", least=1)
    """The time limit of a command whose call names none."""
    context_tokens: int = key(default=0, least=0)
    """What the model can read; a conversation is compacted at four fifths of it. `0`: when the server
    refuses.
    """
    permission: Mode | None = key(default=None, shown="`edits` with a person, else `all`")
    """What needs a person's permission: edits and commands; commands; nothing. The law applies in any
    case.
    """
    allow: tuple[str, ...] = key(default=(), of="list of commands")
    """Commands that need no permission, as whole lines: `git log*`. A line that joins several commands
    matches only literally.
    """


SECTION = DriverSection(
    "code",
    CodeSettings,
    roles=(AGENT,),
)


def load_code(root: Path) -> CodeSettings:
    return load_driver(root, SECTION)


FILES = 200
"""The default limit of a sweep."""
_NAMED = 5
Mode = Literal["ask", "edits", "all"]
_JOINING = frozenset(";|&`$<>(){}\n\\")
"""With one of these a line may run more than the command that it begins with."""


@value
class Sweep:
    """A refactor of many files, such as a codemod. Inside its scope anything may write, scripts too.

    The result is judged once, at the end, as every refactor is.
    """

    globs: tuple[str, ...]
    files: int = FILES

    def outside(self, paths: Iterable[str]) -> tuple[str, ...]:
        patterns = [re.compile(compile_glob(glob)) for glob in self.globs]
        return tuple(path for path in paths if not any(pattern.fullmatch(path) for pattern in patterns))

    def deny(self, touched: tuple[str, ...]) -> Deny | None:
        """Denies changes outside the scope, or of too many files."""
        scope = ", ".join(self.globs)
        if out := self.outside(touched):
            named = ", ".join(out[:_NAMED]) + (", …" if len(out) > _NAMED else "")
            return Deny(
                "outside-sweep",
                f"{len(out)} files outside the sweep's scope ({scope}) are changed: {named}.",
                "put them back, or `tdd refactor abort` sets everything aside",
            )
        if len(touched) > self.files:
            return Deny(
                "sweep-budget",
                f"{len(touched)} files are touched, and the sweep may touch {self.files}.",
                "touch fewer; or a person begins again with a larger budget",
            )
        return None


def touched_files(project: Project) -> tuple[str, ...]:
    """The files that the open refactor changed, of any class; empty if none is open."""
    state = project.state()
    if state.phase is not Phase.REFACTOR or state.refactor is None:
        return ()
    now = project.workspace.snapshot()
    return tuple(change.path for change in project.workspace.changes(state.refactor.tree, now))


@value
class Permission:
    mode: Mode = "all"
    """What a person is asked about. `ask`: edits and commands; `edits`: commands only; `all`: nothing."""
    allow: tuple[str, ...] = ()
    """Commands that need no permission: globs of whole lines, such as `git log*`."""

    def needs_yes(self, tool: str, given: Mapping[str, Any], *, edits: bool) -> bool:
        if self.mode == "all":
            return False
        if edits:
            return self.mode == "ask"
        command = str(given.get("command", "")).strip()
        return tool == "shell" and bool(command) and not self._allows(command)

    def _allows(self, command: str) -> bool:
        if command in self.allow:
            return True
        return not _JOINING & set(command) and any(fnmatchcase(command, glob) for glob in self.allow)


def deny_without_yes(tool: str) -> Deny:
    return Deny(
        "no-permission",
        f"A person has to say yes to this call of {tool}, and did not.",
        "do without it: run_tests runs tests, search and read_file read; or finish and say what you need",
    )
