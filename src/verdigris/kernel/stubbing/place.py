"""The files of a worktree as a stub needs to know them: which there are, and which are source."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.languages import language_of
from verdigris.core.pathclass import PathClass

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.kernel.project import Project


class Files:
    """As they lie in the worktree."""

    def __init__(self, project: Project, paths: frozenset[str]) -> None:
        self.project = project
        self.paths = paths

    @classmethod
    def of(cls, project: Project) -> Files:
        entries = project.workspace.files(project.workspace.snapshot())
        return cls(project, frozenset(entry.path for entry in entries))

    @cached_property
    def source(self) -> tuple[str, ...]:
        return tuple(sorted(path for path in self.paths if self.is_source(path)))

    def is_source(self, path: str) -> bool:
        """Also of a file that does not exist yet."""
        return self.project.classify(path) is PathClass.SOURCE

    def text(self, path: str) -> str:
        if path not in self.paths:
            return ""
        # As bytes: line ends stay as they are.
        return (self.project.root / path).read_bytes().decode("utf-8", "surrogateescape")

    def stack_of(self, path: str) -> Stack:
        """The innermost stack of the file's language around it, or the first of all."""
        stacks = self.project.settings.stacks
        same = [stack for stack in stacks if stack.language == language_of(path)] or list(stacks)
        around = [s for s in same if s.root in {"", "."} or f"{path}/".startswith(f"{s.root.rstrip('/')}/")]
        return max(around or same, key=lambda stack: len(stack.root))
