"""The files of a worktree as a stub needs to know them: which there are, and which are source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.core.settings import Stack


class Files(Protocol):
    """As they lie in the worktree."""

    @property
    def paths(self) -> frozenset[str]: ...

    @property
    def source(self) -> tuple[str, ...]: ...

    @property
    def is_behaviour_red(self) -> bool:
        """Whether a stub that raises makes a valid red: `red: behaviour`."""

    def is_source(self, path: str) -> bool:
        """Also of a file that does not exist yet."""

    def text(self, path: str) -> str: ...

    def stack_of(self, path: str) -> Stack:
        """The innermost stack of the file's language around it, or the first of all."""

    def packages(self, stack: Stack) -> Sequence[Path]:
        """Where the packages lie that are installed for a stack; none where nobody can tell."""
