"""Removes from git's folder, after a shell call, what a person's git would follow."""

# Part of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH108, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import os

from verdigris.gates.agent_shell.git_history import read_history, undo_changes

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence


POINTERS = ("commondir", "config.worktree")
"""Git reads them in the main worktree's folder, too; it never makes the first there."""
_SUBMODULE = b"\0\0\xe0\0"
"""Its mode, as an index holds it."""
_SHARED_INDEX = "sharedindex."


class GitFolder:
    """The git folder of one worktree, as it is before a call and after it."""

    def __init__(self, root: str, private: str, readonly: Container[str] = ()) -> None:
        self.root = root
        self.readonly = readonly
        """Paths that no call can write."""
        self.common = os.path.dirname(os.path.dirname(os.path.dirname(private)))
        name = os.path.basename(private).removesuffix(":linked")
        is_main = os.path.isdir(f"{root}/.git")
        self.own = self.common if is_main else f"{self.common}/worktrees/{name}"
        self.pointers = {path for path in self._pointers() if os.path.lexists(path)}
        self.submodules = self._submodules()
        self.history = read_history(self.common, self._git)

    def tidy(self) -> list[str]:
        """Removes what a person's git would follow; returns a line for each."""
        said = []
        for path in self._pointers():
            if path not in self.pointers and os.path.lexists(path):
                _remove(path)
                said.append(
                    f"{path} was removed: it would point a person's next git command at another folder"
                )
        added = sorted(path for path in self._submodules() - self.submodules if self._is_agents(path))
        if added:
            self._git("update-index", "--force-remove", "--", *added)
            said += [f"{path} is a repository of its own, and was taken out of the index" for path in added]
        return said + undo_changes(self.common, self.history, self._git)

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

    def _submodules(self) -> frozenset[str]:
        """Looks at the bytes first: most repositories have no submodules, and are not asked further."""
        if not any(_SUBMODULE in _bytes(path) for path in self._indexes()):
            return frozenset()
        lines = self._git("ls-files", "--stage", "-z").split(b"\0")
        return frozenset(
            os.fsdecode(line.partition(b"\t")[2]) for line in lines if line.startswith(b"160000 ")
        )

    def _indexes(self) -> list[str]:
        try:
            names = os.listdir(self.own)
        except OSError:
            return []
        return [f"{self.own}/{name}" for name in names if name == "index" or name.startswith(_SHARED_INDEX)]

    def _git(self, *arguments: str) -> bytes:
        import subprocess

        from verdigris.storage.git import TRUE_HISTORY, UNOBSERVED, program

        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        argv = [program(kept), f"--git-dir={self.own}", f"--work-tree={self.root}", *arguments]
        done = subprocess.run(
            argv, cwd=self.root, env=kept | UNOBSERVED | TRUE_HISTORY, capture_output=True, check=False
        )
        return done.stdout


class Namespaces:
    """The namespaces of a call's processes, held from outside."""

    def __init__(self, child: int, *, own_ids: bool) -> None:
        kinds = ("user", "mnt") if own_ids else ("mnt",)
        self.held = [os.open(f"/proc/{child}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]

    def close_to(self, folders: Sequence[str]) -> bool:
        """Make folders read-only for who is left inside; False where one holds a file there open to write."""
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1] == 0
        code = 1
        try:
            from verdigris.sandbox.syscalls import (
                ATTR_RDONLY,
                CLONE_NEWNS,
                CLONE_NEWUSER,
                join,
                set_mount_attributes,
            )

            for held, kind in zip(self.held, (CLONE_NEWUSER, CLONE_NEWNS)[-len(self.held) :], strict=True):
                join(held, kind)
            for folder in folders:
                set_mount_attributes(folder, put=ATTR_RDONLY, recursive=True)
            code = 0
        finally:
            os._exit(code)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except IsADirectoryError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return
