"""What a person grants a session: calls that need no yes, and a sweep over many files."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from verdigris.core.actions import Deny
from verdigris.core.paths import compile_glob
from verdigris.core.state import Phase
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.storage.project import Project


FILES = 200
"""The most that a sweep may touch where nobody says."""
_NAMED = 5
Mode = Literal["ask", "edits", "all"]
_JOINING = frozenset(";|&`$<>(){}\n\\")
"""With these a line holds more than the command that it begins with."""


@value
class Sweep:
    """A refactor over many files, as a codemod makes it. Inside the scope everything may write, a script too;
    what it came to is judged once, at the end, as every refactor is.
    """

    globs: tuple[str, ...]
    files: int = FILES

    def outside(self, paths: Iterable[str]) -> tuple[str, ...]:
        patterns = [re.compile(compile_glob(glob)) for glob in self.globs]
        return tuple(path for path in paths if not any(pattern.fullmatch(path) for pattern in patterns))

    def deny(self, touched: tuple[str, ...]) -> Deny | None:
        """Why the changes are not judged: they reach beyond the scope, or are too many."""
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
    """What the open refactor changed, of any class; nothing where none is open."""
    state = project.state()
    if state.phase is not Phase.REFACTOR or state.refactor is None:
        return ()
    now = project.workspace.snapshot()
    return tuple(change.path for change in project.workspace.changes(state.refactor.tree, now))


@value
class Permission:
    mode: Mode = "all"
    """`ask`: edits and commands; `edits`: commands only; `all`: nothing is asked."""
    allow: tuple[str, ...] = ()
    """Commands that are never asked about: globs of whole lines, as `git log*`."""

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
