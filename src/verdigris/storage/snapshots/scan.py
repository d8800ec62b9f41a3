"""Finds what differs between worktree and private index, and which folders a snapshot leaves out.

A name proves nothing. Packages stand where their tool puts them (`node_modules` beside a `package.json`,
an environment beside a project's manifest or at the worktree's root, with an interpreter and its
`site-packages`), and of an environment only the folders that its tool fills are left out. What a run loads
from there belongs to the foundation. Of a cache all is left out that no language could import from it.
"""

# `os` calls on `str` instead of pathlib, which is slower:
# ruff: noqa: PTH113

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.core.paths import (
    CACHES,
    ENVIRONMENT_PARTS,
    ENVIRONMENTS,
    FILLED,
    NODE_MODULES,
    PathClass,
    class_of_folder,
)
from verdigris.core.value import value
from verdigris.languages.folders import is_environment
from verdigris.storage.git import Git, Output, null_ended, null_split, require_success

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


NAMES = (NODE_MODULES, *ENVIRONMENTS, *FILLED, *CACHES)
"""Names of folders that may be left out, if what they contain shows it."""
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
        return name in ENVIRONMENT_PARTS and self._is_environment(above)

    def holds(self, path: str) -> bool:
        """Whether a file or link lies in a folder that is left out, or leads to such a one."""
        return self._lies_within(path) or self._is_environment(path)

    def files(self, path: str) -> Iterator[str]:
        """What is not left out at `path`: the file itself, or the contents of a folder, if the path ends with
        a slash.
        """
        start = path.rstrip("/")
        if self._lies_within(start):
            return
        if start == path:
            yield from self._keep_path(path)
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
                    yield from self._keep_path(inner)

    def _lies_within(self, path: str) -> bool:
        parts = path.split("/")
        return any(self.leaves_out("/".join(parts[:end])) for end in range(1, len(parts) + 1))

    def _keep_path(self, path: str) -> Iterator[str]:
        """Keeps only the files of a cache that have a class: those are not the tool's own."""
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


LARGE_OTHER = 10 * 1024 * 1024
UNREADABLE = r"(?ms)^warning: could not open directory '(.*?)/': "

OTHERS = ("ls-files", "-z", "--others", *(f"--exclude={name}" for name in NAMES))
PASSED_OVER = (*OTHERS, "--ignored", "--directory")
"""Arguments of git that list what those names exclude from the first list; a folder is one entry."""
DIFFERING = ("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=none")
IGNORED = ("--no-literal-pathspecs", "check-ignore", "--no-index", "-z", "--stdin")
NONE_IGNORED = 1
IGNORED_AND_TAKEN = ("ls-files", "-z", "--cached", "--ignored", "--exclude-per-directory=.gitignore")


@value
class IndexDifference:
    """How the private index has to change."""

    take: dict[str, os.stat_result]
    """Files and links to hash again, with their stat."""
    forget: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.take or self.forget)


class Scan:
    """One look at the worktree, through git with the private index."""

    def __init__(self, git: Git, keep: Callable[[str], PathClass], seen: Collection[str] = ()) -> None:
        """`seen`: paths of an earlier snapshot, which the index may not have."""
        self._git = git
        self._keep = keep
        self._seen = seen
        self._top = os.fspath(git.root)
        self._links: dict[str, bool] = {"": False}
        self._nested: dict[str, bool] = {"": False}
        self._installed = Installed(self._top, keep)
        self._in_place: set[str] = set()
        """Links that are where a folder was."""

    def difference(self, suspects: Collection[str] = ()) -> IndexDifference:
        """The changes; `suspects` may have changed although their index entries do not show it."""
        # The processes run at the same time, because each uses only one core.
        others, passed_over = self._git.start(*OTHERS), self._git.start(*PASSED_OVER)
        compared = self._git.call(*DIFFERING)
        listed, named = others(b""), passed_over(b"")
        self._refuse_unreadable(compared.stderr, listed.stderr)
        take: dict[str, os.stat_result] = {}
        # `update-index --add` would take such an entry for unchanged, so it has to be removed first.
        forget = list(suspects)
        for path in null_split(require_success(compared, DIFFERING)):
            beyond = self._beyond_link(path)
            state = None if beyond else self._look(path)
            if state and self._fits(path, state):
                take[path] = state
            else:
                forget.append(path)
            if beyond:
                take.update(self._find_link(path))
        for path in filter(self._beyond_link, self._seen):
            take.update(self._find_link(path))
        as_new = [path for path in suspects if not self._beyond_link(path)]
        opened = self._files_in(null_split(require_success(named, PASSED_OVER)))
        take.update(self._new([*null_split(require_success(listed, OTHERS)), *opened, *as_new]))
        if any(_is_gitignore(path) for path in (*take, *forget)):
            for path in filter(self._is_left_to_gitignore, null_split(self._git.run(*IGNORED_AND_TAKEN))):
                take.pop(path, None)
                forget.append(path)
        return IndexDifference(take, tuple(forget))

    def _new(self, untracked: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
        undecided: dict[str, os.stat_result] = {}
        for path in self._plain_files(untracked):
            state = self._look(path)
            if state is None or not self._fits(path, state):
                continue
            if self._has_class(path, linked=stat.S_ISLNK(state.st_mode)):
                yield path, state
            elif not self._in_nested(path):
                undecided[path] = state
        ignored = find_ignored(self._git, [path for path in undecided if not _is_gitignore(path)])
        yield from ((path, state) for path, state in undecided.items() if path not in ignored)

    def _plain_files(self, untracked: Iterable[str]) -> Iterator[str]:
        """The untracked files, with those in nested repositories, which git lists as one name."""
        nested = []
        for path in untracked:
            if path.endswith("/"):
                nested.append(path)
            else:
                yield path
        while nested:
            below = nested.pop()
            no_index = self._git.git_dir / "no-index"
            inner = Git(self._git.git_dir, self._git.root / below, self._git.environment, no_index)
            for name in null_split(inner.run(*OTHERS)):
                if name.endswith("/"):
                    nested.append(below + name)
                else:
                    yield below + name
            yield from self._files_in(below + name for name in null_split(inner.run(*PASSED_OVER)))

    def _files_in(self, passed_over: Iterable[str]) -> Iterator[str]:
        """The files in folders that only have the name of a folder that is left out."""
        for path in passed_over:
            try:
                yield from self._installed.files(path)
            except PermissionError as error:
                raise unreadable(path.rstrip("/")) from error

    def _look(self, path: str) -> os.stat_result | None:
        try:
            state = os.lstat(f"{self._top}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError as error:
            raise unreadable(path) from error
        return state if stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode) else None

    def _fits(self, path: str, state: os.stat_result) -> bool:
        if ".git" in path.lower() and not _git_would_take(path, state):
            return False
        return state.st_size <= LARGE_OTHER or self._keep(path) is not PathClass.OTHER

    def _is_left_to_gitignore(self, path: str) -> bool:
        if _is_gitignore(path) or path in self._in_place:
            return False
        return not self._has_class(path, linked=(self._git.root / path).is_symlink())

    def _beyond_link(self, path: str) -> bool:
        return _any_folder(path, self._links, lambda folder: (self._git.root / folder).is_symlink())

    def _find_link(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        """The outermost link on the way to a path with a class.

        A folder became a link: no `.gitignore` hides that.
        """
        parts = path.split("/") if self._keep(path) is not PathClass.OTHER else []
        for end in range(1, len(parts)):
            folder = "/".join(parts[:end])
            state = self._look(folder)
            if state is not None:
                self._in_place.add(folder)
                yield folder, state
                return

    def _has_class(self, path: str, *, linked: bool) -> bool:
        """A link stands for the folder to which it may lead.

        Not at the top, where tools put links to what they built: what git ignores there is theirs.
        """
        if self._keep(path) is not PathClass.OTHER:
            return True
        return linked and "/" in path and class_of_folder(path, self._keep) is not PathClass.OTHER

    def _in_nested(self, path: str) -> bool:
        return _any_folder(path, self._nested, lambda folder: os.path.lexists(f"{self._top}/{folder}/.git"))

    def _refuse_unreadable(self, compared: str, listed: str) -> None:
        """Raises an error for unreadable files, which may contain anything, unless they are ignored."""
        folders = re.findall(UNREADABLE, listed)
        ignored = find_ignored(self._git, folders)
        seen = [folder for folder in folders if folder not in ignored]
        if seen:
            raise unreadable(seen[0])
        if compared.startswith(("fatal:", "error:", "warning:")):
            require_success(Output(1, b"", compared), DIFFERING)
        if compared:
            raise unreadable(compared.partition(":")[0])


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


def _is_gitignore(path: str) -> bool:
    return path.rpartition("/")[2] == ".gitignore"


def _git_would_take(path: str, state: os.stat_result) -> bool:
    parts = path.lower().split("/")
    return ".git" not in parts and not (parts[-1] == ".gitmodules" and stat.S_ISLNK(state.st_mode))


def _any_folder(path: str, known: dict[str, bool], test: Callable[[str], bool]) -> bool:
    """Whether a folder above `path` passes the test; each folder is tested once."""
    folder = path.rstrip("/") if path.endswith("/") else path.rpartition("/")[0]
    asked = []
    while folder not in known:
        asked.append(folder)
        folder = folder.rpartition("/")[0]
    for inner in reversed(asked):
        known[inner] = known[folder] or test(inner)
        folder = inner
    return known[folder]
