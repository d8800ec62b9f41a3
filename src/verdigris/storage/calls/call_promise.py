"""What must be as it was before a shell call when that has ended: git's folder, and the programs on PATH."""

from __future__ import annotations

from verdigris.storage.calls.git_folders import GitFolder
from verdigris.storage.calls.path_folders import PathFolders

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from typing import Any


class CallPromise:
    __slots__ = ("git", "programs")

    def __init__(self, git: GitFolder, programs: PathFolders) -> None:
        self.git = git
        self.programs = programs

    @property
    def closed(self) -> list[str]:
        """Folders that who outlives the call cannot write."""
        return [self.git.common, *self.programs.folders]

    def keep(self, *, alone: bool) -> list[str]:
        """Undoes what the call did there; returns a line for each thing. `alone`: nobody of it works on."""
        return [*self.git.tidy(alone=alone), *self.programs.tidy()]

    def dump(self) -> tuple[Any, ...]:
        git, programs = self.git, self.programs
        return git.root, tuple(git.readonly), git.had, programs.path, programs.folders, programs.before


def load(private: str, dumped: tuple[Any, ...]) -> CallPromise:
    root, readonly, had, path, folders, before = dumped
    return CallPromise(GitFolder(root, private, readonly, had), PathFolders(root, path, folders, before))
