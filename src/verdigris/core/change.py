"""What one path is in a tree, and what became of it between two trees, in git's words."""

from __future__ import annotations

from verdigris.core.value import value

FILE = "100644"
EXECUTABLE = "100755"
LINK = "120000"


@value
class Entry:
    path: str
    """Relative to the worktree's root, with `/`; bytes that are not UTF-8 as surrogates."""
    mode: str
    """FILE, EXECUTABLE or LINK."""
    blob: str


@value
class Change:
    path: str
    old_mode: str | None
    old: str | None
    """The blob before; None when the path was absent."""
    new_mode: str | None
    new: str | None

    @property
    def added(self) -> bool:
        return self.old is None

    @property
    def deleted(self) -> bool:
        return self.new is None
