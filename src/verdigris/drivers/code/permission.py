"""Decides which calls need a person's yes; never above the law, which decides all the same."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from verdigris.core.actions import Deny
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

Mode = Literal["ask", "edits", "all"]
_JOINING = frozenset(";|&`$<>(){}\n\\")
"""With these a line holds more than the command that it begins with."""


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
