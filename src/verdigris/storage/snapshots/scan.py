"""Decides which folders and files a snapshot leaves out.

A name proves nothing. Packages stand where their tool puts them (`node_modules` beside a `package.json`,
an environment beside a project's manifest or at the worktree's root, with an interpreter and its
`site-packages`), and of an environment only the folders that its tool fills are left out. What a run loads
from there belongs to the foundation. Of a cache all is left out that no language could import from it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.core.paths import (
    CACHES,
    ENVIRONMENT_PARTS,
    ENVIRONMENTS,
    FILLED,
    NODE_MODULES,
    PathClass,
)
from verdigris.languages.folders import is_environment
from verdigris.storage.git import null_ended, null_split, require_success

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from verdigris.storage.git import Git


NAMES = (NODE_MODULES, *ENVIRONMENTS, *FILLED, *CACHES)
"""Names of folders that may be left out, if what they contain shows it."""
_MANIFESTS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "tox.ini",
    "noxfile.py",
    "package.json",
)


class Installed:
    """Decides which folders of a worktree are left out; each folder is examined once."""

    def __init__(self, top: str, keep: Callable[[str], PathClass]) -> None:
        self._top = top
        self._keep = keep
        self._known: dict[str, bool] = {}

    def leaves_out(self, folder: str) -> bool:
        """Whether all below `folder` is left out; `folder` is relative to the worktree's root."""
        above, _, name = folder.rpartition("/")
        if name in FILLED:
            return self._ask_once(folder, lambda: self._beside_manifest(above))
        if name == NODE_MODULES:
            return self._ask_once(folder, lambda: os.path.isfile(f"{self._top}/{above}/package.json"))
        return name in ENVIRONMENT_PARTS and self.is_environment(above)

    def holds(self, path: str) -> bool:
        """Whether a file or link lies in a folder that is left out, or leads to such a one."""
        return self._lies_within(path) or self.is_environment(path)

    def _lies_within(self, path: str) -> bool:
        parts = path.split("/")
        return any(self.leaves_out("/".join(parts[:end])) for end in range(1, len(parts) + 1))

    def is_environment(self, folder: str) -> bool:
        above, _, name = folder.rpartition("/")
        return name in ENVIRONMENTS and self._ask_once(
            folder, lambda: self._beside_manifest(above) and is_environment(f"{self._top}/{folder}")
        )

    def _beside_manifest(self, folder: str) -> bool:
        """Whether a folder lies beside the manifest of a project; manifests among test data do not count."""
        if not folder:
            return True
        at_manifest = any(os.path.isfile(f"{self._top}/{folder}/{name}") for name in _MANIFESTS)
        return at_manifest and self._keep(f"{folder}/x") is not PathClass.TEST

    def _ask_once(self, folder: str, ask: Callable[[], bool]) -> bool:
        if folder not in self._known:
            self._known[folder] = ask()
        return self._known[folder]


IGNORED = ("--no-literal-pathspecs", "check-ignore", "--no-index", "-z", "--stdin")
NONE_IGNORED = 1


def find_ignored(git: Git, paths: Collection[str]) -> frozenset[str]:
    """The paths that a `.gitignore` of the worktree excludes."""
    if not paths:
        return frozenset()
    # `./`, because a leading colon would be magic, and this command refuses literal pathspecs.
    asked = null_ended(f"./{path}" for path in paths)
    output = git.call(*IGNORED, stdin=asked)
    matched = output.stdout if output.code == NONE_IGNORED else require_success(output, IGNORED)
    return frozenset(path.removeprefix("./") for path in null_split(matched))


def unreadable(path: str) -> StorageError:
    return StorageError(
        f"cannot read {path!r}, so no snapshot can be made", hint="make it readable and try again"
    )
