"""Which folders hold installed packages or a tool's cache: the only ones that a snapshot leaves out.

A name recognises nothing. Packages stand where their tool puts them (`node_modules` beside a `package.json`,
an environment beside a project's manifest or at the worktree's root, with an interpreter and its
`site-packages`), and of an environment only the folders that its tool fills are left out. What a run loads
from there belongs to the foundation. Of a cache all is left out that no language could import from it.
"""

# Plain calls, and names stay `str`:
# ruff: noqa: PTH112, PTH113, PTH208

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.pathclass import PathClass
from verdigris.core.toolfolders import CACHES, ENVIRONMENT_PARTS, ENVIRONMENTS, FILLED, NODE_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = (NODE_MODULES, *ENVIRONMENTS, *FILLED, *CACHES)
"""Of folders that have to be looked at more closely."""
_CACHES = frozenset(CACHES)
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
_SIGNS = ("pyvenv.cfg", "conda-meta")


def is_environment(folder: str) -> bool:
    """Whether an interpreter's environment is there, with all that makes one."""
    if not any(os.path.lexists(f"{folder}/{sign}") for sign in _SIGNS):
        return False
    if not os.path.lexists(f"{folder}/bin/python"):
        return False
    try:
        versions = os.listdir(f"{folder}/lib")
    except OSError:
        return False
    return any(os.path.isdir(f"{folder}/lib/{name}/site-packages") for name in versions)


class Installed:
    """Asked about folders of one worktree, each of which is looked at once."""

    def __init__(self, top: str, keep: Callable[[str], PathClass]) -> None:
        self._top = top
        self._keep = keep
        self._known: dict[str, bool] = {}

    def leaves_out(self, folder: str) -> bool:
        """Whether all below `folder` is left out; `folder` is relative to the worktree's root."""
        above, _, name = folder.rpartition("/")
        if name in FILLED:
            return self._asked(folder, lambda: self._beside_manifest(above))
        if name == NODE_MODULES:
            return self._asked(folder, lambda: os.path.isfile(f"{self._top}/{above}/package.json"))
        return name in ENVIRONMENT_PARTS and self._is_environment(above)

    def holds(self, path: str) -> bool:
        """Whether a file or link lies in a folder that is left out, or leads to such a one."""
        return self._lies_within(path) or self._is_environment(path)

    def files(self, path: str) -> Iterator[str]:
        """What is not left out at `path`: itself, or all in a folder, whose name ends in a slash then."""
        start = path.rstrip("/")
        if self._lies_within(start):
            return
        if start == path:
            yield from self._kept(path)
            return
        waiting = [start]
        while waiting:
            here = waiting.pop()
            for entry in self._entries(here):
                inner = f"{here}/{entry.name}"
                if self.leaves_out(inner):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(inner)
                else:
                    yield from self._kept(inner)

    def _lies_within(self, path: str) -> bool:
        parts = path.split("/")
        return any(self.leaves_out("/".join(parts[:end])) for end in range(1, len(parts) + 1))

    def _kept(self, path: str) -> Iterator[str]:
        """In a cache only what has a class: it is none of the tool's."""
        in_cache = not _CACHES.isdisjoint(path.split("/"))
        if not self._is_environment(path) and (not in_cache or self._keep(path) is not PathClass.OTHER):
            yield path

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(f"{self._top}/{folder}") as found:
                return [entry for entry in found if entry.name.lower() != ".git"]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _is_environment(self, folder: str) -> bool:
        above, _, name = folder.rpartition("/")
        return name in ENVIRONMENTS and self._asked(
            folder, lambda: self._beside_manifest(above) and is_environment(f"{self._top}/{folder}")
        )

    def _beside_manifest(self, folder: str) -> bool:
        """Of a project, not of its tests: those take whatever lies in their folder."""
        if not folder:
            return True
        at_manifest = any(os.path.isfile(f"{self._top}/{folder}/{name}") for name in _MANIFESTS)
        return at_manifest and self._keep(f"{folder}/x") is not PathClass.TEST

    def _asked(self, folder: str, ask: Callable[[], bool]) -> bool:
        if folder not in self._known:
            self._known[folder] = ask()
        return self._known[folder]
