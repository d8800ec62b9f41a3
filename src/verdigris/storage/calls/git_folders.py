"""Undoes in git's folder, after a shell call, what would mislead or stop a person's git.

What the folder had is written down before the call, so that anybody can do it.
"""

from __future__ import annotations

import os

from verdigris.sandbox.notes import names_in
from verdigris.storage.calls.git_history import read_history, undo_changes

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Had = dict[str, Any]


POINTERS = ("commondir", "config.worktree")
"""Git reads them in the main worktree's folder, too; it never makes the first there."""
_SUBMODULE = b"\0\0\xe0\0"
"""Its mode, as an index holds it."""
_SHARED_INDEX = "sharedindex."
MADE = "worktrees.made"
"""A file in the private folder. It lists the linked worktrees that an agent's calls added."""
LOCKS = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock")
_NEEDED = ("", "objects", "refs", "HEAD", "index", "config")
"""What git cannot work without."""
_OWNERS = 0o700


class GitFolder:
    """The git folder of one worktree, as it was before a call, and as it is after it."""

    def __init__(self, root: str, private: str, readonly: Iterable[str] = (), had: Had | None = None) -> None:
        """`had`: what `look` found before the call; None: it begins now."""
        self.root = root
        self.private = private
        self.readonly = frozenset(readonly)
        """Paths that no call can write."""
        self.common = os.path.dirname(os.path.dirname(os.path.dirname(private)))
        name = os.path.basename(private).removesuffix(":linked")
        is_main = os.path.isdir(f"{root}/.git")
        self.own = self.common if is_main else f"{self.common}/worktrees/{name}"
        self.had: Had = had or {}

    def look(self) -> GitFolder:
        """Keeps what is there now, before a call."""
        self.had = {
            "there": [path for path in (*self._pointers(), *self._locks()) if os.path.lexists(path)],
            "submodules": sorted(self.submodules()),
            "linked": sorted(self._linked()),
            "modes": {path: mode for path in self._needed() if (mode := _mode(path)) is not None},
            "history": read_history(self.common, self._git),
        }
        return self

    def tidy(self, *, alone: bool) -> list[str]:
        """Undoes what a person's git would stumble over; returns a line for each. `alone`: nobody of the
        call works on there.
        """
        said = list(self._remove_pointers())
        if alone:
            said += [*self._give_back_modes(), *self._remove_locks()]
        added = sorted(
            path for path in self.submodules() - {*self.had["submodules"]} if self._is_agents(path)
        )
        if added:
            self._git("update-index", "--force-remove", "--", *added)
            said += [f"{path} is a repository of its own, and was taken out of the index" for path in added]
        self._remember_worktrees()
        return said + undo_changes(self.common, self.had["history"], self._git)

    def _remove_pointers(self) -> Iterator[str]:
        for path in self._pointers():
            if path not in self.had["there"] and os.path.lexists(path):
                remove_any(path)
                yield f"{path} was removed: it would point a person's next git command at another folder"

    def _give_back_modes(self) -> Iterator[str]:
        for path, had in self.had["modes"].items():
            now = _mode(path)
            if now is not None and had & _OWNERS & ~now:
                os.chmod(path, had)
                yield f"{path} has its mode back: git could not use it any more"

    def _remove_locks(self) -> Iterator[str]:
        left = [path for path in self._locks() if path not in self.had["there"] and os.path.lexists(path)]
        if left and not self._is_git_at_work():
            for path in left:
                remove_any(path)
                yield f"{path} was removed: the git command that made it has ended"

    def _is_git_at_work(self) -> bool:
        """Whether a git command here may hold a lock: a person's may have begun beside the call."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if _bytes(f"/proc/{pid}/comm").startswith(b"git"):
                try:
                    folder = os.readlink(f"/proc/{pid}/cwd")
                except OSError:
                    continue
                if f"{folder}/".startswith((f"{self.root}/", f"{self.common}/")):
                    return True
        return False

    def _remember_worktrees(self) -> None:
        """Remembers worktrees that the call added: an agent may write there, and in no other of the
        person's.
        """
        if added := sorted(self._linked() - {*self.had["linked"]}):
            with open(f"{self.private}/{MADE}", "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write("".join(f"{name}\n" for name in added))

    def _linked(self) -> set[str]:
        try:
            with os.scandir(f"{self.common}/worktrees") as entries:
                return {f"{entry.inode()} {entry.name}" for entry in entries}
        except OSError:
            return set()

    def _locks(self) -> list[str]:
        return [f"{folder}/{name}" for folder in {self.common, self.own} for name in LOCKS]

    def _needed(self) -> list[str]:
        return [f"{folder}/{name}".rstrip("/") for folder in {self.common, self.own} for name in _NEEDED]

    def _pointers(self) -> Iterable[str]:
        folders = {self.common, self.own}
        return [f"{folder}/{name}" for folder in folders for name in POINTERS]

    def _is_agents(self, path: str) -> bool:
        """Whether its configuration can be the agent's; of a person's own submodule it is read-only."""
        place = f"{self.root}/{path}/.git"
        pointer = b"" if os.path.isdir(place) else _bytes(place)
        folder = os.path.join(os.path.dirname(place), os.fsdecode(pointer.removeprefix(b"gitdir: ").strip()))
        config = f"{os.path.realpath(folder if pointer else place)}/config"
        return os.path.lexists(place) and config not in self.readonly

    def submodules(self) -> frozenset[str]:
        """Looks at the bytes first: most repositories have no submodules, and are not asked further."""
        if not any(_SUBMODULE in _bytes(path) for path in self._indexes()):
            return frozenset()
        lines = self._git("ls-files", "--stage", "-z").split(b"\0")
        return frozenset(
            os.fsdecode(line.partition(b"\t")[2]) for line in lines if line.startswith(b"160000 ")
        )

    def _indexes(self) -> list[str]:
        return [
            f"{self.own}/{name}"
            for name in names_in(self.own)
            if name == "index" or name.startswith(_SHARED_INDEX)
        ]

    def _git(self, *arguments: str) -> bytes:
        import subprocess

        from verdigris.storage.git import TRUE_HISTORY, UNOBSERVED, program

        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        argv = [program(kept), f"--git-dir={self.own}", f"--work-tree={self.root}", *arguments]
        env = kept | UNOBSERVED | TRUE_HISTORY
        done = subprocess.run(argv, cwd=self.root, env=env, capture_output=True, check=False)
        return done.stdout


def _mode(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode & 0o7777
    except OSError:
        return None


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def remove_any(path: str) -> None:
    """A file, a link, or a folder with all that is in it, as far as that is allowed."""
    try:
        os.unlink(path)
    except IsADirectoryError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return
